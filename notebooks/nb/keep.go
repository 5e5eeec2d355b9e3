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
// The key stands for what compute takes from around it: in a function, or in a loop, a key that names none of what
// differs from call to call is refused where compute does.
// T is stored by encoding/gob, so all its struct fields are exported. Keep returns what later cells read of it, the first
// time, too; a note says where that is another value, such as nil for a pointer to 0, or that it could not be stored. An error of
// compute ends the cell like Must.
// Outside a notebook Keep calls compute.
func Keep[T any](key string, compute func() (T, error)) T {
	// GoNB makes a Go file of the cells in this folder, which ends with the kernel.
	source, line := caller(os.Getenv(protocol.GONB_TMP_DIR_ENV))
	if source == "" {
		return Must(compute())
	}
	v, note, err := keep(source, line, key, compute)
	if err != nil {
		fail("error: nb.Keep(%q): %v", key, err)
	}
	remark(note)
	return v
}

// remark writes a note below the cell, not into a report.
func remark(note string) {
	if note != "" && os.Getenv("ANATOMY_REPORT") == "" {
		fmt.Fprintln(os.Stderr, note)
	}
}

// box lets gob store a nil pointer, too.
type box[T any] struct{ Value T }

// keep stores the value beside the source file that the call stands in. The note says why later cells compute it again, or
// that they and this one have another value than compute returned.
func keep[T any](source string, line int, key string, compute func() (T, error)) (value T, note string, err error) {
	var kept, computed box[T]
	if err := storable(reflect.TypeFor[T](), map[reflect.Type]bool{}); err != nil {
		return value, "", err
	}
	print, err := fingerprint(source, line)
	if err != nil {
		return value, "", err
	}
	print += fmt.Sprintf(" %T %q", kept, environment())

	name := sha256.Sum256([]byte(key))
	stored := filepath.Join(filepath.Dir(source), "kept", hex.EncodeToString(name[:])+".gob")
	if load(stored, print, &kept) {
		return kept.Value, "", nil
	}
	if computed.Value, err = compute(); err != nil || interrupted.Load() {
		return computed.Value, "", err
	}
	again := func(err error) (T, string, error) {
		return computed.Value, fmt.Sprintf("note: each later cell computes nb.Keep(%q) again: %v", key, err), nil
	}
	if err := store(stored, print, computed); err != nil {
		return again(err)
	}
	kept = box[T]{} // of a file that broke off
	if !load(stored, print, &kept) {
		return again(errors.New("what was stored cannot be read"))
	}
	before, err := newDigest().storing(reflect.ValueOf(computed))
	if after, _ := newDigest().storing(reflect.ValueOf(kept)); err == nil && after != before {
		err = errors.New("it is not the same once it was stored")
	}
	if err != nil {
		note = fmt.Sprintf("note: nb.Keep(%q) is what encoding/gob makes of the value, here as in later cells: %v", key, err)
	}
	return kept.Value, note, nil
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
// methods; inside a function, with the statements before it that mention one of its names. It is an error if a call of Keep
// there is not told by its key from others at the same place.
func fingerprint(source string, line int) (string, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, source, text, 0)
	if err != nil {
		return "", err
	}
	if name := unkeyed(set, file, line); name != "" {
		return "", fmt.Errorf("it depends on %s, which may be another one each time that this line runs, and the key would be the same: "+
			"put a name of it, or what else tells it from the others, into the key", name)
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

// unkeyed names what a call of Keep at a line depends on, and its key does not, that may differ each time the line runs:
// an argument of a function around it, a variable that is set between two calls of this, what a loop around it declares or
// sets, or what is computed from these; or "".
func unkeyed(set *token.FileSet, file *ast.File, line int) (name string) {
	ast.PreorderStack(file, nil, func(n ast.Node, around []ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || name != "" || set.Position(call.Pos()).Line > line || line > set.Position(call.Lparen).Line {
			return true
		}
		if f := identifiers(call.Fun); !slices.Contains(f, "Keep") {
			return true
		}
		varying := map[*ast.Object]bool{}
		mentioned := func(n ast.Node) (name string) {
			ast.Inspect(n, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && varying[id.Obj] && name == "" {
					name = id.Name
				}
				return true
			})
			return name
		}
		function := func(n ast.Node, arguments ...*ast.FieldList) {
			for _, list := range arguments {
				if list == nil {
					continue
				}
				for _, f := range list.List {
					for _, id := range f.Names {
						varying[id.Obj] = true
					}
				}
			}
			// What is set again elsewhere may be set between two calls of the function.
			assignments(file, call, func(left *ast.Ident, _ []ast.Expr) {
				if o := left.Obj; o != nil && o.Pos() != left.Pos() && (o.Pos() < n.Pos() || o.Pos() > n.End()) {
					varying[o] = true
				}
			})
		}
		for _, n := range around {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name != "main" {
					function(n, n.Recv, n.Type.Params)
				}
			case *ast.FuncLit:
				function(n, n.Type.Params)
			case *ast.ForStmt, *ast.RangeStmt:
				assignments(n, call, func(left *ast.Ident, _ []ast.Expr) { varying[left.Obj] = true })
			}
		}
		delete(varying, nil) // of _
		for known := -1; known < len(varying); {
			known = len(varying)
			assignments(around[1], call, func(left *ast.Ident, right []ast.Expr) {
				if left.Obj != nil && slices.ContainsFunc(right, func(x ast.Expr) bool { return mentioned(x) != "" }) {
					varying[left.Obj] = true
				}
			})
		}
		if mentioned(call.Args[0]) == "" {
			name = mentioned(call.Args[1])
		}
		return true
	})
	return name
}

// assignments passes on every variable that a piece of source declares or sets, but for what is within a call, with what it is
// set to.
func assignments(n ast.Node, without *ast.CallExpr, set func(left *ast.Ident, right []ast.Expr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		var left, right []ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			return n != without
		case *ast.AssignStmt:
			left, right = n.Lhs, n.Rhs
		case *ast.IncDecStmt:
			left = []ast.Expr{n.X}
		case *ast.RangeStmt:
			left, right = []ast.Expr{n.Key, n.Value}, []ast.Expr{n.X}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				left = append(left, id)
			}
			right = n.Values
		}
		for _, x := range left {
			for x != nil {
				switch part := x.(type) {
				case *ast.Ident:
					set(part, right)
					x = nil
				case *ast.IndexExpr:
					x = part.X
				case *ast.SelectorExpr:
					x = part.X
				case *ast.StarExpr:
					x = part.X
				case *ast.ParenExpr:
					x = part.X
				default:
					x = nil
				}
			}
		}
		return true
	})
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
