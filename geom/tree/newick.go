package tree

import (
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

	"anatomy/geom/try"
	"anatomy/internal/input"
)

// Read reads the first tree of a file: see ReadAll.
func Read(path string) (*Tree, error) {
	all, err := ReadAll(path)
	if err != nil {
		return nil, err
	}
	t := all[0]
	if len(all) > 1 {
		t.Notes = append(t.Notes, fmt.Sprintf("the file holds %d trees: the first was taken", len(all)))
	}
	return t, nil
}

// ReadAll reads a file of trees in Newick's format, see Parse, or of NEXUS with a block of trees, whose TRANSLATE gives the leaves their names.
// Text that is no UTF-8 is taken for Windows-1252, with a note. Errors have the form path:line:column: what.
func ReadAll(path string) (_ []*Tree, err error) {
	defer try.Catch(&err)
	f := try.Get(input.Open(path))
	defer f.Close()
	// A byte-order mark says that the text is UTF-16, or UTF-8 by a program of Windows.
	text, err := io.ReadAll(transform.NewReader(f, unicode.BOMOverride(encoding.Nop.NewDecoder())))
	try.Do(try.Name(err, "%s", path))
	windows := !utf8.Valid(text)
	if windows {
		text = try.Get(charmap.Windows1252.NewDecoder().Bytes(text))
	}
	r := &reader{text: string(text)}
	all, err := r.run(r.trees)
	if err != nil {
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
// no tree, or anything after its semicolon, two leaves of one name, or a length that is negative or not finite. Errors begin with
// line:column.
func Parse(text string) (*Tree, error) {
	r := &reader{text: strings.TrimPrefix(text, "\ufeff")}
	all, err := r.run(func() []*Tree {
		r.next()
		t := r.tree()
		if r.word != "" || r.quoted {
			refuse("%s follows the semicolon that ends the tree: one text holds one tree", r.found())
		}
		return []*Tree{t}
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// run reads trees; an error is one at the place that was read last.
func (r *reader) run(read func() []*Tree) (all []*Tree, err error) {
	if err := try.Run(func() { all = read() }); err != nil {
		before := r.text[:r.from]
		line := strings.Count(before, "\n") + 1
		column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
		return nil, fmt.Errorf("%d:%d: %w", line, column, err)
	}
	return all, nil
}

// trees reads all trees of a text.
func (r *reader) trees() (all []*Tree) {
	r.next()
	if !strings.EqualFold(r.word, "#NEXUS") {
		for all = append(all, r.tree()); r.word != "" || r.quoted; {
			all = append(all, r.tree())
		}
		return all
	}
	names, block := map[string]string{}, false
	for r.next(); r.word != "" || r.quoted; r.next() {
		switch command := strings.ToUpper(r.word); {
		case command == "BEGIN":
			r.next()
			block = strings.EqualFold(r.word, "TREES")
		case block && command == "TRANSLATE":
			for !r.is(";") && r.word != "" {
				r.next()
				key := r.word
				r.next()
				names[key] = r.word
				if r.next(); !r.is(",") && !r.is(";") {
					refuse("%s where a comma or semicolon belongs: TRANSLATE has a name for each number", r.found())
				}
			}
			continue
		case block && (command == "TREE" || command == "UTREE"):
			for !strings.HasSuffix(r.word, "=") {
				if r.is(";") || r.word == "" {
					refuse("the tree lacks its =")
				}
				r.next()
			}
			r.next()
			t := r.oneOf(names)
			all = append(all, t)
			continue
		}
		for !r.is(";") && r.word != "" {
			r.next()
		}
	}
	if len(all) == 0 {
		refuse("the NEXUS file has no trees: a block of trees has lines such as TREE one = (a:1,b:2);")
	}
	return all
}

// reader splits a text into words. A word is one of the characters ( ) , : ; or a name or number.
type reader struct {
	text   string
	from   int    // where the word begins, or what an error is about
	end    int    // where it ends
	word   string // "" at the end of the text
	quoted bool   // the word is a name that stood in quotation marks, which are not part of it
}

const blanks = " \t\r\n"
const special = "()[]:;,'"

// next moves on to the next word.
func (r *reader) next() {
	r.quoted = false
	r.from = r.end
	for open := []int(nil); ; r.from++ { // open are the brackets of the comments we are in
		if r.from == len(r.text) {
			if len(open) > 0 {
				r.from = open[0]
				refuse("the comment that begins here has no end: ] is missing")
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
			refuse("] ends a comment that has no beginning")
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
	refuse("the name that begins here has no end: ' is missing")
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
		refuse("the length of an edge should stand here, not %s", r.found())
	}
	l, _ := strconv.ParseFloat(r.word, 64) // infinite where the number is too large
	return l
}

// refuse ends the reading by an error.
func refuse(format string, args ...any) { try.Do(fmt.Errorf(format, args...)) }

// tree reads a tree and its semicolon, and the word behind it.
func (r *reader) tree() *Tree {
	t := r.oneOf(nil)
	r.next()
	return t
}

// oneOf reads a tree up to its semicolon, and gives nodes the names that others stand for.
func (r *reader) oneOf(names map[string]string) *Tree {
	if !utf8.ValidString(r.text) {
		refuse("the text is not UTF-8")
	}
	switch {
	case r.word == "" && !r.quoted:
		refuse("there is no tree: the text is empty")
	case r.is(";"):
		refuse("there is no tree before the semicolon")
	case strings.EqualFold(r.word, "#NEXUS"):
		refuse("this is a NEXUS file: read it by Read, or take the text of its tree, which follows the sign =")
	}
	var (
		t  Tree
		at []int // where the parenthesis of a node begins, or else its name
	)
	var budget input.Budget
	add := func(parent int) int {
		try.Do(budget.Elements(1))
		t.Parent = append(t.Parent, parent)
		t.Length = append(t.Length, math.NaN())
		t.Name = append(t.Name, "")
		at = append(at, r.from)
		return len(at) - 1
	}
	// What node has already.
	const (
		nothing = iota
		children
		name
		length
	)
	node, has := add(-1), nothing
	for {
		parent := t.Parent[node]
		switch {
		case r.is("(") && has == nothing:
			at[node] = r.from
			node = add(node)
		case r.is(",") && parent >= 0:
			node, has = add(parent), nothing
		case r.is(")") && parent >= 0:
			node, has = parent, children
		case r.isName() && has < name:
			if t.Name[node], has = r.word, name; t.Name[node] != "" {
				at[node] = r.from
			}
			if other, is := names[r.word]; is {
				t.Name[node] = other
			}
		case r.is(":") && has < length:
			r.next()
			l := r.length()
			if err := checkLength(l); err != nil {
				leaf := node
				for leaf+1 < len(t.Parent) && t.Parent[leaf+1] == leaf {
					leaf++
				}
				refuse("the edge above %s: %w", map[bool]string{true: t.Label(node), false: "the clade of " + t.Label(leaf)}[leaf == node || t.Name[node] != ""], err)
			}
			if parent < 0 && l != 0 {
				t.Notes = append(t.Notes, fmt.Sprintf("the edge above the root, of length %v, was passed over: it joins the root to nothing", l))
			}
			t.Length[node], has = l, length
		case r.is(";") && parent < 0:
			t.Length[0] = 0
			if i, err := t.check(); err != nil {
				r.from = at[i]
				try.Do(err)
			}
			return &t
		case parent >= 0 && (r.is(";") || r.is("")):
			what := r.found()
			r.from = at[parent]
			refuse("the parenthesis that opens here is not closed when %s comes", what)
		case r.is(""):
			refuse("the text ends without a semicolon: is it complete?")
		case r.is(")") || r.is(","):
			refuse("%s stands outside all parentheses", r.found())
		case r.isName() && has == name:
			refuse("%s follows the name %q: a name with a blank, a bracket or a quotation mark in it stands in single quotation marks", r.found(), t.Name[node])
		default:
			refuse("%s cannot stand here", r.found())
		}
		r.next()
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
