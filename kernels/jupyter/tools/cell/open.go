package cell

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// Opened is a cell in the form that GoNB takes: declarations first, then "%%" and the main function's statements.
type Opened struct {
	Lines []string
	Skip  map[int]struct{} // those of the lines that are no Go
	Line  int              // the cursor's, or -1

	from []int // the line of the cell that each of the lines stands for
}

// Back replaces numbers of Lines by those of the cell; negative ones stay.
func (o *Opened) Back(lines []int) {
	for i, line := range lines {
		if line >= 0 && line < len(o.from) {
			lines[i] = o.from[line]
		}
	}
}

// Statement takes the "%%" away from the front of a statement on the same line: it would be the arguments of the program.
func Statement(line string) string {
	code, found := strings.CutPrefix(line, "%% ")
	code = strings.TrimSpace(code)
	if _, none := (piece{text: code}).node().(*ast.EmptyStmt); none || !found || strings.HasPrefix(code, "-") {
		return line
	}
	return "   " + line[3:]
}

// Open brings a cell into GoNB's form. A first statement at the top level opens the main function like "%%"; what follows
// belongs to it, but for functions, types and imports. With show the last expression becomes an argument of nb.Display, unless a
// semicolon follows it; id is the cell's number, whose main function's variables Explain knows from then on, or negative.
func (w *Workspace) Open(id int, lines []string, skip map[int]struct{}, line, column int, show bool) *Opened {
	whole := false
	code, marker := plainCode(lines, func(i int, line string) bool {
		whole = whole || strings.HasPrefix(line, "%exec") || strings.HasPrefix(line, "%test")
		_, special := skip[i]
		return special
	})
	declarations, statements := divide(code, marker)
	if id >= 0 {
		w.remember(id, lines, declarations, statements)
	}
	if len(statements) == 0 || whole {
		return &Opened{lines, skip, line, nil}
	}

	o := &Opened{Skip: map[int]struct{}{}, Line: -1}
	write := func(from, at int, text string) {
		if from == line && at <= column {
			o.Line = len(o.Lines)
		}
		o.Lines, o.from = append(o.Lines, strings.Repeat(" ", at)+text), append(o.from, from)
	}
	pieces := func(all []piece) {
		for _, p := range all {
			for i, text := range strings.Split(p.text, "\n") {
				write(p.line+i, p.column, text)
				p.column = 0
			}
		}
	}
	pieces(declarations)
	opening := "%%"
	if marker >= 0 {
		opening = lines[marker]
	} else {
		marker = statements[0].line
	}
	o.Skip[len(o.Lines)] = struct{}{}
	o.Lines, o.from = append(o.Lines, opening), append(o.from, marker)
	last := lastCode(statements)
	p := statements[last]
	if end := p.expression(); show && end > 0 && !w.silent(p.text[:end]) {
		pieces(statements[:last])
		write(p.line, 0, displayOpen)
		pieces([]piece{{text: p.text[:end] + "," + p.text[end:], line: p.line, column: p.column}})
		write(p.line+strings.Count(p.text, "\n"), 0, displayClose)
		pieces(statements[last+1:])
	} else {
		pieces(statements)
	}
	return o
}

// plainCode is a cell with empty lines in place of those that are no Go, and the first line that opens the main function, or -1.
func plainCode(lines []string, special func(i int, line string) bool) (code string, marker int) {
	lines, marker = slices.Clone(lines), -1
	for i := range lines {
		text := strings.TrimPrefix(lines[i], "//gonb:")
		if opens(text) && marker < 0 {
			marker = i
		}
		if special(i, text) || opens(text) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n"), marker
}

// lastCode is the last of some statements that is not comments only.
func lastCode(statements []piece) int {
	last := len(statements) - 1
	for last > 0 && !statements[last].code {
		last--
	}
	return last
}

// opens says whether a line opens the main function.
func opens(line string) bool {
	return line == "%%" || strings.HasPrefix(line, "%% ") || strings.HasPrefix(line, "%%\t") || strings.HasPrefix(line, "%main")
}

// piece is a declaration or statement with the comments before it.
type piece struct {
	text         string
	line, column int  // of its beginning
	code         bool // not comments only
	semicolon    bool // written behind it
}

// divide splits source at the semicolons outside of brackets, written or not, into what may stand outside of functions
// and what belongs to the main function.
func divide(source string, marker int) (declarations, statements []piece) {
	start, depth, main := 0, 0, false
	var head []token.Token // of the current piece: its tokens outside of brackets, with these
	finish := func(end int, semicolon bool) {
		at := end - len(strings.TrimLeft(source[start:end], " \t\r\n"))
		start = end
		if at == end {
			return
		}
		line := strings.Count(source[:at], "\n")
		p := piece{source[at:end], line, at - 1 - strings.LastIndex(source[:at], "\n"), len(head) > 0, semicolon}
		main = main || marker >= 0 && line > marker
		outside := !main
		if len(head) > 0 {
			switch head[0] {
			case token.VAR:
			case token.IMPORT, token.PACKAGE, token.TYPE, token.CONST:
				outside = true
			case token.FUNC:
				outside = len(head) > 1 && head[1] == token.IDENT || len(head) > 4 && head[3] == token.IDENT && head[4] == token.LPAREN // a method
				main = main || !outside
			default:
				main, outside = true, false
			}
		}
		if outside {
			declarations = append(declarations, p)
		} else {
			statements = append(statements, p)
		}
		head = nil
	}
	all := lexemes(source)
	for i, l := range all {
		switch l.tok {
		case token.COMMENT:
			continue
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth > 0 {
				continue
			}
			end := l.end
			for _, c := range all[i+1:] { // a comment behind it on its line
				if c.tok != token.COMMENT || strings.Contains(source[end:c.at], "\n") {
					break
				}
				end = c.end
			}
			finish(end, l.lit == ";")
			continue
		}
		if depth <= 0 {
			head = append(head, l.tok)
		}
		switch l.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		}
	}
	finish(len(source), false)
	return declarations, statements
}

// lexeme is a token with its place in a source.
type lexeme struct {
	at, end int
	tok     token.Token
	lit     string
}

// lexemes are the tokens and comments of a source.
func lexemes(source string) []lexeme {
	all, _ := scanned(source)
	return all
}

// scanned are the lexemes of a source, and what is wrong with the last that are wrong.
func scanned(source string) (all []lexeme, wrong string) {
	var s scanner.Scanner
	src := []byte(source)
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	s.Init(file, src, func(_ token.Position, message string) { wrong = message }, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return all, wrong
		}
		text := lit
		if !tok.IsLiteral() && tok != token.COMMENT && tok != token.SEMICOLON {
			text = tok.String()
		}
		at := file.Offset(pos)
		end := min(at+len(text), len(src))
		if tok == token.SEMICOLON && lit == "\n" {
			end = at
		}
		all = append(all, lexeme{at, end, tok, lit})
	}
}

// expression returns the length of a piece up to the end of its expression, or 0 if it is none whose value is to be shown.
func (p piece) expression() int {
	if p.semicolon {
		return 0
	}
	set := token.NewFileSet()
	const before = "package p; var _ = "
	file, err := parser.ParseFile(set, "", before+p.text, parser.SkipObjectResolution)
	if err != nil || len(file.Decls) != 1 {
		return 0
	}
	values := file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values
	value := values[len(values)-1] // of a, b both are shown
	if _, literal := value.(*ast.FuncLit); literal {
		return 0
	}
	return set.Position(value.End()).Offset - len(before)
}

// silent says whether an expression is the call of a function that is known to return nothing worth showing.
func (w *Workspace) silent(expression string) bool {
	value, err := parser.ParseExpr(expression)
	call, ok := value.(*ast.CallExpr)
	if err != nil || !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	if !ok {
		return false
	}
	if from.Name == "fmt" && strings.Contains(selector.Sel.Name, "rint") && !strings.HasPrefix(selector.Sel.Name, "S") {
		return true
	}
	for _, d := range declared(w.folder(from.Name)) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == selector.Sel.Name {
			return f.Type.Results == nil
		}
	}
	return false
}

// remember notes a cell, what it declares, and what its statements assign.
func (w *Workspace) remember(id int, lines []string, declarations, statements []piece) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cell, w.cells[id], w.declares, w.defined, w.assigned = id, lines, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range declarations {
		for _, name := range declaredBy(p.node()) {
			w.declares[name] = true
		}
	}
	for _, p := range statements {
		node := p.node()
		names, _ := targets(node)
		for _, id := range names {
			if declares(node) {
				w.defined[id.Name] = true
			} else {
				w.assigned[id.Name] = true
			}
		}
	}
}

// valueless finds what a compiler says of an expression without value.
var valueless = regexp.MustCompile(`\(no value\) used as value`)

// Hide takes back what Open has done for the last expression, where a compiler says that it has no value. It says whether
// it did.
func Hide(file string, output []byte) bool {
	source, err := os.ReadFile(file)
	if err != nil || !valueless.Match(output) {
		return false
	}
	before, rest, found := strings.Cut(string(source), displayOpen+"\n")
	end := strings.LastIndex(rest, "\n"+displayClose)
	comma := strings.LastIndex(rest[:max(end, 0)], ",")
	if !found || comma < 0 {
		return false
	}
	rest = "_ = " + displayAlias + ".Display\n" + rest[:comma] + rest[comma+1:end+1] + rest[end+1+len(displayClose):]
	return os.WriteFile(file, []byte(before+rest), 0o600) == nil
}

const (
	displayOpen  = displayAlias + ".Display("
	displayClose = ") // shown"
	displayAlias = "nb_"
	displayPath  = "anatomy/notebooks/nb"
)

// UTF16 returns the column of a byte in a line of a file, counted from 0, as gopls counts it.
func UTF16(file string, line, column int) int {
	src, err := os.ReadFile(file)
	if lines := strings.Split(string(src), "\n"); err == nil && line >= 0 && line < len(lines) && column <= len(lines[line]) {
		return len(utf16.Encode([]rune(lines[line][:max(column, 0)])))
	}
	return column
}

// closing are the brackets that close others.
var closing = map[token.Token]token.Token{token.LPAREN: token.RPAREN, token.LBRACK: token.RBRACK, token.LBRACE: token.RBRACE}

// unclosed lists the brackets that some lexemes leave open, by their numbers; not ok if one closes what is not open.
func unclosed(all []lexeme) (left []int, ok bool) {
	ok = true
	for i, l := range all {
		last := len(left) - 1
		switch {
		case closing[l.tok] != token.ILLEGAL:
			left = append(left, i)
		case last >= 0 && l.tok == closing[all[left[last]].tok]:
			left = left[:last]
		case l.tok == token.RPAREN || l.tok == token.RBRACK || l.tok == token.RBRACE:
			ok = false
		}
	}
	return left, ok
}

// Called moves a cursor that is at no name, in the arguments of a call, to the name of the function, and closes what is open at the end.
func Called(lines []string, line, column int) ([]string, int, int) {
	source := strings.Join(lines, "\n")
	at := len(strings.Join(append(slices.Clone(lines[:line]), ""), "\n")) + column
	all, lines := lexemes(source), slices.Clone(lines)
	left, _ := unclosed(all)
	for _, i := range slices.Backward(left) {
		lines[len(lines)-1] += closing[all[i].tok].String()
	}
	before, on := 0, false // lexemes before the cursor; it is at a name or in a comment
	for _, l := range all {
		if l.end <= at {
			before++
		}
		on = on || l.at < at && at < l.end && l.tok == token.COMMENT || l.tok == token.IDENT && l.at <= at && at <= l.end
	}
	here, _ := unclosed(all[:before])
	if on || len(here) == 0 {
		return lines, line, column
	}
	inner := here[len(here)-1]
	if inner == 0 || all[inner].tok != token.LPAREN || all[inner-1].tok != token.IDENT {
		return lines, line, column
	}
	name := source[:all[inner-1].at]
	return lines, strings.Count(name, "\n"), len(name) - 1 - strings.LastIndex(name, "\n")
}

// Status tells a console whether it may execute what was typed: "complete", "incomplete" (an open bracket, string or
// comment, or an operator at the end) or "invalid".
func Status(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!") {
			lines[i] = ""
		}
	}
	all, wrong := scanned(strings.Join(lines, "\n"))
	all = slices.DeleteFunc(all, func(l lexeme) bool { return l.tok == token.COMMENT })
	left, ok := unclosed(all)
	switch {
	case !ok:
		return "invalid"
	case wrong == "raw string literal not terminated" || wrong == "comment not terminated":
		return "incomplete"
	case wrong != "":
		return "invalid"
	case len(left) > 0 || len(all) > 0 && all[len(all)-1].tok != token.SEMICOLON:
		return "incomplete"
	}
	return "complete"
}

// Starting is what Tab offers until gopls has read the packages: comments, which do no harm where one is taken. A single one would be
// taken by itself.
var Starting = []string{"/* completion is starting */", "/* press Tab again in some seconds */"}

// Warm has gopls read the packages, by a question that it may take minutes to answer on a busy machine, and then gives its questions a
// time limit of their own.
func (w *Workspace) Warm(ask func() error, limit *time.Duration) {
	usual := *limit
	*limit = 10 * time.Minute // what is broken off is begun anew
	ask()
	*limit = usual
	w.ready.Store(true)
}

// Ready says whether gopls has read the packages.
func (w *Workspace) Ready() bool { return w.ready.Load() }
