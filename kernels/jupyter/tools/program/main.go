// Command program makes a program of a notebook:
//
//	program ROOT NOTEBOOK [FILE]
//
// ROOT is the folder of the module anatomy. The program of x.ipynb is .anatomy/programs/x/main.go there; or FILE, as the kernel is to execute it.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"anatomy/kernels/jupyter/tools/cell"
)

func main() {
	if len(os.Args) < 3 || filepath.Ext(os.Args[2]) != ".ipynb" {
		fmt.Fprintln(os.Stderr, "which notebook: make program NOTEBOOK=notebooks/1-2_geodesics.ipynb")
		os.Exit(2)
	}
	name := strings.TrimSuffix(filepath.Base(os.Args[2]), ".ipynb")
	folder := filepath.Join(".anatomy", "programs", name)
	file := append(os.Args, filepath.Join(os.Args[1], folder, "main.go"))[3]
	if err := write(os.Args[1], os.Args[2], file, len(os.Args) > 3); err != nil {
		fmt.Fprintf(os.Stderr, "program: %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	fmt.Printf("go run ./%s\n", filepath.ToSlash(folder))
}

// cover is the tag of the cell whose picture stands for the notebook, with the number of its panel.
var cover = regexp.MustCompile(`^cover(?:-([1-9]))?$`)

func write(root, notebook, file string, kernel bool) error {
	text, err := os.ReadFile(notebook)
	if err != nil {
		return err
	}
	var read struct {
		Cells []struct {
			Type     string `json:"cell_type"`
			Source   lines
			Metadata struct{ Tags []string }
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	var cells []string
	for _, c := range read.Cells {
		if c.Type == "code" {
			source := string(c.Source)
			for _, tag := range c.Metadata.Tags {
				if m := cover.FindStringSubmatch(tag); kernel && m != nil { // see Show of viz
					source = "%env ANATOMY_COVER=" + cmp.Or(m[1], "1") + "\n" + source
				}
			}
			cells = append(cells, source)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	source, err := cell.NewWorkspace([]string{root}).Program(cells, kernel, func(source []byte) ([]byte, error) {
		if err := os.WriteFile(file, source, 0o666); err != nil {
			return nil, err
		}
		command := exec.Command("go", "list", "-export", "-gcflags=-e -l -dwarf=false", ".") // go build would link it
		command.Dir, command.Env = filepath.Dir(file), append(os.Environ(), "GOGC=400")
		output, err := command.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			return output, nil
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, source, 0o666)
}

// lines are the source of a cell: a text or a list of lines.
type lines string

func (l *lines) UnmarshalJSON(text []byte) error {
	var all []string
	if json.Unmarshal(text, &all) == nil {
		*l = lines(strings.Join(all, ""))
		return nil
	}
	return json.Unmarshal(text, (*string)(l))
}
