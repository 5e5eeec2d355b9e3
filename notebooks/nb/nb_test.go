package nb

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a cell does is run in a process of its own, as GoNB does: the test program again, with the name of the case.
var cells = map[string]func(){
	"must":     func() { Printf("%d", Must(42, nil)) },
	"must err": func() { Must(0, errors.New("points.csv:3: landmark 7: NaN")) },
	"must2":    func() { a, b := Must2(1, "x", nil); Printf("%d %s", a, b) },
	"must2 err": func() {
		Must2(1, "x", errors.New("no plug-in"))
	},
	"check":          func() { Check("energy $H$", 1+1e-9, 1, 1e-8) },
	"check exact":    func() { Check("count", 39, 39, 0) },
	"check off":      func() { Check("energy $H$", 1.5, 1, 0.25) },
	"check NaN":      func() { Check("log", math.NaN(), 1, 1) },
	"check NaN want": func() { Check("log", 1, math.NaN(), 1) },
	"check NaN tol":  func() { Check("log", 1, 1, math.NaN()) },
	"check Inf":      func() { Check("log", math.Inf(1), math.Inf(1), 1) },
	"check Inf tol":  func() { Check("log", 1, 2, math.Inf(1)) },
	"check negative": func() { Check("log", 1, 1, -1) },
	"true":           func() { True("symmetric", true) },
	"true not":       func() { True("symmetric", false) },
}

// The same about one's own data: what is false is marked, and the cell goes on.
var ownCells = map[string]func(){
	"own check": func() {
		Check("count", 39, 39, 0)
		Check("energy $H$", 1.5, 1, 0.25)
		Check("log", math.NaN(), 1, 1)
		Printf("on")
	},
	"own true":     func() { True("symmetric", false); True("positive", true) },
	"own must err": func() { Must(0, errors.New("points.csv:3: landmark 7: NaN")); Printf("on") },
}

func TestMain(m *testing.M) {
	for _, group := range []map[string]func(){cells, ownCells} {
		if cell, ok := group[os.Getenv("NB_TEST_CELL")]; ok {
			cell()
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func TestCells(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ out, err string }{
		"must":           {out: "42\n"},
		"must err":       {err: "error: points.csv:3: landmark 7: NaN\n"},
		"must2":          {out: "1 x\n"},
		"must2 err":      {err: "error: no plug-in\n"},
		"check":          {out: "✓ energy $H$: got 1.000000001 (want 1 ± 1e-08)\n"},
		"check exact":    {out: "✓ count: got 39 (want 39 ± 0)\n"},
		"check off":      {err: "✗ energy $H$: got 1.5, want 1 ± 0.25, differs by 0.5\n"},
		"check NaN":      {err: "✗ log: got NaN, want 1 ± 1, differs by NaN\n"},
		"check NaN want": {err: "✗ log: got 1, want NaN ± 1, differs by NaN\n"},
		"check NaN tol":  {err: "✗ log: got 1, want 1 ± NaN, differs by 0\n"},
		"check Inf":      {err: "✗ log: got +Inf, want +Inf ± 1, differs by NaN\n"},
		"check Inf tol":  {err: "✗ log: got 1, want 2 ± +Inf, differs by 1\n"},
		"check negative": {err: "✗ log: got 1, want 1 ± -1, differs by 0\n"},
		"true":           {out: "✓ symmetric\n"},
		"true not":       {err: "✗ symmetric: not true\n"},

		"table shown":   {out: "specimen  sex  length  weight\na         F    1.5     10\nb         M    NA      20\nc         F    2.5     \nd         ?    3       40\n4 rows, 4 columns\n"},
		"table column":  {err: "error: no column \"Length\"; there are: specimen, sex, length, weight\n"},
		"table number":  {err: "error: line 2: specimen is \"a\", which is no number: correct it in the file, or take Texts(\"specimen\")\n"},
		"table missing": {err: "error: stat /nothing.csv: no such file or directory\n"},

		"display number":   {out: "0.25\n"},
		"display nothing":  {},
		"display no error": {out: "3\nx\n"},
		"display error":    {err: "error: no convergence\n"},
		"display String":   {out: "number 1\npointer to 2\npointer to 3\n<nil>\n"},
		"display fields":   {out: "{A:1 B:2}\n"},
		"display matrix":   {out: "[1 2]\n[3 4]\n"},
		"display long":     {out: strings.Repeat("é", longest) + "… (5 characters more)\n"},
		"display figure":   {out: "drawn\n1\n"},
		"display missing":  {err: "error: open nothing.csv: no such file or directory (in the folder " + folder + ")\n"},
		"must missing":     {err: "error: open /nothing.csv: no such file or directory\n"},
	} {
		var out, stderr strings.Builder
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "NB_TEST_CELL="+name)
		cmd.Stdout, cmd.Stderr = &out, &stderr
		err := cmd.Run()
		if out.String() != want.out || stderr.String() != want.err {
			t.Errorf("%s: printed %q and %q, want %q and %q", name, out.String(), stderr.String(), want.out, want.err)
		}
		if (err != nil) != (want.err != "") {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
}

func TestChecksOfOwnData(t *testing.T) {
	for name, want := range map[string]struct{ out, err, record string }{
		"own check": {
			out: "✓ count: got 39 (want 39 ± 0)\n✗ energy $H$: got 1.5, want 1 ± 0.25, differs by 0.5\n✗ log: got NaN, want 1 ± 1, differs by NaN\non\n",
			record: `{"what":"count","got":"39","want":"39","tol":"0","ok":true}` + "\n" +
				`{"what":"energy $H$","got":"1.5","want":"1","tol":"0.25","ok":false}` + "\n" +
				`{"what":"log","got":"NaN","want":"1","tol":"1","ok":false}` + "\n",
		},
		"own true": {
			out:    "✗ symmetric: not true\n✓ positive\n",
			record: `{"what":"symmetric","ok":false}` + "\n" + `{"what":"positive","ok":true}` + "\n",
		},
		"own must err": {err: "error: points.csv:3: landmark 7: NaN\n"},
	} {
		var out, stderr strings.Builder
		record := filepath.Join(t.TempDir(), "record")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "NB_TEST_CELL="+name, "ANATOMY_DATA=my.csv", "ANATOMY_RECORD="+record)
		cmd.Stdout, cmd.Stderr = &out, &stderr
		err := cmd.Run()
		recorded, _ := os.ReadFile(record)
		if out.String() != want.out || stderr.String() != want.err || string(recorded) != want.record {
			t.Errorf("%s: printed %q and %q, recorded %q, want %q, %q and %q", name, out.String(), stderr.String(), recorded, want.out, want.err, want.record)
		}
		if (err != nil) != (want.err != "") {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
}

func TestText(t *testing.T) {
	for data, want := range map[string]string{
		"Homo sapiens 12":           "Homo sapiens 12",
		`<img src="x" onerror=f()>`: `\<img src\=\"x\" onerror\=f\(\)\>`,
		"A$x$B":                     `A\$x\$B`,
		"a\n\n# b\t[c](d)":          `a  \# b \[c\]\(d\)`,
		"日本 🐭 é":                    "日本 🐭 é",
		"a\x00\x1b[31m\u202eb":      "a\uFFFD\uFFFD\\[31m\uFFFDb",
		"\xff":                      "\uFFFD",
	} {
		if got := Text(data); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
	// Within Printf: numbers stay numbers, so that they may stand in formulas.
	for _, c := range []struct{ got, want string }{
		{fmt.Sprintf("%s", data{"a_b"}), `a\_b`},
		{fmt.Sprintf("%5s|", data{"*"}), `    \*|`},
		{fmt.Sprintf("%v", data{errors.New("a<b>")}), `a\<b\>`},
		{fmt.Sprintf("%q", data{"$"}), `\"\$\"`},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
