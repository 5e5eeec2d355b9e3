package cell

import "regexp"

// hint is what to do about a message of the compiler, about what a line of a cell says, or about both: a text, in which groups of the line, or
// else of the message, are put in place of $1 and $2; or what find adds, if anything.
type hint struct {
	message, line *regexp.Regexp
	instead       string
	find          func(w *Workspace, message []string, line string) string
}

func writtenAs(message, line, instead string) hint {
	return hint{regexp.MustCompile(message), regexp.MustCompile(line), instead, nil}
}

func findBy(message string, find func(w *Workspace, message []string, line string) string) hint {
	return hint{regexp.MustCompile(message), regexp.MustCompile(""), "", find}
}

const (
	python = "start.md has more"
	syntax = `^expected|^syntax error|^unexpected|^illegal`
)

// hints are tried in this order.
var hints = []hint{
	findBy(undefined.String(), (*Workspace).lost),

	// What Python has.
	writtenAs("", `^\s*(?:import\s+(?:numpy|scipy)\b|from\s+(?:numpy|scipy)\b)`,
		"this is Go: floats and stat compute with []float64, mat with matrices, and need no import; "+python),
	writtenAs("", `^\s*(?:import\s+matplotlib|from\s+matplotlib)\b`,
		"this is Go: viz.Plot(x, y), viz.Scatter(x, y) and viz.Hist(x) draw, and need no import"),
	writtenAs("", `^\s*(?:import\s+pandas|from\s+pandas)\b`,
		"this is Go: nb.Table(\"my.csv\") reads a table, morpho.Read landmarks, and neither needs an import"),
	writtenAs("", `^\s*(?:import\s+[\pL_][\w.]*(?:\s+as\s+\w+)?|from\s+\S+\s+import\s.*)\s*$`,
		"this is Go: a package is imported where a cell names it, such as in math.Sqrt(2); `import \"math/rand/v2\"` chooses one of several"),
	writtenAs("", `^\s*def\s+(\w+)\s*\(`, "in Go `func $1(x float64) float64 { return 2 * x }`"),
	writtenAs("", `^\s*for\s+(\w+)\s+in\s+range\((.*)\)\s*:`, "in Go `for $1 := range $2 { … }`"),
	writtenAs("", `^\s*for\s+(\w+)\s*,\s*(\w+)\s+in\s+(?:enumerate\((.+?)\)|(.+?))\s*:`, "in Go `for $1, $2 := range $3$4 { … }`"),
	writtenAs("", `^\s*for\s+(\w+)\s+in\s+(.+?)\s*:`, "in Go `for _, $1 := range $2 { … }`"),
	writtenAs("", `^\s*while\s+(.+?)\s*:`, "in Go `for $1 { … }`"),
	writtenAs("", `\[.*\bfor\s+(\w+)\s+in\s+(.+?)(?:\s+if\b.*)?\]`,
		"in Go a loop: `for _, $1 := range $2 { ys = append(ys, $1) }`, with `var ys []float64` before it"),
	writtenAs(syntax, `(\w+|"[^"]*"|'[^']*')\s+(?:not\s+)?in\s+(\w+)`, "in Go `slices.Contains($2, $1)`, of a map `_, ok := $2[$1]`"),
	writtenAs(syntax, `^[^{]*\bif\b.*\belse\b[^{]*$`, "in Go `if x > 0 { y = 1 } else { y = 2 }`: no value depends on a condition"),
	writtenAs(syntax, `(\w+)\s+is\s+(?:not\s+)?None`, "in Go `$1 == nil` and `$1 != nil`"),
	writtenAs(syntax, `(\w+)\s+is\s+(?:not\s+)?(\w+)`, "in Go `$1 == $2` and `$1 != $2`"),
	writtenAs(syntax, `^\s*range\((.*)\)`, "in Go `for i := range $1 { … }`"),
	writtenAs(syntax, `^\s*raise\b`, "in Go a function returns an error: `return errors.New(\"why\")`"),
	writtenAs(syntax, `\[\s*\w+\s*\]\s*\*\s*(\w+)`, "in Go `make([]float64, $1)` has $1 zeros"),
	writtenAs(`^expected '\)', found ','`, "", "Go has no tuples: `x, y := 1, 2` makes two variables, `[]float64{1, 2}` a list"),
	writtenAs(`^expected '=='`, `\(.*[(,]?\s*\w+\s*=[^=].*\)`, "arguments have no names in Go: Shift-Tab within the brackets shows their order"),
	writtenAs(`^expected '=='`, `^\s*(\w+)\s*=\s*(\w+)\s*=`, "in Go `$1, $2 := 0, 0`"),
	writtenAs(`^too many return values`, "", "a cell is no function: its last expression is shown"),
	writtenAs(`^undefined: pass$`, "", "in Go an empty block is `{ }`"),
	writtenAs(`cannot be ordered`, `\b(?:max|min)\((\w+)\)`, "of a list in Go slices.Max($1), slices.Min($1)"),
	writtenAs(`^cannot index (\w+) \(variable of type \*nb\.Frame\)`, "", "columns of a table are $1.Numbers(\"name\") and $1.Texts(\"name\")"),
	writtenAs(`^(\w+)\.\w+ undefined \(.*, but does have (?:method|field) (\w+)\)$`,
		"", "in Go $1.$2: what other packages may use begins with a capital"),
	writtenAs(` undefined \(type \*nb\.Frame `, `(\w+)\.[a-z_]+\(`, "a table has $1.Numbers, $1.Texts, $1.Filter, $1.Group, $1.Head and $1.Len; "+
		"stat.Mean($1.Numbers(\"name\"), nil) is a mean"),
	writtenAs(`^(\w+)\.(\w+) undefined \(type \*nb\.Frame `, "", "columns of a table are $1.Numbers(\"$2\") and $1.Texts(\"$2\")"),
	writtenAs(`^invalid argument: (\w+) \(variable of type \*nb\.Frame\) for built-in len`, "", "$1.Len() is the number of rows"),
	writtenAs(`^cannot (?:use|index|range over) (\w+) \(variable of type \*morpho\.Dataset\)`, "",
		"$1.Shapes() are the shapes of its specimens, $1.Shape(\"name\") is one, and $1.Specimens[0].Points"),
	writtenAs(`^undefined: (?:quit|exit)$`, "", "the menu Kernel ends or restarts the notebook"),
	writtenAs(`^undefined: csv\.Read`, "", "nb.Table(\"my.csv\") reads a table"),
	writtenAs("", `^\s*(?:if|elif|else)\b[^{]*:[^={]*$`, "in Go a block stands in braces: `if x > 0 { … } else { … }`"),
	writtenAs("", `^\s*(?:try|except\b.*|finally|with\b.*)\s*:`,
		"in Go a function returns its error: `x := nb.Must(f())` ends the cell with it, `x, err := f()` keeps it"),
	writtenAs("", `^\s*class\s+(\w+)`, "in Go `type $1 struct { x float64 }`, and `func (s *$1) method() { … }`"),
	writtenAs("", `^\s*(?:assert)\s+(.+)`, "in a cell `nb.True(\"what is claimed\", $1)`"),
	writtenAs("", `^\s*del\s+(\w+)`, "the command `%rm $1` forgets a variable"),
	writtenAs("", `(?:^|[^.\pL_])type\((.+?)\)`, "in Go `fmt.Printf(\"%T\", $1)`; Shift-Tab on a name says its type"),
	writtenAs("", `(?:^|[^\pL\pN_])f["'](.*)["']`, "in Go `fmt.Sprintf(\"x = %.2f\", x)`: %v shows any value, %d an int, %s a text"),
	writtenAs(`^undefined: input$`, "", keyboard),
	writtenAs("", `^\s*(?:!?pip|!?conda)\s+install\b`, "a module of Go is added by `!*go get path@version`, after `%env GOPROXY=https://…`"),
	writtenAs(`^undefined: (?:np|linspace|arange)$`, `\b(?:linspace|arange)\(`,
		"floats.Span(make([]float64, 100), 0, 10) has 100 numbers from 0 to 10"),
	writtenAs(`^undefined: (?:np|numpy|scipy)$`, "", "floats and stat compute with []float64, mat with matrices; "+python),
	writtenAs(`^undefined: (?:plt|matplotlib|plot|scatter|hist)$`, "", "viz.Plot(x, y), viz.Scatter(x, y) and viz.Hist(x) draw"),
	writtenAs(`^undefined: (?:pd|pandas|read_csv)$`, "", "nb.Table(\"my.csv\") reads a table, morpho.Read landmarks"),
	writtenAs(`^undefined: True$`, "", "in Go `true`"),
	writtenAs(`^undefined: False$`, "", "in Go `false`"),
	writtenAs(`^undefined: None$`, "", "in Go `nil`"),
	writtenAs(`^undefined: (?:help|dir)$`, "", "%help says what cells can do, Shift-Tab what a name is, Tab what a package has"),
	writtenAs(`^undefined: (?:sqrt|exp|log|sin|cos|tan|floor|ceil|pi)$`, "", "in Go math.Sqrt(x), math.Log(x), math.Pi"),
	writtenAs(`^undefined: (?:sum|mean|std)$`, "", "of x []float64: floats.Sum(x), stat.Mean(x, nil), stat.StdDev(x, nil)"),
	writtenAs(`^undefined: (?:sorted|abs|round|enumerate|zip)$`, "", "in Go slices.Sort(x), math.Abs(x), math.Round(x), `for i, v := range x { … }`"),
	writtenAs(`^undefined: open$`, "", "in Go nb.Must(os.ReadFile(\"my.txt\")); nb.Table(\"my.csv\") reads a table"),
	writtenAs(`^undefined: (?:str|int|float|list|dict)$`, "", "in Go fmt.Sprint(x), int(x), float64(x), []float64{…}, map[string]float64{…}"),
	writtenAs(`\.append undefined`, `([\pL_]\w*)\.append\(`, "in Go `$1 = append($1, x)`"),
	writtenAs(`\.(?:mean|sum|std|min|max|shape) undefined \(type \[\]`, "",
		"of x []float64: stat.Mean(x, nil), floats.Sum(x), stat.StdDev(x, nil), slices.Min(x), len(x)"),
	writtenAs(`\.(?:sort|reverse|index|copy|insert|pop) undefined \(type \[\]`, "",
		"in Go slices.Sort(x), slices.Reverse(x), slices.Index(x, v), slices.Clone(x), slices.Insert(x, i, v), slices.Delete(x, i, i+1)"),
	writtenAs(`^cannot use (\w+) \(variable of type \[\]float64\) as float64 value in argument to (math\.\w+)`, "",
		"it takes one number: `for i, v := range $1 { y[i] = $2(v) }`, with `y := make([]float64, len($1))` before it"),
	writtenAs(`^not enough arguments in call to stat\.(?:Mean|StdDev|Variance|MeanStdDev)\b`,
		"", "nil as the last argument stands for equal weights"),
	writtenAs(`^not enough arguments in call to viz\.Histogram\b`, "", "viz.Hist(x) chooses the number of bars"),
	writtenAs(`^too many arguments in call to viz\.Scatter\b`, "", "colours come behind it: `.Color(viz.Vermilion)`, `.ColorBy(\"age\", z...)`"),
	writtenAs(`^cannot use (\w+) .*as string value in argument to .*\.ColorBy`,
		"", "it takes what the colours stand for, and the values: `.ColorBy(\"age\", $1...)`"),
	writtenAs(`undefined \(type (?:untyped )?string has no`, "", "functions of package strings take the text first: strings.ToUpper(s), "+
		"strings.Split(s, \",\"), strings.ReplaceAll(s, \"old\", \"new\"); fmt.Sprintf(\"%.2f\", x) formats"),
	writtenAs(`index -\d+ .*must not be negative`, `([\pL_]\w*)\[-1\]`, "in Go `$1[len($1)-1]`"),
	writtenAs(`index -\d+ .*must not be negative`, `([\pL_]\w*)\[-(\d+):\]`, "in Go `$1[len($1)-$2:]`"),
	writtenAs(`slice|index -\d+ .*must not be negative`, `([\pL_]\w*)\[:-(\d+)\]`, "in Go `$1[:len($1)-$2]`"),
	writtenAs(`^illegal types for operand: print`, "", "fmt.Println prints everything, and the last expression of a cell is shown"),
	writtenAs(`mismatched types \[\].* and |operator . not defined on .* \[\]|cannot convert \d+ \(untyped .*\) to type \[\]`, "",
		"Go computes with slices by functions: floats.AddConst(1, a), floats.Scale(2, a), floats.Add(a, b) and floats.Mul(a, b) change a"),
	writtenAs(`illegal rune literal|more than one character in rune literal|untyped rune constant`, `'([^']*)'`,
		"a text stands in double quotes: `\"$1\"`"),
	writtenAs(`^illegal character U\+0023 '#'`, "", "a comment begins with //"),
	writtenAs("", `\S\s*\*\*\s*\S`, "in Go `math.Pow(x, 2)`, or `x * x`"),
	writtenAs(syntax+`|^undefined: (?:and|or|not)$`, `\b(?:and|or|not)\b`, "in Go `&&`, `||` and `!`"),
	writtenAs(syntax, `\blambda\b`, "in Go `func(x float64) float64 { return 2 * x }`"),
	writtenAs(syntax, `(?:^|[=(,])\s*\[([^\]]+)\]\s*(?:$|[,)])`, "a list is `[]float64{$1}`"),
	writtenAs(syntax, `(?:^|[=(,])\s*\{\s*["']`, "a dictionary is `map[string]float64{\"a\": 1}`"),

	writtenAs(`invalid operation: .*mismatched types .*string|cannot convert .* to type string`,
		"", "fmt.Sprint(\"a\", 1) makes a text of several values"),

	writtenAs(`^cannot use "\w+" \(.*\) as color\.Color value`,
		"", "colours are viz.Blue, viz.Vermilion, viz.Green, …; viz.Plot takes words: viz.Plot(x, y, \"red\")"),

	writtenAs(` undefined \(type \*viz\.Layer has no`, `\.(?:[Tt]itle|[XxYy][Ll]abel|Size|NoAxes|EqualAxes|Log[XY]|Unit)\(`,
		"these are of a figure: `viz.Fig(viz.Plot(x, y)).Title(\"a\").XLabel(\"x\")`"),

	// Commands of IPython.
	writtenAs(`^no command %%?time`, "",
		"JupyterLab shows how long cells took with Settings, Notebook, \"Record timing\"; in Go `start := time.Now()`, and in the end `time.Since(start)`"),
	writtenAs(`^no command %who`, "", "%ls lists the variables, functions and types of the notebook"),
	writtenAs(`^no command %(?:pip|conda)`, "",
		"a module of Go is added by `!*go get path@version`, after `%env GOPROXY=https://…`; Python's packages are of no use to cells in Go"),
	writtenAs(`^no command %matplotlib`, "", "pictures need no command: viz.Plot(x, y) as the last line of a cell is shown"),
	writtenAs(`^no command`, "", "%help lists the commands"),

	// What Go says.
	findBy(`^undefined: (\w+)\.(\w+)$`, (*Workspace).misspelt),
	findBy(`^name (\w+) not exported by package (\w+)$`, func(w *Workspace, m []string, line string) string {
		return w.misspelt([]string{"", m[2], m[1]}, line)
	}),
	findBy(`^(\S+)\.(\w+) undefined \(type \*?(\w+)\.(\w+)(?:\[.*\])? has no field or method \w+\)$`, (*Workspace).misspelt),
	writtenAs(`^cannot .*?(\w[\w.]*) \((?:value|variable) of type func\(\) `, "", "it is called by $1()"),
	writtenAs(`^declared and not used: ([\pL_][\pL\pN_]*)$`, "",
		"Go wants what a function or block declares to be used: leave it out, or write `_ = $1`"),
	writtenAs(`^illegal character U\+003F '\?'`, "", "Shift-Tab says what a name is"),
	findBy(`^assignment mismatch: (\d) variables? but (.+) returns (\d) values$`, unlooked),
	writtenAs(`^multiple-value (.+?)\(.*\) \(value of type \([^,]*, (?:\w+ )?error\)\)`, "", "nb.Must($1(…)) takes the error"),
	findBy(undefined.String()+`|^package \S+ is not in std `, refused),
	findBy(undefined.String(), (*Workspace).notPackage),
}

// keyboard is what is said of a cell that would wait for a line of input for ever.
const keyboard = "a cell has no keyboard: write the value into the cell, such as `name := \"x\"`; the command %with_inputs asks for lines"
