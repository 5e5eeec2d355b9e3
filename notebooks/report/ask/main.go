// Ask answers the report maker, which is in Python, what Go knows. The answer is JSON on standard output; an error goes to standard error, with exit
// status 1.
//
//	ask facts NOTEBOOK...  what the code cells of notebooks say of themselves
//	ask readers PATH       which readers may read a file or folder, the likeliest first
//	ask look < question    what the data of a reader and the values of parameters are worth, before anything is executed
//	ask backend            with what computations run here
//	ask reference          the documentation of the packages
//	ask find WORD...       the functions and types that have these words, as Markdown for nb.Help
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	_ "github.com/gomlx/go-xla/compute/xla/autoinstall" // GOMLX_BACKEND=xla:cpu fetches GoMLX's own plug-in

	"anatomy/geom/engine"
)

func main() {
	answer, err := any(nil), fmt.Errorf("want facts, readers, look, backend, reference or find")
	if len(os.Args) > 1 {
		switch verb, args := os.Args[1], os.Args[2:]; verb {
		case "facts":
			answer, err = factsOf(args)
		case "readers":
			answer, err = readersOf(args[0])
		case "look":
			answer, err = look(os.Stdin)
		case "backend":
			answer, err = backend(), nil
		case "reference":
			answer, err = documentation()
		case "find":
			answer, err = find(args)
		}
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// opened is the plug-in, its PJRT version and the device; all are empty if XLA cannot be opened.
type opened struct {
	Plugin string `json:"plugin"`
	PJRT   string `json:"pjrt"`
	Device string `json:"device"`
}

var (
	version = regexp.MustCompile(`\bv[\d.]+\b`)
	process = regexp.MustCompile(` \[processId=\d+\]`)
)

// backend opens XLA. Why it cannot goes to standard error, and reports are made without it.
func backend() (a opened) {
	b, err := engine.Backend()
	if err == nil {
		a.PJRT = version.FindString(b.Description())
		a.Device = process.ReplaceAllString(engine.Devices(), "")
		a.Plugin, err = engine.MachineCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return a
}
