package nb

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
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

// Cell begins the cell of that number, where a notebook is executed as one program: it marks the place in all that the cells show, print and
// check. The kernel writes the calls.
func Cell(number int) {
	progress.end()
	fmt.Printf("\x00cell %d\n", number)
	gonbui.SendData(&protocol.DisplayData{Data: map[protocol.MIMEType]any{"application/vnd.anatomy.cell": fmt.Sprint(number)}})
	gonbui.Sync()
	record(map[string]int{"cell": number})
}

// record appends a check, as a line of JSON, to the file that the environment variable ANATOMY_RECORD names: the runner of
// the reports learns from it what a cell has checked.
func record(c any) {
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
