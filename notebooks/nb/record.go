package nb

import (
	"encoding/json"
	"errors"
	"os"
)

// A check is what a report records of Check and True; True has no numbers. They are texts, as JSON has neither NaN nor
// infinity.
type check struct {
	What string `json:"what"`
	Got  string `json:"got,omitempty"`
	Want string `json:"want,omitempty"`
	Tol  string `json:"tol,omitempty"`
	OK   bool   `json:"ok"`
}

// record appends a check, as a line of JSON, to the file that the environment variable ANATOMY_RECORD names: the runner of
// the reports learns from it what a cell has checked.
func record(c check) {
	path := os.Getenv("ANATOMY_RECORD")
	if path == "" {
		return
	}
	line, err := json.Marshal(c)
	if err != nil {
		fail("error: the record of a check: %v", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fail("error: the record of the checks: %v", err)
	}
}
