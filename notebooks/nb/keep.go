package nb

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Keep returns what compute returns, and computes it once in the life of the notebook's kernel: a later cell that comes
// upon the same call reads the stored value instead. So a package-level variable of a notebook costs its time only once:
//
//	var fit = nb.Keep("fit", func() (Fit, error) { return regress(shapes, times) })
//
// The value is computed anew when the statement of the call, or any declaration of the notebook that it refers to, has
// changed since, or the environment of the library, or when what was stored is broken; what a cell has made once a computation was
// interrupted is not stored.
// Files that compute reads, and packages edited while the kernel runs, are not watched: restart the kernel.
// T is stored by encoding/gob, so all its struct fields are exported; an error of compute ends the cell like Must.
// Outside a notebook Keep calls compute.
func Keep[T any](key string, compute func() (T, error)) T {
	// GoNB makes a Go file of the cells in this folder, which ends with the kernel.
	source, line := caller(os.Getenv(protocol.GONB_TMP_DIR_ENV))
	if source == "" {
		return Must(compute())
	}
	v, err := keep(source, line, key, compute)
	if err != nil {
		fail("error: nb.Keep(%q): %v", key, err)
	}
	return v
}

// box lets gob store a nil pointer, too.
type box[T any] struct{ Value T }

// keep stores the value beside the source file that the call stands in.
func keep[T any](source string, line int, key string, compute func() (T, error)) (T, error) {
	var kept box[T]
	if err := storable(reflect.TypeFor[T](), map[reflect.Type]bool{}); err != nil {
		return kept.Value, err
	}
	print, err := fingerprint(source, line)
	if err != nil {
		return kept.Value, err
	}
	print += fmt.Sprintf(" %T %q", kept, environment())

	name := sha256.Sum256([]byte(key))
	stored := filepath.Join(filepath.Dir(source), "kept", hex.EncodeToString(name[:])+".gob")
	if load(stored, print, &kept) {
		return kept.Value, nil
	}
	kept = box[T]{} // of a file that broke off
	if kept.Value, err = compute(); err != nil || interrupted.Load() {
		return kept.Value, err
	}
	return kept.Value, store(stored, print, kept)
}

// environment lists the variables of the environment that decide what package nb, the library and its back end compute.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return !strings.HasPrefix(e, "ANATOMY_") && !strings.HasPrefix(e, "GOMLX_") && !strings.HasPrefix(e, "XLA_")
	})
}

// caller finds the innermost call from a file that lies in the folder.
func caller(folder string) (file string, line int) {
	if folder == "" {
		return "", 0
	}
	real, _ := filepath.EvalSymlinks(folder) // the compiler may have been given this name of it
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if dir := filepath.Dir(f.File); dir == filepath.Clean(folder) || dir == real {
			return f.File, f.Line
		}
	}
	return "", 0
}

// fingerprint hashes the statement at a line of a Go file with every declaration of the file that it depends on, a type with its
// methods; inside a function, with the statements before it that mention one of its names.
func fingerprint(source string, line int) (string, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, source, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	at := func(n ast.Node) bool {
		return set.Position(n.Pos()).Line <= line && line <= set.Position(n.End()).Line
	}

	var start ast.Node
	var before []ast.Stmt
	declared := map[string][]ast.Node{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = append(declared[d.Name.Name], d)
			if d.Recv != nil { // a method may be called through an interface: it belongs to its type
				receiver := identifiers(d.Recv.List[0].Type)[0]
				declared[receiver] = append(declared[receiver], d)
			}
			if !at(d) || d.Body == nil {
				continue
			}
			for i, s := range d.Body.List {
				if at(s) && start == nil {
					start, before = s, d.Body.List[:i]
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				var whole ast.Node = s
				if d.Tok == token.CONST { // iota and repeated values
					whole = d
				}
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						declared[n.Name] = append(declared[n.Name], whole)
					}
				case *ast.TypeSpec:
					declared[s.Name.Name] = append(declared[s.Name.Name], whole)
				case *ast.ImportSpec:
					continue
				}
				if at(s) && start == nil {
					start = s
				}
			}
		}
	}
	if start == nil {
		return "", fmt.Errorf("%s:%d: no statement there", source, line)
	}

	used := map[ast.Node]bool{}
	names := packages(file)
	hash := sha256.New()
	for queue := []ast.Node{start}; len(queue) > 0; {
		n := queue[0]
		queue = queue[1:]
		if used[n] {
			continue
		}
		used[n] = true
		hash.Write(text[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
		hash.Write([]byte{0})
		for _, name := range identifiers(n) {
			if names[name] {
				continue
			}
			names[name] = true
			if name != "main" {
				queue = append(queue, declared[name]...)
			}
			for _, s := range before {
				for _, other := range identifiers(s) {
					if other == name {
						queue = append(queue, s)
						break
					}
				}
			}
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// identifiers lists the names in a piece of source in their order.
func identifiers(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != "_" {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// packages lists the names of the imported packages, as far as the import paths tell them.
func packages(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, s := range file.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		base := path.Base(p)
		if version.MatchString(base) {
			base = path.Base(path.Dir(p))
		}
		if s.Name != nil {
			base = s.Name.Name
		}
		names[base] = true
	}
	return names
}

var version = regexp.MustCompile(`^v[0-9]+$`)

var (
	gobEncoder      = reflect.TypeFor[gob.GobEncoder]()
	binaryMarshaler = reflect.TypeFor[encoding.BinaryMarshaler]()
)

// storable reports a field that gob would drop in silence.
func storable(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] || t.Implements(gobEncoder) || t.Implements(binaryMarshaler) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		if p := reflect.PointerTo(t); p.Implements(gobEncoder) || p.Implements(binaryMarshaler) {
			return nil
		}
		for f := range t.Fields() {
			if !f.IsExported() {
				return fmt.Errorf("a value of type %v cannot be stored: its field %s is not exported; keep the parts that are needed later", t, f.Name)
			}
			if err := storable(f.Type, seen); err != nil {
				return err
			}
		}
	case reflect.Map:
		if err := storable(t.Key(), seen); err != nil {
			return err
		}
		return storable(t.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return storable(t.Elem(), seen)
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return fmt.Errorf("a value of type %v cannot be stored; keep the data it is made from", t)
	}
	return nil
}

// load reads a stored value into v, or says that there is none: none stored by this statement, or a broken one.
func load(file, print string, v any) (found bool) {
	content, err := os.ReadFile(file)
	if err != nil || len(content) < sha256.Size || sha256.Sum256(content[sha256.Size:]) != [sha256.Size]byte(content) {
		return false
	}
	dec := gob.NewDecoder(bytes.NewReader(content[sha256.Size:]))
	var stored string
	return dec.Decode(&stored) == nil && stored == print && dec.Decode(v) == nil
}

// store writes a value, behind its checksum.
func store(file, print string, v any) (err error) {
	var content bytes.Buffer
	enc := gob.NewEncoder(&content)
	if err := enc.Encode(print); err != nil {
		return err
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("the value cannot be stored: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content.Bytes())
	_, err = f.Write(append(sum[:], content.Bytes()...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
