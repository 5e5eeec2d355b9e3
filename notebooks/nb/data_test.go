package nb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type numbers []int

func (n numbers) Validate() error {
	if len(n) == 0 {
		return errors.New("no numbers")
	}
	return nil
}

// Remarks says what readNumbers would pass over.
func (n numbers) Remarks() []string { return []string{fmt.Sprint(len(n), " numbers")} }

func readNumbers(path string) (numbers, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out numbers
	for i, word := range strings.Fields(string(text)) {
		var n int
		if _, err := fmt.Sscan(word, &n); err != nil {
			return nil, fmt.Errorf("%s:%d: %q is no number", path, i+1, word)
		}
		out = append(out, n)
	}
	return out, nil
}

// The standard data are those without a file. Faulty files end the process: the test runs itself as the cell.
func TestData(t *testing.T) {
	if os.Getenv("NB_CELL") != "" {
		fmt.Println(Data(numbers{1, 2, 3}, readNumbers))
		os.Exit(0)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := dir + "/" + name
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		path, said string
		ok         bool
		recorded   string // for the report maker
	}{
		{"", "[1 2 3]", true, ""},
		{write("good", "7 8"), "[7 8]", true, `{"note":"2 numbers"}` + "\n"},
		{write("bad", "7\nx"), `bad:2: "x" is no number`, false, `{"refused":"` + dir + `/bad:2: \"x\" is no number"}` + "\n"},
		{write("empty", ""), "error: no numbers", false, `{"refused":"no numbers"}` + "\n"},
		{dir + "/none", "none: no such file", false, `{"refused":"open ` + dir + `/none: no such file or directory"}` + "\n"},
	} {
		cell, record := exec.Command(os.Args[0], "-test.run=^TestData$"), filepath.Join(t.TempDir(), "record")
		cell.Env = append(os.Environ(), "NB_CELL=1", "ANATOMY_DATA="+c.path, "ANATOMY_RECORD="+record)
		out, err := cell.CombinedOutput()
		if !strings.Contains(string(out), c.said) || (err == nil) != c.ok {
			t.Errorf("%q: %v, %s", c.path, err, out)
		}
		if recorded, _ := os.ReadFile(record); string(recorded) != c.recorded {
			t.Errorf("%q: recorded %q, want %q", c.path, recorded, c.recorded)
		}
	}
}

func TestParam(t *testing.T) {
	if os.Getenv("NB_CELL") != "" {
		fmt.Println(Param("sigma", 1.5), Param("modes", 3, 4, 5), Param("closed", false), Param("from", "a", "b", "the first"))
		os.Exit(0)
	}
	for _, c := range []struct {
		set, said string
		ok        bool
	}{
		{"", "1.5 3 false a", true},
		{`{"sigma": "2e-1", "modes": "4", "closed": "true", "from": "the first"}`, "0.2 4 true the first", true},
		{`{"modes": "3", "from": "a"}`, "1.5 3 false a", true}, // the standard values are allowed
		{`{"modes": "4.5"}`, "error: SET: modes=4.5: want a whole number", false},
		{`{"modes": "6"}`, `error: SET: modes=6: want one of "4", "5"`, false},
		{`{"sigma": "wide"}`, "error: SET: sigma=wide: want a number", false},
		{`{"from": "c"}`, `error: SET: from=c: want one of "b", "the first"`, false},
	} {
		cell := exec.Command(os.Args[0], "-test.run=^TestParam$")
		cell.Env = append(os.Environ(), "NB_CELL=1", "ANATOMY_SET="+c.set)
		out, err := cell.CombinedOutput()
		if !strings.Contains(string(out), c.said) || (err == nil) != c.ok {
			t.Errorf("%q: %v, %s", c.set, err, out)
		}
	}
}
