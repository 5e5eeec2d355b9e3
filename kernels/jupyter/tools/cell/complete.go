package cell

import (
	"go/scanner"
	"go/token"
	"os"
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
	closing := map[token.Token]token.Token{token.LPAREN: token.RPAREN, token.LBRACK: token.RBRACK, token.LBRACE: token.RBRACE}
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
