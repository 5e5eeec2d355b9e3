//go:build unix

package viz

import (
	"context"
	"encoding/gob"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// In a notebook Show sends one picture of both types through the kernel's pipe and then waits until the kernel says
// that all has arrived. The test plays the kernel and runs itself as the cell.
func TestShowInNotebook(t *testing.T) {
	if gonbui.IsNotebook {
		Show(Outline(ring(8, 0, 0, 1, 1)))
		return
	}
	dir := t.TempDir()
	toKernel, toCell := filepath.Join(dir, "kernel"), filepath.Join(dir, "cell")
	for _, pipe := range []string{toKernel, toCell} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cell := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestShowInNotebook$")
	cell.Env = append(os.Environ(), protocol.GONB_PIPE_ENV+"="+toKernel, protocol.GONB_PIPE_BACK_ENV+"="+toCell)
	if err := cell.Start(); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(toKernel)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(toCell, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	messages := gob.NewDecoder(in)
	var picture, sync protocol.DisplayData
	if err := messages.Decode(&picture); err != nil {
		t.Fatal(err)
	}
	if len(picture.Data) != 3 || picture.Data[protocol.MIMEImagePNG] == nil || picture.Data[protocol.MIMEImageSVG] == nil || picture.Data[protocol.MIMETextPlain] == nil {
		t.Errorf("the cell sent %d types, want PNG, SVG and the text", len(picture.Data))
	}
	if err := messages.Decode(&sync); err != nil {
		t.Fatal(err)
	}
	request, ok := sync.Data[protocol.MIMECommValue].(protocol.CommValue)
	if !ok {
		t.Fatalf("the cell does not ask for arrival: %v", sync.Data)
	}
	answer := protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: request.Value}
	if err := gob.NewEncoder(out).Encode(&answer); err != nil {
		t.Fatal(err)
	}
	if err := cell.Wait(); err != nil {
		t.Error(err)
	}
}
