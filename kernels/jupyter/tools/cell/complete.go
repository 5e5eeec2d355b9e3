package cell

import (
	"go/scanner"
	"go/token"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
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

// Called moves a cursor that is at no name, in the arguments of a call, to the name of the function, and closes what is open at the end.
func Called(lines []string, line, column int) ([]string, int, int) {
	source := strings.Join(lines, "\n")
	at := len(strings.Join(append(slices.Clone(lines[:line]), ""), "\n")) + column
	type bracket struct{ before, itself lexeme }
	var open, here []bracket // those at the end, and at the cursor
	before, on := lexeme{tok: token.EOF}, false
	for _, l := range lexemes(source) {
		if l.at < at && at < l.end && l.tok == token.COMMENT || l.tok == token.IDENT && l.at <= at && at <= l.end {
			on = true
		}
		if closing[l.tok] != token.ILLEGAL {
			open = append(open, bracket{before, l})
		} else if len(open) > 0 && closing[open[len(open)-1].itself.tok] == l.tok {
			open = open[:len(open)-1]
		}
		if l.end <= at {
			here = slices.Clone(open)
		}
		before = l
	}
	lines = slices.Clone(lines)
	for _, b := range slices.Backward(open) {
		lines[len(lines)-1] += closing[b.itself.tok].String()
	}
	if on || len(here) == 0 {
		return lines, line, column
	}
	inner := here[len(here)-1]
	if inner.itself.tok != token.LPAREN || inner.before.tok != token.IDENT {
		return lines, line, column
	}
	name := source[:inner.before.at]
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
	src := []byte(strings.Join(lines, "\n"))

	status := "complete"
	fail := func(_ token.Position, message string) {
		switch message {
		case "raw string literal not terminated", "comment not terminated":
			status = "incomplete"
		default:
			status = "invalid"
		}
	}
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(src)), src, fail, 0)
	var open []token.Token
	last := token.SEMICOLON
	for status == "complete" {
		_, tok, _ := s.Scan()
		if tok == token.EOF {
			break
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			open = append(open, closing[tok])
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) == 0 || open[len(open)-1] != tok {
				return "invalid"
			}
			open = open[:len(open)-1]
		}
		last = tok
	}
	if status == "complete" && (len(open) > 0 || last != token.SEMICOLON) {
		status = "incomplete"
	}
	return status
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
