package cell

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// habit is what is written in Python, by the compiler's message or by the line that it is about or by both, and what Go has instead. Groups
// of the line, or else of the message, are put in place of $1 and $2.
type habit struct {
	message, line *regexp.Regexp
	instead       string
}

func writtenAs(message, line, instead string) habit {
	h := habit{instead: instead}
	if message != "" {
		h.message = regexp.MustCompile(message)
	}
	if line != "" {
		h.line = regexp.MustCompile(line)
	}
	return h
}

const python = "start.md has more"

// habits are tried in this order.
var habits = []habit{
	writtenAs("", `^\s*(?:import\s+(?:numpy|scipy)\b|from\s+(?:numpy|scipy)\b)`,
		"this is Go: floats and stat compute with []float64, mat with matrices, and need no import; "+python),
	writtenAs("", `^\s*(?:import\s+matplotlib|from\s+matplotlib)\b`, "this is Go: viz draws, such as viz.Fig(viz.Lines(line)), and needs no import"),
	writtenAs("", `^\s*(?:import\s+pandas|from\s+pandas)\b`, "this is Go: morpho.Read reads landmarks with their table, and needs no import"),
	writtenAs("", `^\s*(?:import\s+[\pL_][\w.]*(?:\s+as\s+\w+)?|from\s+\S+\s+import\s.*)\s*$`,
		"this is Go: a package is imported where a cell names it, such as in math.Sqrt(2); `import \"math/rand/v2\"` chooses one of several"),
	writtenAs("", `^\s*def\s+(\w+)\s*\(`, "in Go `func $1(x float64) float64 { return 2 * x }`"),
	writtenAs("", `^\s*for\s+(\w+)\s+in\s+range\((.*)\)\s*:`, "in Go `for $1 := range $2 { … }`"),
	writtenAs("", `^\s*for\s+(\w+)\s+in\s+(.+?)\s*:`, "in Go `for _, $1 := range $2 { … }`"),
	writtenAs("", `^\s*while\s+(.+?)\s*:`, "in Go `for $1 { … }`"),
	writtenAs("", `^\s*(if|elif|else)\b(.*?)\s*:\s*$`, "in Go a block stands in braces: `if x > 0 { … } else { … }`"),
	writtenAs("", `^\s*(?:!?pip|!?conda)\s+install\b`, "a module of Go is added by `!*go get path@version`, after `%env GOPROXY=https://…`"),
	writtenAs(`^undefined: (?:np|numpy|scipy)$`, "", "floats and stat compute with []float64, mat with matrices; "+python),
	writtenAs(`^undefined: (?:plt|matplotlib)$`, "", "viz draws, such as viz.Fig(viz.Lines(line))"),
	writtenAs(`^undefined: (?:pd|pandas)$`, "", "morpho.Read reads landmarks with their table"),
	writtenAs(`^undefined: True$`, "", "in Go `true`"),
	writtenAs(`^undefined: False$`, "", "in Go `false`"),
	writtenAs(`^undefined: None$`, "", "in Go `nil`"),
	writtenAs(`^undefined: (?:help|dir)$`, "", "Shift-Tab says what a name is, Tab what a package has"),
	writtenAs(`^undefined: (sum|mean|std|var)$`, "", "of x []float64: floats.Sum(x), stat.Mean(x, nil), stat.StdDev(x, nil)"),
	writtenAs(`^undefined: (str|int|float|list|dict)$`, "", "in Go fmt.Sprint(x), int(x), float64(x), []float64{…}, map[string]float64{…}"),
	writtenAs(`\.append undefined`, `([\pL_]\w*)\.append\(`, "in Go `$1 = append($1, x)`"),
	writtenAs(`\.(?:mean|sum|std|min|max|shape) undefined \(type \[\]`, "", "of x []float64: stat.Mean(x, nil), floats.Sum(x), stat.StdDev(x, nil), slices.Min(x), len(x)"),
	writtenAs(`index -\d+ .*must not be negative`, `([\pL_]\w*)\[-1\]`, "in Go `$1[len($1)-1]`"),
	writtenAs(`slice|index -\d+ .*must not be negative`, `([\pL_]\w*)\[:-(\d+)\]`, "in Go `$1[:len($1)-$2]`"),
	writtenAs(`^illegal types for operand: print`, "", "fmt.Println prints everything, and the last expression of a cell is shown"),
	writtenAs(`mismatched types \[\].* and |operator . not defined on .* \[\]|cannot convert \d+ \(untyped .*\) to type \[\]`, "",
		"Go computes with slices by functions: floats.AddConst(1, a), floats.Scale(2, a), floats.Add(a, b) and floats.Mul(a, b) change a"),
	writtenAs(`illegal rune literal|more than one character in rune literal`, `'([^']*)'`, "a text stands in double quotes: `\"$1\"`"),
	writtenAs(`^illegal character U\+0023 '#'`, "", "a comment begins with //"),
	writtenAs("", `\S\s*\*\*\s*\S`, "in Go `math.Pow(x, 2)`, or `x * x`"),
	writtenAs(`^expected|^syntax error|^unexpected|^undefined: (?:and|or|not)$`, `\b(?:and|or|not)\b`, "in Go `&&`, `||` and `!`"),
	writtenAs(`^expected|^syntax error|^unexpected`, `\blambda\b`, "in Go `func(x float64) float64 { return 2 * x }`"),
	writtenAs(`^expected|^syntax error|^unexpected`, `(?:^|[=(,])\s*\[([^\]]+)\]\s*(?:$|[,)])`, "a list is `[]float64{$1}`"),
	writtenAs(`^expected|^syntax error|^unexpected`, `(?:^|[=(,])\s*\{\s*["']`, "a dictionary is `map[string]float64{\"a\": 1}`"),
	writtenAs(`invalid operation: .*mismatched types .*string|cannot convert .* to type string`, "", "fmt.Sprint(\"a\", 1) makes a text of several values"),
}

// Habit adds to a message of the compiler about a line of a cell what Go has instead, where that is written as in Python.
func (w *Workspace) Habit(message string, id, line int) string {
	w.mu.Lock()
	text := ""
	if lines := w.cells[id]; line >= 0 && line < len(lines) {
		text = lines[line]
	}
	w.mu.Unlock()
	for _, h := range habits {
		var said, here []int
		if h.message != nil {
			if said = h.message.FindStringSubmatchIndex(message); said == nil {
				continue
			}
		}
		if h.line != nil {
			if here = h.line.FindStringSubmatchIndex(text); here == nil {
				continue
			}
			return message + ": " + string(h.line.ExpandString(nil, h.instead, text, here))
		}
		return message + ": " + string(h.message.ExpandString(nil, h.instead, message, said))
	}
	if m := undefined.FindStringSubmatch(message); m != nil && strings.Contains(text, m[1]+".") {
		if name := closest(m[1], w.packages()); name != "" {
			return fmt.Sprintf("%s (did you mean %s?)", message, name)
		}
		return message + ": no variable and no package has this name; packages of Go, of this project and of the modules that it uses are " +
			"found by their names, others after `!*go get path@version`"
	}
	return message
}

// packages lists the names of the packages of the workspace.
func (w *Workspace) packages() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	return append(slices.Collect(maps.Keys(w.own)), slices.Collect(maps.Keys(w.used))...)
}
