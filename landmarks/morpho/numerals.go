package morpho

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// parseCoordinate reads a number; a blank, NA and NaN are a missing coordinate.
func parseCoordinate(word string) (float64, error) {
	word = strings.TrimSpace(word)
	switch strings.ToLower(word) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := text.Number(word)
	switch {
	case math.IsInf(v, 0):
		return 0, text.Advise("write a number, or NA if it is missing", "%s is infinite", text.Clip(word))
	case err != nil && strings.Contains(word, ","):
		return 0, text.Advise("use a decimal point", "%w", err)
	case err != nil:
		return 0, text.Advise("write a number, or NA if it is missing", "%w", err)
	}
	return v, nil
}

// formatCoordinate is the shortest text that parseCoordinate reads back to the same float64.
func formatCoordinate(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// numerals reads the numbers of a file, in which a comma may be that of a decimal number, as in 2,5.
type numerals struct {
	plain          bool    // commas part columns: none is in a number
	commas, points numeral // the first number with a comma, and with a point, in it
	decimal        bool    // some number shows that commas are not those of thousands
}

// numeral is a number as it stands in a line.
type numeral struct {
	text string
	line int
}

// decimalComma matches a number with one comma, and parts it there.
var decimalComma = regexp.MustCompile(`^[-+]?(\d+),(\d+)(?:[eE][-+]?\d+)?$`)

// coordinate is parseCoordinate, where commas may be those of decimal numbers: see decimals.
func (n *numerals) coordinate(word string, line int) (float64, error) {
	if n.plain {
		return parseCoordinate(word)
	}
	word = strings.TrimSpace(word)
	if m := decimalComma.FindStringSubmatch(word); strings.Contains(word, ",") && m != nil {
		if n.commas.line == 0 {
			n.commas = numeral{word, line}
		}
		n.decimal = n.decimal || len(m[2]) != 3 || len(m[1]) > 3 || m[1][0] == '0'
		return parseCoordinate(strings.Replace(word, ",", ".", 1))
	}
	v, err := parseCoordinate(word)
	if err == nil && strings.Contains(word, ".") && n.points.line == 0 {
		n.points = numeral{word, line}
	}
	n.decimal = n.decimal || err == nil && math.Abs(v) >= 1000 && !strings.Contains(word, ".") // of thousands it would have a comma
	return v, err
}

// decimals ends a read if commas of a file may not be those of decimal numbers.
func (n *numerals) decimals(file string) {
	switch {
	case n.commas.line == 0:
	case n.points.line > 0:
		refuseAt(file, n.commas.line, "use decimal points throughout", "%s, but %s in line %d", n.commas.text, n.points.text, n.points.line)
	case !n.decimal:
		refuseAt(file, n.commas.line, "use decimal points", "%s may be %s or %s, and no number of the file tells which",
			n.commas.text, strings.Replace(n.commas.text, ",", ".", 1), strings.Replace(n.commas.text, ",", "", 1))
	}
}

// coordinates reads the dim coordinates of a landmark, separated by spaces or tabs, from the current line.
func (l *lineReader) coordinates(landmark, dim int) ([]float64, error) {
	l.Spend(input.Coordinates, dim)
	var words []string
	count := 0
	for word := range strings.FieldsSeq(l.text) {
		if count++; count <= dim {
			words = append(words, word)
		}
	}
	point, err := l.point(landmark, words, l.Number)
	if err == nil && count != dim {
		err = text.Advise("write the coordinates of one landmark in each line, and no more",
			"landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(l.text))
	}
	return point, err
}

// plainPoint reads the coordinates of a landmark, with decimal points.
func plainPoint(landmark int, words []string) ([]float64, error) {
	return (&numerals{plain: true}).point(landmark, words, 0)
}

// point reads the coordinates of a landmark.
func (n *numerals) point(landmark int, words []string, line int) (point []float64, err error) {
	point = make([]float64, len(words))
	for c, word := range words {
		if point[c], err = n.coordinate(word, line); err != nil {
			return nil, fmt.Errorf("landmark %d: %s = %w", landmark, axis(c), err)
		}
	}
	return point, nil
}
