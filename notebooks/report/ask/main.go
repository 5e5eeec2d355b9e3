// Ask answers the report maker, which is in Python, what Go knows. The answer is JSON on standard output; an error goes to standard error, with exit
// status 1.
//
//	ask facts NOTEBOOK...  what the code cells of notebooks say of themselves, and what is wrong with the answers on standard input
//	ask readers PATH       which readers may read a file or folder, the likeliest first
//	ask backend            with what computations run here
//	ask reference          the documentation of the packages
//	ask find WORD...       the functions and types that have these words, as Markdown for nb.Help
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	_ "github.com/gomlx/go-xla/compute/xla/autoinstall" // GOMLX_BACKEND=xla:cpu fetches GoMLX's own plug-in

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

func main() {
	answer, err := any(nil), fmt.Errorf("want facts, readers, backend, reference or find")
	if len(os.Args) > 1 {
		switch verb, args := os.Args[1], os.Args[2:]; verb {
		case "facts":
			answer, err = factsOf(args, os.Stdin)
		case "readers":
			answer, err = readersOf(args[0])
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

// readersOf returns the readers that may read the data of a path, the likeliest first. A folder may hold a landmark file per specimen; where
// study.Read finds something in it, meshes, .csv or a study, that is what it is for unless notebooks read landmarks alone.
func readersOf(path string) (_ []string, err error) {
	defer try.Catch(&err)
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // a file that is not there is told of when it is copied
		if mesh.Readable(path) {
			return []string{"mesh.Read"}, nil
		}
		return []string{"morpho.Read"}, nil
	}
	entries := try.Get(os.ReadDir(path))
	all := append(morpho.Extensions(), ".txt")
	var landmarks, own, meshes, others bool // files of landmarks; of such that nobody else writes; of meshes, outlines or a study; what is none of these
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		extension := strings.ToLower(filepath.Ext(e.Name()))
		if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil && info.IsDir() {
			extension = ""
		}
		is := slices.Contains(all, extension)
		landmarks, others = landmarks || is, others || !is
		own = own || is && !slices.Contains([]string{".csv", ".txt", ".json"}, extension)
		meshes = meshes || extension == ".csv" || extension == ".xml" || slices.Contains(mesh.Extensions(), extension)
	}
	var out []string
	if meshes || !own && others || !landmarks {
		out = append(out, "study.Read", "study.ReadEach")
	}
	if landmarks {
		out = append(out, "morpho.Read")
	}
	return out, nil
}
