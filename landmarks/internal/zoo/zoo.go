// Package zoo is for tests of what becomes of faulty files: each defect in each format is accepted, accepted with a note or refused with
// what to do, and a table of the repository says which.
package zoo

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"anatomy/internal/input"
)

var write = flag.Bool("zoo", false, "write the table of the zoo anew")

// Kinds of outcomes.
const (
	Accepted = "accepted"
	Noted    = "accepted with a note"
	Refused  = "refused"
)

// Outcome is what becomes of a file, with the words of an error, or of notes and findings.
type Outcome struct {
	Kind, Words string
	Advice      string // of an error
	Equal       bool   // the data are those without the defect
}

// Refusal is the outcome of an error about files in a folder. It is a fault of the test's subject if the error does not end in what to do.
func Refusal(t *testing.T, what, folder string, err error) Outcome {
	t.Helper()
	var advice *input.Advice
	if !errors.As(err, &advice) {
		t.Errorf("%s: %v does not say what to do", what, err)
		return Outcome{Kind: Refused}
	}
	if !strings.HasSuffix(err.Error(), "; "+advice.Do) {
		t.Errorf("%s: %v does not end in what to do", what, err)
	}
	return Outcome{Kind: Refused, Advice: advice.Do,
		Words: strings.NewReplacer(folder+string(os.PathSeparator), "", folder+": ", "").Replace(err.Error())}
}

// TextDefect is a harmless defect of a text file.
type TextDefect struct {
	Name  string
	Spoil func(s string) string
}

// TextDefects are those of files whatever they hold.
func TextDefects() []TextDefect {
	return []TextDefect{
		{"line ends of Windows", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"line ends of old Macs", func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
		{"byte-order mark", func(s string) string { return "\ufeff" + s }},
		{"UTF-16", func(s string) string {
			var b bytes.Buffer
			for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
				b.Write([]byte{byte(u), byte(u >> 8)})
			}
			return b.String()
		}},
		{"no line break at the end", func(s string) string { return strings.TrimSuffix(s, "\n") }},
		{"blanks at the ends of lines", func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") }},
		{"empty lines at the end", func(s string) string { return s + "\n\n\n" }},
	}
}

// CutOff is the name of the defect of a file that ends after a number of tenths.
const CutOff = "cut off after a tenth, two, … nine"

// Cut is the file that ends after a number of tenths.
func Cut(s string, tenth int) string { return s[:len(s)*tenth/10] }

// Table is the table of all outcomes.
type Table struct {
	Files           int
	formats         []string
	defects         []string
	about           map[line]Outcome // the first of it
	of              map[line][]string
	order           []line
	Title, Preamble string // of the page; %d of the preamble is the number of files
}

type line struct{ defect, kind, about string }

// Add adds an outcome. Nothing harmless may be refused or change the data, and nothing harmful go by without a word.
func (z *Table) Add(t *testing.T, format, defect string, harmless bool, o Outcome) {
	t.Helper()
	z.Files++
	what := fmt.Sprintf("%s, %s: %s", format, defect, o.Words)
	switch {
	case harmless && o.Kind == Refused:
		t.Errorf("%s: a harmless defect is refused", what)
	case harmless && !o.Equal:
		t.Errorf("%s: a harmless defect changes the data", what)
	case !harmless && o.Kind == Accepted:
		t.Errorf("%s: a harmful defect goes by without a word", what)
	}
	if z.of == nil {
		z.about, z.of = map[line]Outcome{}, map[line][]string{}
	}
	l := line{defect, o.Kind, o.Advice}
	if z.of[l] == nil {
		z.order, z.about[l] = append(z.order, l), o
	}
	for list, name := range map[*[]string]string{&z.formats: format, &z.defects: defect} {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	if !slices.Contains(z.of[l], format) {
		z.of[l] = append(z.of[l], format)
	}
}

// String is the page with the table, its defects in an order.
func (z *Table) page(defects []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n"+z.Preamble+"\n\n| defect | formats | files are | with the words |\n|---|---|---|---|\n", z.Title, z.Files)
	for _, defect := range defects {
		for _, l := range z.order {
			if l.defect != defect {
				continue
			}
			of := strings.Join(z.of[l], "; ")
			if len(z.of[l]) == len(z.formats) {
				of = "all"
			}
			words := strings.NewReplacer("|", `\|`, "\n", " ", "\t", " ", "<", "\\<").Replace(z.about[l].Words)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", defect, of, l.kind, words)
		}
	}
	return b.String()
}

// Check compares the table with that of a file, or writes it there. The defects stand in the order given. There must be at least so many
// files.
func (z *Table) Check(t *testing.T, path string, least int, defects []string) {
	t.Helper()
	t.Logf("%d files", z.Files)
	if z.Files < least {
		t.Errorf("%d files are too few", z.Files)
	}
	for _, d := range z.defects {
		if !slices.Contains(defects, d) {
			t.Errorf("the table does not list %q", d)
		}
	}
	page := z.page(defects)
	if *write {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("the table of %s is another (write it by -zoo and look at what changed): %s", path, diff)
	}
}
