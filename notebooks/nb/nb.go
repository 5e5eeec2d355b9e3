// Package nb has what a notebook cell needs beside the mathematics: errors that fail the cell, numerical checks that fail
// the report when they are false, text in which data are shown as they are, and values that live from one cell to the next.
//
// GoNB runs each cell as a process of its own and carries pictures and printed text by different channels, so their order is
// not certain. What this package prints goes the way of the pictures and arrives before the call returns; outside a
// notebook it goes to standard output.
package nb

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/internal/lists"
	"anatomy/landmarks/morpho/files"
	"anatomy/notebooks/internal/param"
)

// Must returns v. If err is not nil, it prints err with the line of the cell to standard error and ends the cell with a
// failure. So nb.Must(f()) takes the result of a call f() that also returns an error.
func Must[T any](v T, err error) T {
	if err != nil {
		fail("error: %v", explained(err))
	}
	return v
}

// Must2 is Must for a function with two results.
func Must2[T, U any](v T, w U, err error) (T, U) {
	if err != nil {
		fail("error: %v", explained(err))
	}
	return v, w
}

// Check prints the claim |got − want| ≤ tol as a line that begins with ✓. If it is false, or a number is NaN or infinite, the
// cell ends with a failure. In a report about other than the standard data a claim may be false: the line then begins with ✗,
// and the cell continues. what is Markdown and may contain formulas between dollars; names from data go into it by Text. It
// must be understandable without the notebook, on the page of all checks.
func Check(what string, got, want, tol float64) {
	if d := math.Abs(got - want); !(d <= tol) || math.IsInf(tol, 0) {
		deny(check{what, fmt.Sprintf("%.12g", got), fmt.Sprintf("%.12g", want), fmt.Sprintf("%.3g", tol), false},
			fmt.Sprintf("✗ %s: got %.12g, want %.12g ± %.3g, differs by %.3g", what, got, want, tol, d))
		return
	}
	c := check{what, proven(got, want, tol), proven(want, want, tol), fmt.Sprintf("%.3g", tol), true}
	record(c)
	say(fmt.Sprintf("✓ %s: got %s (want %s ± %s)", what, c.Got, c.Want, c.Tol))
}

// proven writes x with the digits that a tolerance around want says something about and one more, at most 10, and with those before
// the decimal point.
func proven(x, want, tol float64) string {
	digits := 2
	switch {
	case tol == 0:
		digits = 10
	case want != 0:
		digits = 2 + int(math.Floor(math.Log10(math.Abs(want)))-math.Floor(math.Log10(tol)))
	}
	if x != 0 {
		digits = max(digits, 1+int(math.Floor(math.Log10(math.Abs(x)))))
	}
	return fmt.Sprintf("%.*g", min(max(digits, 2), 10), x)
}

// True prints the claim what as a line that begins with ✓ if it holds. If not, the cell ends with a failure; in a report about
// other than the standard data the line begins with ✗, as for Check.
func True(what string, ok bool) {
	if !ok {
		deny(check{What: what}, fmt.Sprintf("✗ %s: not true", what))
		return
	}
	record(check{What: what, OK: true})
	say("✓ " + what)
}

// Help lists the functions and types of the project that have these words in their names or in what is said of them, such as Help("mean").
func Help(words string) {
	out, err := exec.Command("go", append([]string{"run", "anatomy/notebooks/report/ask", "find"}, strings.Fields(words)...)...).Output()
	var found string
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		fail("error: Help looks for %q in the folder of the project, which the notebook is not in: %v", words, err)
	}
	say(cmp.Or(found, "Nothing has these words."))
}

// Printf prints one paragraph of Markdown, formulas between dollars included, in order with the pictures of the cell. The
// format is Markdown; an argument that is neither a number nor Markdown is data, and shown as by Text.
func Printf(format string, args ...any) {
	if gonbui.IsNotebook {
		args = slices.Clone(args)
		for i, a := range args {
			t := reflect.TypeOf(a)
			if _, is := a.(Markdown); !is && (t == nil || t.PkgPath() != "" || !plain(t)) {
				args[i] = data{a}
			}
		}
	}
	say(fmt.Sprintf(format, args...))
}

// Markdown is an argument of Printf that the notebook itself has composed: it is not shown as it is but read as Markdown.
type Markdown string

// Text returns Markdown that shows data (a name in a file, an error) as they are: no letter of it starts a formula, a
// link, HTML or a new line, and none turns the direction of writing.
func Text(data string) string {
	var out strings.Builder
	for _, r := range data {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			r = unicode.ReplacementChar
		case r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// data is an argument of Printf that is to be shown as it is.
type data struct{ value any }

func (d data) Format(f fmt.State, verb rune) {
	io.WriteString(f, Text(fmt.Sprintf(fmt.FormatString(f, verb), d.value)))
}

// say shows a paragraph of Markdown.
func say(text string) { send(text, map[protocol.MIMEType]any{protocol.MIMETextMarkdown: text}) }

// deny says that a check is false: it ends the process, or marks the line if the check was made for other data.
func deny(c check, text string) {
	record(c)
	if own() == "" {
		fail("%s", text)
	}
	say(text)
}

// fail ends the process once the pictures that are on their way have arrived, and the values of the cell are written.
func fail(format string, args ...any) {
	gonbui.Sync()
	End()
	fmt.Fprintln(os.Stderr, place()+fmt.Sprintf(format, args...))
	os.Exit(1)
}

// Data returns the data set that the notebook is about: of the file that the environment variable ANATOMY_DATA names,
// as `make report DATA=my.csv` sets it, or else the standard one. A file that cannot be read or that Validate refuses ends
// the cell with that error, and a report with nothing else. What the reader passed over or took for granted, the Remarks of the data, is printed
// with the report:
//
//	var data = nb.Data(morpho.MouseVertebrae(), morpho.Read)
//
// Answers, which a notebook has from the function Answers, read in their own way, and the report that they are for validates the data. A file is read
// here and nowhere else: cells take the data from each other.
func Data[D interface{ Validate() error }](standard D, read func(path string) (D, error), answers ...interface {
	Read(path string) (D, error)
}) D {
	path := own()
	if path == "" {
		return standard
	}
	if len(answers) > 0 {
		read = answers[0].Read
	}
	own, err := read(path)
	refuse(err)
	if len(answers) == 0 {
		checked := own
		if lacks, can := any(own).(interface{ Complete() (D, error) }); can { // landmarks, which its analyses estimate
			checked, err = lacks.Complete()
			refuse(err)
		}
		refuse(checked.Validate())
	}
	if said, can := any(own).(interface{ Remarks() []string }); can {
		for _, remark := range said.Remarks() {
			record(map[string]string{"note": remark})
		}
	}
	return own
}

// refuse ends the cell with an error about the data or the answers of whoever asked for a report. It is not about the code, so that the report maker
// prints it alone.
func refuse(err error) {
	if err != nil {
		record(map[string]string{"refused": err.Error()})
		fail("error: %v", explained(err))
	}
}

// Unfinished returns a folder for what a long computation about one's own data has found so far. `make report` names it in ANATOMY_UNFINISHED,
// and removes it when the report is written: after an interruption the same command goes on from there. Without the variable it is "".
func Unfinished() string { return os.Getenv("ANATOMY_UNFINISHED") }

// own is the file of one's own data, if there is one.
func own() string { return os.Getenv("ANATOMY_DATA") }

// File returns a parameter of the notebook that names a file or a folder, or SPECIMEN=FILE; "" if it is not set. `make report` copies it at the
// start, so that it stands in the report with its checksum, and cells read the copy.
func File(name string) string { return Param(name, "") }

// Param returns a parameter of the notebook: what `make report SET="name=value ..."` says, through the JSON object in the
// environment variable ANATOMY_SET, or else its standard value. Where values are allowed, none but these and the standard one is:
//
//	var sigma = nb.Param[float64]("sigma", data.Spacing())
//	var group = nb.Param("group", "all", data.Groups()...)
//
// A value that is not of the type, or not allowed, ends the cell with an error. `make report` finds it before anything is executed, where
// the type stands in brackets or the standard value is a literal, and where the allowed values are literals or, as here, what a
// method of the data returns; also append(data.Groups(), "all")...
func Param[T bool | int | float64 | string](name string, standard T, allowed ...T) T {
	text, given := parameters()[name]
	if !given {
		return standard
	}
	value, err := param.Parse(fmt.Sprintf("%T", standard), text)
	if err == nil && len(allowed) > 0 && value != any(standard) {
		err = param.Among(fmt.Sprint(value), lists.Each(allowed, func(a T) string { return fmt.Sprint(a) }))
	}
	if err != nil {
		refuse(fmt.Errorf("SET: %s=%s: %w", name, text, err))
	}
	return value.(T)
}

// parameters are those of ANATOMY_SET by their names.
func parameters() map[string]string {
	set := map[string]string{}
	if text := os.Getenv("ANATOMY_SET"); text != "" {
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			fail("error: ANATOMY_SET=%s: %v", text, err)
		}
	}
	return set
}

// Answers returns q with those of its questions answered that `make report SET="name=value ..."` answers, as Param does it for one. An answer that is
// wrong ends the cell with an error:
//
//	asked := nb.Answers(supplement.Usual())
func Answers[Q interface {
	Set(answers map[string]string) (others []string, err error)
}](q Q) Q {
	if _, err := q.Set(parameters()); err != nil {
		refuse(fmt.Errorf("SET: %w", err))
	}
	return q
}

// A check is what a report records of Check and True; True has no numbers. They are texts, as JSON has neither NaN nor
// infinity.
type check struct {
	What string `json:"what"`
	Got  string `json:"got,omitempty"`
	Want string `json:"want,omitempty"`
	Tol  string `json:"tol,omitempty"`
	OK   bool   `json:"ok"`
}

// Cell begins the cell of that number, where a notebook is executed as one program: it marks the place in all that the cells show, print and
// check. The kernel writes the calls.
func Cell(number int) {
	progress.end()
	fmt.Printf("\x00cell %d\n", number)
	gonbui.SendData(&protocol.DisplayData{Data: map[protocol.MIMEType]any{"application/vnd.anatomy.cell": fmt.Sprint(number)}})
	gonbui.Sync()
	record(map[string]int{"cell": number})
}

// record appends a check, as a line of JSON, to the file that the environment variable ANATOMY_RECORD names: the runner of
// the reports learns from it what a cell has checked.
func record(c any) {
	path := os.Getenv("ANATOMY_RECORD")
	if path == "" {
		return
	}
	line, err := json.Marshal(c)
	if err != nil {
		fail("error: the record of a check: %v", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fail("error: the record of the checks: %v", err)
	}
}

// Frame is a table: rows of texts, in columns that have names.
type Frame struct {
	names []string
	rows  []Row
}

// Row is a row of a Frame.
type Row struct {
	names []string // of the columns
	row   files.Row
}

// Table reads a table from a file of text or of Excel, as files.ReadTable does. What it is not given ends the cell with a message, as Must does:
//
//	t := nb.Table("fish.csv")
//	viz.Scatter(t.Numbers("length"), t.Numbers("weight"))
func Table(path string) *Frame {
	t := Must(files.ReadTable(path))
	for _, row := range t.Rows {
		if len(row.Cells) > len(t.Header) {
			fail("error: %s:%d: %d cells under %d names of columns: write the same number of cells in each line", path, row.Line, len(row.Cells), len(t.Header))
		}
	}
	return &Frame{t.Header, lists.Each(t.Rows, func(row files.Row) Row { return Row{t.Header, row} })}
}

// Text is the cell in the column of that name; "" where nothing stands.
func (r Row) Text(name string) string {
	c := slices.Index(r.names, name)
	if c < 0 {
		fail("error: no column %q; there are: %s", name, strings.Join(r.names, ", "))
	}
	return r.row.Field(c)
}

// missing are the words for what was not measured.
var missing = []string{"", "na", "n/a", "nan", "null", "none", "-", "?"}

// Missing says whether the cell in the column of that name is empty, NA, NaN, null, none, - or ?.
func (r Row) Missing(name string) bool {
	return slices.Contains(missing, strings.ToLower(r.Text(name)))
}

// Number is the number in the column of that name; NaN where it is missing.
func (r Row) Number(name string) float64 {
	if r.Missing(name) {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(r.Text(name), 64)
	if err != nil {
		fail("error: line %d: %s is %q, which is no number: correct it in the file, or take Texts(%q)", r.row.Line, name, r.Text(name), name)
	}
	return v
}

// Texts are the cells of a column.
func (f *Frame) Texts(name string) []string {
	return lists.Each(f.rows, func(r Row) string { return r.Text(name) })
}

// Numbers are the numbers of a column; NaN where one is missing.
func (f *Frame) Numbers(name string) []float64 {
	return lists.Each(f.rows, func(r Row) float64 { return r.Number(name) })
}

// Filter keeps the rows for which keep is true:
//
//	t.Filter(func(r nb.Row) bool { return r.Text("sex") == "F" && r.Number("age") > 3 })
func (f *Frame) Filter(keep func(Row) bool) *Frame {
	return &Frame{f.names, lists.Filter(f.rows, keep)}
}

// Complete keeps the rows that lack none of some columns, of all if none is named.
func (f *Frame) Complete(names ...string) *Frame {
	if len(names) == 0 {
		names = f.names
	}
	return f.Filter(func(r Row) bool { return !slices.ContainsFunc(names, r.Missing) })
}

// Group parts the rows by the texts of a column, in the order in which these come first:
//
//	for sex, rows := range t.Group("sex") {
//		fmt.Println(sex, stat.Mean(rows.Numbers("weight"), nil))
//	}
func (f *Frame) Group(name string) iter.Seq2[string, *Frame] {
	texts := lists.Distinct(f.Texts(name))
	return func(yield func(string, *Frame) bool) {
		for _, text := range texts {
			if !yield(text, f.Filter(func(r Row) bool { return r.Text(name) == text })) {
				return
			}
		}
	}
}

// Head is the first n rows, or all if there are fewer.
func (f *Frame) Head(n int) *Frame { return &Frame{f.names, f.rows[:min(max(n, 0), len(f.rows))]} }

// headed is how many rows String shows.
const headed = 10

// String shows the first rows, and how many rows and columns there are.
func (f *Frame) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(f.names, "\t"))
	for _, r := range f.Head(headed).rows {
		fmt.Fprintln(w, strings.Join(r.row.Cells, "\t"))
	}
	w.Flush()
	fmt.Fprintf(&out, "%d rows, %d columns", len(f.rows), len(f.names))
	return out.String()
}
