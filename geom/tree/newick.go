package tree

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"anatomy/internal/input"
)

// Read reads a file of trees in Newick's format, see Parse, or of NEXUS with a block of trees, whose TRANSLATE gives the leaves their names.
// Text that is no UTF-8 is taken for Windows-1252, with a note. Errors have the form path:line:column: what.
func Read(path string) ([]*Tree, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A byte-order mark says that the text is UTF-16, or UTF-8 by a program of Windows.
	text, err := io.ReadAll(transform.NewReader(f, unicode.BOMOverride(encoding.Nop.NewDecoder())))
	windows := !utf8.Valid(text)
	if windows && err == nil {
		text, err = charmap.Windows1252.NewDecoder().Bytes(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &reader{text: string(text)}
	all := r.trees()
	if err := r.failed(); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if windows {
		all[0].Notes = append(all[0].Notes, "the text is no UTF-8: it was taken for Windows-1252")
	}
	return all, nil
}

// Parse reads a tree in Newick's format, such as
//
//	(Homo:6.4,(Pan_paniscus:2.2,'Pan troglodytes':2.2)Pan:4.2);
//
// Nodes are numbered in the order in which they are written. Names in single quotation marks may hold any characters, a mark itself
// doubled; others hold no blanks. Underscores stay as they are. Comments in square brackets, also nested, are passed over, and so is
// what programs keep in them, such as [&&NHX:…]. A length that is not written is NaN. Names and lengths may be missing anywhere, a
// node may have any number of children; a tree with three at the root mostly is one that was never rooted, and is taken as rooted there.
//
// A length other than 0 above the root joins it to nothing: it is passed over, and the tree's Notes say so. It is an error if the text holds
// no tree, or anything after its semicolon, two leaves of one name, or a length that is not finite. A negative length is one, too, if it is more than
// 5 % of the height of the tree; smaller ones are taken for 0, and the Notes say so. Errors begin with line:column.
func Parse(text string) (*Tree, error) {
	r := &reader{text: strings.TrimPrefix(text, "\ufeff")}
	r.next()
	t := r.one(nil)
	if r.next(); r.err == nil && (r.word != "" || r.quoted) {
		r.refuse(r.from, "%s follows the semicolon that ends the tree: one text holds one tree", r.found())
	}
	return t, r.failed()
}

// failed returns the error with its place, nil for none.
func (r *reader) failed() error {
	if r.err == nil {
		return nil
	}
	before := r.text[:r.from]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Errorf("%d:%d: %w", line, column, r.err)
}

// trees reads all trees of a text.
func (r *reader) trees() (all []*Tree) {
	r.next()
	if strings.EqualFold(r.word, "#NEXUS") {
		return r.nexus()
	}
	for {
		all = append(all, r.one(nil))
		if r.next(); r.ended() {
			return all
		}
	}
}

// ended says whether there is nothing more to read.
func (r *reader) ended() bool { return r.err != nil || r.word == "" && !r.quoted }

// nexus reads the blocks of trees behind #NEXUS.
func (r *reader) nexus() (all []*Tree) {
	names, block := map[string]string{}, false
	for r.next(); !r.ended(); r.next() {
		switch command := strings.ToUpper(r.word); {
		case command == "BEGIN":
			r.next()
			block = strings.EqualFold(r.word, "TREES")
		case block && command == "TRANSLATE":
			r.translate(names)
			continue
		case block && (command == "TREE" || command == "UTREE"):
			for !strings.HasSuffix(r.word, "=") && r.err == nil {
				if r.is(";") || r.ended() {
					r.refuse(r.from, "the tree lacks its =")
				}
				r.next()
			}
			r.next()
			all = append(all, r.one(names))
			continue
		}
		for !r.is(";") && !r.ended() {
			r.next()
		}
	}
	if len(all) == 0 {
		r.refuse(r.from, "the NEXUS file has no trees: a block of trees has lines such as TREE one = (a:1,b:2);")
	}
	return all
}

// translate reads the names that others stand for, up to the semicolon.
func (r *reader) translate(names map[string]string) {
	for !r.is(";") && !r.ended() {
		r.next()
		key := r.word
		r.next()
		names[key] = r.word
		if r.next(); !r.is(",") && !r.is(";") {
			r.refuse(r.from, "%s where a comma or semicolon belongs: TRANSLATE has a name for each number", r.found())
		}
	}
}

// reader splits a text into words, of which it makes a tree. A word is one of the characters ( ) , : ; or a name or number.
type reader struct {
	text   string
	from   int    // where the word begins, or what an error is about
	end    int    // where it ends
	word   string // "" at the end of the text
	quoted bool   // the word is a name that stood in quotation marks, which are not part of it
	err    error  // the first error, which ends the reading: after it no word is taken

	budget input.Budget
	names  map[string]string // what words of the tree stand for
	tree   *Tree
	at     []int // where the parenthesis of a node begins, or else its name
	node   int   // to which the words belong
	has    part  // what it has already
	done   bool  // with the whole tree
}

// part is what a node has already: its parts follow in this order.
type part int

const (
	nothing part = iota
	children
	name
	length
)

const blanks = " \t\r\n"
const special = "()[]:;,'"

// next moves on to the next word, unless an error has ended the reading.
func (r *reader) next() {
	if r.err != nil {
		return
	}
	r.quoted = false
	r.from = r.end
	for open := []int(nil); ; r.from++ { // open are the brackets of the comments we are in
		if r.from == len(r.text) {
			if len(open) > 0 {
				r.refuse(open[0], "the comment that begins here has no end: ] is missing")
			}
			r.word, r.end = "", r.from
			return
		}
		switch b := r.text[r.from]; {
		case b == '[':
			open = append(open, r.from)
			continue
		case b == ']' && len(open) > 0:
			open = open[:len(open)-1]
			continue
		case b == ']':
			r.refuse(r.from, "] ends a comment that has no beginning")
			return
		case len(open) > 0 || strings.IndexByte(blanks, b) >= 0:
			continue
		}
		break
	}
	rest := r.text[r.from:]
	if rest[0] == '\'' {
		r.quotedName(rest)
		return
	}
	length := strings.IndexAny(rest, blanks+special)
	if length < 0 {
		length = len(rest)
	}
	length = max(length, 1)
	r.word, r.end = rest[:length], r.from+length
}

// quotedName takes the word in quotation marks at the beginning of a text.
func (r *reader) quotedName(text string) {
	r.quoted = true
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '\'' {
			i++
			continue
		}
		r.word, r.end = strings.ReplaceAll(text[1:i], "''", "'"), r.from+i+1
		return
	}
	r.refuse(r.from, "the name that begins here has no end: ' is missing")
}

// is says whether the word is that character.
func (r *reader) is(character string) bool { return r.word == character && !r.quoted }

// isName says whether the word is a name or a number.
func (r *reader) isName() bool {
	return r.quoted || r.word != "" && strings.IndexByte(special, r.word[0]) < 0
}

// found says for a message what stands here.
func (r *reader) found() string {
	switch {
	case r.word == "" && !r.quoted:
		return "the end of the text"
	case len(r.word) > 40:
		return strconv.Quote(r.word[:40]) + "…"
	}
	return strconv.Quote(r.word)
}

var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// length reads the number of an edge.
func (r *reader) length() float64 {
	if r.quoted || !number.MatchString(r.word) {
		r.refuse(r.from, "the length of an edge should stand here, not %s", r.found())
		return math.NaN()
	}
	l, _ := strconv.ParseFloat(r.word, 64) // infinite where the number is too large
	return l
}

// fail ends the reading by an error, nil for none, about what begins at a place.
func (r *reader) fail(from int, err error) {
	if err != nil && r.err == nil {
		r.from, r.err = from, err
	}
}

func (r *reader) refuse(from int, format string, args ...any) {
	r.fail(from, fmt.Errorf(format, args...))
}

// one reads the tree that begins with the word, up to its semicolon, and gives nodes the names that others stand for.
func (r *reader) one(names map[string]string) *Tree {
	switch {
	case !utf8.ValidString(r.text):
		r.fail(0, errors.New("the text is not UTF-8"))
	case r.word == "" && !r.quoted:
		r.refuse(r.from, "there is no tree: the text is empty")
	case r.is(";"):
		r.refuse(r.from, "there is no tree before the semicolon")
	case strings.EqualFold(r.word, "#NEXUS"):
		r.refuse(r.from, "this is a NEXUS file: read it by Read, or take the text of its tree, which follows the sign =")
	}
	r.names, r.tree, r.at, r.done = names, new(Tree), nil, false
	for r.node = r.add(-1); r.err == nil && !r.done; {
		r.take()
	}
	return r.tree
}

// add adds a node.
func (r *reader) add(parent int) int {
	r.fail(r.from, r.budget.Elements(1))
	t := r.tree
	t.Parent, t.Length, t.Name, r.at = append(t.Parent, parent), append(t.Length, math.NaN()), append(t.Name, ""), append(r.at, r.from)
	r.has = nothing
	return len(r.at) - 1
}

// take takes a word, and moves on to the next one.
func (r *reader) take() {
	t, parent := r.tree, r.tree.Parent[r.node]
	switch {
	case r.is("(") && r.has == nothing:
		r.at[r.node] = r.from
		r.node = r.add(r.node)
	case r.is(",") && parent >= 0:
		r.node = r.add(parent)
	case r.is(")") && parent >= 0:
		r.node, r.has = parent, children
	case r.isName() && r.has < name:
		if t.Name[r.node], r.has = r.word, name; r.word != "" {
			r.at[r.node] = r.from
		}
		if other, is := r.names[r.word]; is {
			t.Name[r.node] = other
		}
	case r.is(":") && r.has < length:
		r.next()
		l := r.length()
		if parent < 0 && l != 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("the edge above the root, of length %v, was passed over: it joins the root to nothing", l))
		}
		t.Length[r.node], r.has = l, length
	case r.is(";") && parent < 0:
		r.finish()
		return
	default:
		r.misplaced()
	}
	r.next()
}

// negligible is the share of the height of a tree up to which a negative length is taken for 0: rounding, neighbour joining and means of sampled trees
// make such lengths of edges that are short, and what follows from the tree hardly changes.
const negligible = 0.05

// finish checks the tree, which a semicolon ends.
func (r *reader) finish() {
	t, height, count, least := r.tree, 0.0, 0, 0.0
	t.Length[0] = 0
	for _, h := range t.Height() { // NaN behind a length that is not written
		if h > height {
			height = h
		}
	}
	for i, l := range t.Length {
		if l < 0 && -l <= negligible*height {
			t.Length[i], count, least = 0, count+1, min(least, l)
		}
	}
	if count > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("edges with a negative length, of %v at least, were given the length 0: %d in all", least, count))
	}
	if i, err := t.check(); err != nil {
		r.fail(r.at[i], err)
		return
	}
	r.done = true
}

// misplaced says what is wrong with a word that cannot stand here.
func (r *reader) misplaced() {
	parent := r.tree.Parent[r.node]
	switch {
	case parent >= 0 && (r.is(";") || r.is("")):
		r.refuse(r.at[parent], "the parenthesis that opens here is not closed when %s comes", r.found())
	case r.is(""):
		r.refuse(r.from, "the text ends without a semicolon: is it complete?")
	case r.is(")") || r.is(","):
		r.refuse(r.from, "%s stands outside all parentheses", r.found())
	case r.isName() && r.has == name:
		r.refuse(r.from, "%s follows the name %q: a name with a blank, a bracket or a quotation mark in it stands in single quotation marks",
			r.found(), r.tree.Name[r.node])
	default:
		r.refuse(r.from, "%s cannot stand here", r.found())
	}
}

// Newick returns the tree in the format that Parse reads. Names and lengths are read back as they are, and so is the order of nodes, if
// all nodes of a clade follow each other, as in trees that were read. Others, such as those of Cohort, are numbered anew when they are read:
// match their leaves by name.
func (t *Tree) Newick() string {
	var out strings.Builder
	if len(t.Parent) == 1 && t.Name[0] == "" {
		return "'';" // for it is a name that makes it a tree
	}
	label := func(i int) {
		name := t.Name[i]
		if strings.ContainsAny(name, blanks+special) {
			name = "'" + strings.ReplaceAll(name, "'", "''") + "'"
		}
		out.WriteString(name)
		if i > 0 && !math.IsNaN(t.Length[i]) {
			out.WriteByte(':')
			out.WriteString(strconv.FormatFloat(t.Length[i], 'g', -1, 64))
		}
	}
	first, next := t.links()
	for i := 0; i >= 0; {
		if first[i] >= 0 {
			out.WriteByte('(')
			i = first[i]
			continue
		}
		label(i)
		for i > 0 && next[i] < 0 {
			out.WriteByte(')')
			i = t.Parent[i]
			label(i)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		i = next[i]
	}
	out.WriteByte(';')
	return out.String()
}
