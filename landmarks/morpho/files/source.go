package files

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// source is a file that is read, and what was read of it. A format fills in the Data; all that formats have in common is done by decode.
type source struct {
	*text.Reader
	*Data
	Reading
	line int    // of errors; 0 stands for the whole file
	text string // the line at hand, without outer spaces
	open bool   // the format does not say where the file ends

	alone            bool // the file is one of a folder, which sees to curves
	scaled, unscaled bool // the file tells the lengths of its specimens; it could, and does not

	curves     [][][2]int // of each specimen the points that are those of curves: from, and to before
	curveNames []string   // empty where curves have none

	plain        bool    // no number has a decimal comma
	commas, dots numeral // the first number with a comma, and with a point, in it
	decimal      bool    // some number shows that commas are not those of thousands
}

// numeral is a number as it stands in a line.
type numeral struct {
	text string
	line int
}

// decode reads a file by a format. Errors name the file, and the line where there is one.
func decode(read func(*source), r io.Reader, name string, as Reading, alone bool) (*source, error) {
	in := &source{Reader: text.NewReader(r, name), Data: newData(name), Reading: as, alone: alone}
	err := try.Run(func() {
		read(in)
		in.line = 0 // of the whole file, from here on
		in.decimals()
		in.resample()
		if in.open && in.Unended {
			in.note("the last line has no line break: if the file was cut off, its end is missing")
		}
		if in.Windows {
			in.note("the text is no UTF-8: it was taken for Windows-1252")
		}
		in.flat()
		in.numbered()
	})
	if err != nil && !strings.HasPrefix(err.Error(), name+":") {
		err = at(name, in.line, err)
	}
	return in, err
}

// at is an error at a line of a file, or in the whole of it, which is line 0.
func at(file string, line int, err error) error {
	if line > 0 {
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// refuse ends a read at the line at hand, or a writing: what to do, and what is wrong.
func refuse(do, format string, args ...any) { try.Do(text.Advise(do, format, args...)) }

func refuseIf(bad bool, do, format string, args ...any) { text.RefuseIf(bad, do, format, args...) }

// refuseAt ends a read at a line, or in the whole file, which is line 0.
func (in *source) refuseAt(line int, do, format string, args ...any) {
	in.line = line
	refuse(do, format, args...)
}

// next moves to the next line that is not blank; false at the end.
func (in *source) next() bool {
	for {
		line, err := in.Line()
		if in.line = max(in.Number, 1); err == io.EOF {
			in.text = ""
			return false
		}
		if in.text = strings.TrimSpace(try.Get(line, err)); in.text != "" {
			return true
		}
	}
}

// add takes one more specimen.
func (in *source) add(s Specimen) {
	try.Do(in.Budget.Specimens(1))
	in.Data.Specimens = append(in.Data.Specimens, s)
}

// one begins the one specimen of a file, which is called as the file is, in space.
func (in *source) one(unit string) {
	in.plain, in.Unit = true, unit
	in.add(Specimen{Name: stem(in.Source)})
}

// put takes the next landmark of the one specimen.
func (in *source) put(point []float64, label string) {
	s := &in.Data.Specimens[0]
	s.Points, in.Labels = append(s.Points, point), append(in.Labels, strings.TrimSpace(label))
}

// complete ends the one specimen.
func (in *source) complete() {
	if len(in.Labels) == 0 {
		in.refuseAt(0, "save the file with its points, or leave it out", "no points")
	}
	if slices.Max(in.Labels) == "" {
		in.Labels = nil
	}
}

// missing is a landmark in space that is not there.
func missing() []float64 { return []float64{math.NaN(), math.NaN(), math.NaN()} }

// stem returns the name of a file without folder and extension.
func stem(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if mrk := filepath.Ext(base); strings.EqualFold(mrk, ".mrk") {
		base = strings.TrimSuffix(base, mrk)
	}
	return strings.TrimSpace(base)
}

// Number reads a number; a blank, NA and NaN are a missing one.
func Number(word string) (float64, error) {
	word = strings.TrimSpace(word)
	switch strings.ToLower(word) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := text.Number(word)
	do := "write a number, or NA if it is missing"
	switch {
	case math.IsInf(v, 0):
		err = fmt.Errorf("%s is infinite", text.Clip(word))
	case err == nil:
		return v, nil
	case strings.Contains(word, ","):
		do = "use a decimal point"
	}
	return 0, text.Advise(do, "%w", err)
}

// format is the shortest text that Number reads back to the same float64.
func format(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// IsNumber says whether a cell holds a number, with a decimal point or comma.
func IsNumber(cell string) bool {
	cell = strings.TrimSpace(cell)
	_, err := text.Number(cell)
	return err == nil || decimalComma.MatchString(cell)
}

// decimalComma matches a number with one comma, and parts it there.
var decimalComma = regexp.MustCompile(`^[-+]?(\d+),(\d+)(?:[eE][-+]?\d+)?$`)

// coordinate is Number, where commas may be those of decimal numbers: see decimals.
func (in *source) coordinate(word string) (float64, error) {
	word = strings.TrimSpace(word)
	if m := decimalComma.FindStringSubmatch(word); !in.plain && strings.Contains(word, ",") && m != nil {
		if in.commas.line == 0 {
			in.commas = numeral{word, in.line}
		}
		in.decimal = in.decimal || len(m[2]) != 3 || len(m[1]) > 3 || m[1][0] == '0'
		return Number(strings.Replace(word, ",", ".", 1))
	}
	v, err := Number(word)
	if err == nil && !in.plain {
		if dot := strings.Contains(word, "."); dot && in.dots.line == 0 {
			in.dots = numeral{word, in.line}
		} else if !dot && math.Abs(v) >= 1000 { // of thousands it would have a comma
			in.decimal = true
		}
	}
	return v, err
}

// decimals ends a read if commas of a file may not be those of decimal numbers.
func (in *source) decimals() {
	switch comma := in.commas.text; {
	case in.commas.line == 0:
	case in.dots.line > 0:
		in.refuseAt(in.commas.line, "use decimal points throughout", "%s, but %s in line %d", comma, in.dots.text, in.dots.line)
	case !in.decimal:
		in.refuseAt(in.commas.line, "use decimal points", "%s may be %s or %s, and no number of the file tells which",
			comma, strings.Replace(comma, ",", ".", 1), strings.Replace(comma, ",", "", 1))
	}
}

// point reads the coordinates of a landmark.
func (in *source) point(landmark int, words ...string) (point []float64, err error) {
	in.Spend(input.Coordinates, len(words))
	point = make([]float64, len(words))
	for c, word := range words {
		if point[c], err = in.coordinate(word); err != nil {
			return nil, fmt.Errorf("landmark %d: %s = %w", landmark, text.Axis(c), err)
		}
	}
	return point, nil
}

// coordinates reads the dim coordinates of a landmark, separated by spaces or tabs, from the line at hand.
func (in *source) coordinates(landmark, dim int) ([]float64, error) {
	var words []string
	count := 0
	for word := range strings.FieldsSeq(in.text) {
		if count++; count <= dim {
			words = append(words, word)
		}
	}
	point, err := in.point(landmark, words...)
	if err == nil && count != dim {
		err = text.Advise("write the coordinates of one landmark in each line, and no more",
			"landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(in.text))
	}
	return point, err
}
