package nb

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

type named struct{ n int }

func (v named) String() string { return fmt.Sprintf("number %d", v.n) }

type byPointer struct{ n int }

func (v *byPointer) String() string { return fmt.Sprintf("pointer to %d", v.n) }

type drawn struct{}

func (drawn) Show() { fmt.Println("drawn") }

// The cells are run by TestCells.
func init() {
	for name, cell := range map[string]func(){
		"display number":  func() { Display(0.25) },
		"display nothing": func() { Display() },
		"display no error": func() {
			var err error
			Display(3, "x", err)
		},
		"display error":   func() { Display(3, errors.New("no convergence")) },
		"display String":  func() { Display(named{1}, byPointer{2}, &byPointer{3}, (*byPointer)(nil)) },
		"display fields":  func() { Display(struct{ A, B int }{1, 2}) },
		"display matrix":  func() { Display([][]float64{{1, 2}, {3, 4}}) },
		"display long":    func() { Display(strings.Repeat("é", longest+5)) },
		"display figure":  func() { Display(drawn{}, 1) },
		"display missing": func() { _, err := os.ReadFile("nothing.csv"); Display(err) },
		"must missing":    func() { Must(os.ReadFile("/nothing.csv")) },
	} {
		cells[name] = cell
	}
}
