// Command backend prints with what computations run here, as JSON: the plug-in, its PJRT version and the device; all
// are empty if XLA cannot be opened.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"anatomy/geom/engine"
)

type answer struct {
	Plugin string `json:"plugin"`
	PJRT   string `json:"pjrt"`
	Device string `json:"device"`
}

var (
	version = regexp.MustCompile(`\bv[\d.]+\b`)
	process = regexp.MustCompile(` \[processId=\d+\]$`)
)

func main() {
	a, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open() (a answer, err error) {
	b, err := engine.Backend()
	if err != nil {
		return a, err
	}
	a.PJRT = version.FindString(b.Description())
	a.Device = process.ReplaceAllString(fmt.Sprint(b.DeviceDescription(0)), "")
	if a.Plugin = os.Getenv("GOMLX_BACKEND"); a.Plugin == "" {
		a.Plugin, err = engine.FindPlugin()
	}
	return a, err
}
