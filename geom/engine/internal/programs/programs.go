// Package programs keeps what XLA compiles in files, so that a program that was compiled once, by whatever process, is read
// back in milliseconds. It stands between go-xla and a plug-in, whose compilation it replaces.
package programs

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "programs.h"
*/
import "C"

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// limit is how many bytes of programs are kept: of more, the ones not used for longest go.
const limit = 1 << 30

// What programs are kept in, and what they depend on beside themselves.
var (
	folder  string
	machine string
)

// Keep opens a plug-in for go-xla, which finds it by its path from then on, and keeps its programs in a folder.
func Keep(plugin, dir string) error {
	info, err := os.Stat(plugin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder = dir
	machine = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), os.Getenv("XLA_FLAGS"), processor())
	path := C.CString(plugin)
	defer C.free(unsafe.Pointer(path))
	var message *C.char
	api := C.anatomyWrap(path, &message)
	if api == nil {
		return fmt.Errorf("%s: %s", plugin, C.GoString(message))
	}
	prune()
	return pjrt.RegisterPreloadedPlugin(plugin, uintptr(api))
}

// processor is what the first processor of the machine can do: machine code of one may not run on another.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	var kept []string
	first, _, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(first) {
		if strings.HasPrefix(line, "model name") || strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

//export anatomyFind
func anatomyFind(code *C.char, codeSize C.size_t, options *C.char, optionsSize C.size_t, found **C.char, foundSize *C.size_t) *C.char {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d ", len(machine), machine, codeSize)
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(code)), codeSize))
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(options)), optionsSize))
	key := hex.EncodeToString(h.Sum(nil))
	path := filepath.Join(folder, key)
	if file, err := os.ReadFile(path); err == nil && len(file) > sha256.Size {
		sum, program := file[:sha256.Size], file[sha256.Size:]
		if want := sha256.Sum256(program); bytes.Equal(sum, want[:]) {
			*found, *foundSize = (*C.char)(C.CBytes(program)), C.size_t(len(program))
			now := time.Now()
			_ = os.Chtimes(path, now, now)
		}
	}
	return C.CString(key)
}

// A program that cannot be written is compiled again another time.
//
//export anatomyKeep
func anatomyKeep(key, program *C.char, size C.size_t) {
	content := unsafe.Slice((*byte)(unsafe.Pointer(program)), size)
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	sum := sha256.Sum256(content)
	_, err = f.Write(sum[:])
	if err == nil {
		_, err = f.Write(content)
	}
	if f.Close() == nil && err == nil {
		_ = os.Rename(f.Name(), filepath.Join(folder, C.GoString(key)))
	}
}

// prune removes what has not been used for longest where there is more than the limit, down to half of it.
func prune() {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	var files []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
			total += info.Size()
		}
	}
	if total <= limit {
		return
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, f := range files {
		if total <= limit/2 {
			return
		}
		if os.Remove(filepath.Join(folder, f.Name())) == nil {
			total -= f.Size()
		}
	}
}
