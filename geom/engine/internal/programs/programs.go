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
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"

	"anatomy/geom/engine/trusted"
)

// limit is how many bytes of programs are kept: of more, the ones not used for longest go.
const limit = 1 << 30

// mark begins every file written here; after it come the SHA-256 of key and program together, and the program.
const mark = "A program compiled by XLA, kept by anatomy.\n"

// What programs are kept in, and what they depend on beside themselves. Without a device none are kept.
var (
	folder          *os.Root
	machine, device string
)

// On says on which device the programs run: from then on they are kept.
func On(description string) { device = description }

// Keep opens a plug-in for go-xla, which finds it by its path from then on, and keeps its programs, once On has named the device, in a folder
// below dir that is this user's alone. The error is trusted.ErrUnsafe where somebody else could put machine code there.
func Keep(plugin, dir string) error {
	info, err := os.Stat(plugin)
	if err != nil {
		return err
	}
	if folder, err = open(filepath.Join(dir, fmt.Sprintf("anatomy-programs-%d", os.Geteuid()))); err != nil {
		return err
	}
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

// open makes the folder where there is none and opens it for good: whatever happens to its path, the one that was checked
// stays in use.
func open(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !(os.SameFile(named, opened) && trusted.Alone(opened)) { // not the same: a link
		err = fmt.Errorf("%s must be a folder of this user that nobody else can write to: %w", dir, trusted.ErrUnsafe)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
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

// keyOf is the key of a program with its options, "" where none are kept.
func keyOf(code, options []byte) string {
	if device == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d ", machine, device, len(code))
	h.Write(code)
	h.Write(options)
	return hex.EncodeToString(h.Sum(nil))
}

// GPUFlag tells XLA to find the tiles of fusions in another way: with the default one the compiler of jax-cuda13-pjrt 0.10.2 ends the process at some
// programs in which a concatenation is part of a fusion, "Mismatched dimension sizes".
const GPUFlag = "--xla_gpu_experimental_enable_tiling_propagation=true"

// Recorded is the environment variable that names a folder in which each program that is compiled, or was kept, is also written as text,
// HASH.mlir. HASH.calls beside it has a byte for each call.
const Recorded = "ANATOMY_RECORD_PROGRAMS"

var recorded atomic.Value // where the calls of the program that was compiled last are recorded

// Recording is what is to be called at each call of the program that was just compiled: nil where programs are not recorded.
func Recording() func() {
	file, ok := recorded.Load().(string)
	if !ok || os.Getenv(Recorded) == "" {
		return nil
	}
	return func() {
		if f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.Write([]byte{'\n'})
			f.Close()
		}
	}
}

//export anatomyFind
func anatomyFind(code *C.char, codeSize C.size_t, options *C.char, optionsSize C.size_t, found **C.char, foundSize *C.size_t) *C.char {
	text := unsafe.Slice((*byte)(unsafe.Pointer(code)), codeSize)
	if dir := os.Getenv(Recorded); dir != "" {
		file := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(text)))
		if err := os.WriteFile(file+".mlir", text, 0o600); err != nil {
			slog.Warn("A program was not recorded.", "folder", dir, "why", err)
		}
		recorded.Store(file + ".calls")
	}
	key := keyOf(text, unsafe.Slice((*byte)(unsafe.Pointer(options)), optionsSize))
	if key == "" {
		return nil
	}
	if program := read(key); program != nil {
		*found, *foundSize = (*C.char)(C.CBytes(program)), C.size_t(len(program))
	}
	return C.CString(key)
}

//export anatomyKeep
func anatomyKeep(key, program *C.char, size C.size_t) {
	write(C.GoString(key), unsafe.Slice((*byte)(unsafe.Pointer(program)), size))
}

// read returns the program that was kept under a key, or nil.
func read(key string) []byte {
	f := kept(key)
	if f == nil {
		return nil
	}
	defer f.Close()
	file, err := io.ReadAll(f)
	if err != nil || len(file) <= len(mark)+sha256.Size {
		return nil
	}
	program := file[len(mark)+sha256.Size:]
	if !bytes.HasPrefix(file, head(key, program)) {
		return nil
	}
	now := time.Now()
	_ = folder.Chtimes(key, now, now)
	return program
}

// head is what stands before a program in its file.
func head(key string, program []byte) []byte {
	h := sha256.New()
	h.Write([]byte(key))
	h.Write(program)
	return h.Sum([]byte(mark))
}

// kept opens a file that was written here: a regular one of this user's, whole or damaged. Of any other it returns nil.
func kept(name string) *os.File {
	f, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // an open pipe would wait for a writer
	if err != nil {
		return nil
	}
	start := make([]byte, len(mark))
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && trusted.Alone(info) {
		if n, _ := f.ReadAt(start, 0); n == 0 || string(start) == mark { // an empty one is what a crash left
			return f
		}
	}
	f.Close()
	return nil
}

func ours(name string) bool {
	f := kept(name)
	if f == nil {
		return false
	}
	f.Close()
	return true
}

// write keeps a program under its key, where no file stands that is not ours. One that cannot be written is compiled again
// another time.
func write(key string, program []byte) {
	if _, err := folder.Lstat(key); err == nil && !ours(key) {
		return
	}
	name := unfinished + rand.Text()
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, err = f.Write(append(head(key, program), program...))
	if f.Close() != nil || err != nil || folder.Rename(name, key) != nil {
		_ = folder.Remove(name)
	}
	if written.Add(int64(len(program))) > limit/4 {
		written.Store(0)
		prune()
	}
}

// written counts the bytes since this process last looked whether there are too many.
var written atomic.Int64

// unfinished begins the names of files that are being written; all others are named by keys.
const unfinished = "new-"

// prune removes what has not been used for longest where there is more than the limit, down to half of it. Files that are
// not ours neither count nor go.
func prune() {
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range entries {
		_, notHex := hex.DecodeString(e.Name())
		isKey := len(e.Name()) == 2*sha256.Size && notHex == nil
		if info, err := e.Info(); err == nil && (isKey || strings.HasPrefix(e.Name(), unfinished)) {
			files = append(files, info)
		}
	}
	if size(files) <= limit {
		return
	}
	files = slices.DeleteFunc(files, func(f os.FileInfo) bool { return !ours(f.Name()) })
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for size(files) > limit/2 {
		last := len(files) - 1
		_ = folder.Remove(files[last].Name())
		files = files[:last]
	}
}

func size(files []os.FileInfo) (total int64) {
	for _, f := range files {
		total += f.Size()
	}
	return total
}
