package nb

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// A Watch follows the computation of one top-level variable of a notebook, which GoNB would compute in every later cell
// again. The kernel writes the calls of Watched, Acting, First, Kept, Two and Three into the cells it compiles; nobody else
// does.
//
// What took longer than a moment is stored if nothing speaks against it: the value is the same after it was stored and
// read again, and the variables that it depends on hold the same before and after. It is read in later cells as long as
// the source that it depends on is the same (the kernel knows) and these variables hold the same. So a wrong value is
// never read: state that the kernel cannot see is hidden in closures of packages only.
type Watch struct {
	name, print, refused string
	deps                 []any
	before               string // of what deps point to
	begin                time.Time
}

// moment is the time that a variable may take in every cell.
const moment = 300 * time.Millisecond

// remembered is what the kernel reads of a variable: whether it is Kept, with its type as Go source and the packages of
// the type by the names they have there, or to be left alone.
type remembered struct {
	Print   string
	Kept    bool
	Type    string            `json:",omitempty"`
	Imports map[string]string `json:",omitempty"`
}

// acting is a pointer to a variable that functions may have come with which read or change what is outside of the program.
type acting struct {
	variable any
	why      string
}

// Acting stands among the deps of Watched for a pointer to a variable whose source reads or changes what is outside of the
// program: why says what it calls. Its value is compared like any other, but a function that it holds may do so again, unseen.
func Acting(variable any, why string) any { return acting{variable, why} }

// Watched begins to compute the variable: print stands for the source that it depends on, refused says why it must not be
// stored, or is empty, and deps are pointers to the variables that it depends on, or Acting.
func Watched(name, print, refused string, deps ...any) *Watch {
	w := &Watch{name: name, print: print, refused: refused, deps: deps}
	if refused == "" {
		w.before = w.held().sum()
	}
	w.begin = time.Now()
	return w
}

// held is the digest of what deps point to.
func (w *Watch) held() *digest {
	d := newDigest()
	for _, p := range w.deps {
		a, is := p.(acting)
		if is {
			p = a.variable
		}
		d.acts = a.why
		d.value(reflect.ValueOf(p).Elem())
	}
	if w.refused == "" {
		w.refused = d.refused
	}
	return d
}

// First takes the value that was computed since Watched returned.
func First[T any](w *Watch, v T) T {
	store := filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "kept", w.file())
	remark(remember(w, store, v, time.Since(w.begin)))
	return v
}

// Kept reads the stored value, or computes it if there is none for what it depends on now.
func Kept[T any](w *Watch, compute func() T) T {
	var kept box[T]
	if load(filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "kept", w.file())+".gob", w.key(kept), &kept) {
		return kept.Value
	}
	w.begin = time.Now()
	return First(w, compute())
}

func (w *Watch) file() string {
	sum := sha256.Sum256([]byte(w.name))
	return "variable-" + hex.EncodeToString(sum[:8])
}

func (w *Watch) key(kept any) string { return fmt.Sprintf("%s %s %T", w.print, w.before, kept) }

// remember stores v in a file of that name if it took more than a moment, and writes for the kernel what it did. The note
// says why not.
func remember[T any](w *Watch, file string, v T, took time.Duration) (note string) {
	if interrupted.Load() {
		return "" // the next cell computes it to its end
	}
	var again box[T]
	known := remembered{Print: w.print}
	if took >= moment {
		if p, ok := any(v).(tuple); ok && p.failed() {
			return "" // it may succeed the next time
		}
		err := w.store(file+".gob", box[T]{v}, &again, took)
		if err == nil {
			names := typeNames{}
			known.Type, err = names.of(reflect.TypeFor[T]())
			known.Kept, known.Imports = err == nil, names
		}
		if err != nil && !errors.Is(err, errSlow) {
			note = fmt.Sprintf("note: %s took %.1f s, and each later cell computes it again: %v", w.name, took.Seconds(), err)
		}
	} else if took > moment/2 {
		return "" // on a busy day it may be more
	}
	text, err := json.Marshal(known)
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = os.WriteFile(file+".json", text, 0o600)
		}
	}
	if err != nil {
		return fmt.Sprintf("note: %s is computed again in each later cell: %v", w.name, err)
	}
	return note
}

var errSlow = errors.New("to read it takes as long as to compute it")

// store writes v and reads it again, or says why it must not be read.
func (w *Watch) store(file string, v, again any, took time.Duration) error {
	if w.refused != "" {
		return errors.New(w.refused)
	}
	d := w.held()
	if d.sum() != w.before {
		return errors.New("meanwhile another variable has changed")
	}
	sum, err := d.storing(reflect.ValueOf(v))
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := gob.NewEncoder(&content).Encode(v); err != nil {
		return fmt.Errorf("a value of type %v cannot be stored: %w", reflect.TypeOf(v).Field(0).Type, err)
	}
	size, begin := content.Len(), time.Now()
	err = gob.NewDecoder(&content).Decode(again)
	if read, _ := newDigest().storing(reflect.ValueOf(again).Elem()); err != nil || read != sum {
		return fmt.Errorf("a value of type %v is not the same once it was stored", reflect.TypeOf(v).Field(0).Type)
	}
	if size > 1<<20 && time.Since(begin) > took/2 { // what is smaller waits for the machine only
		return errSlow
	}
	return store(file, w.key(v), v)
}

// tuple is what stands for several results.
type tuple interface{ failed() bool }

// Couple stands for two results, Triple for three.
type Couple[A, B any] struct {
	A A
	B B
}

// Triple: see Couple.
type Triple[A, B, C any] struct {
	A A
	B B
	C C
}

// Two takes the results of a function; Values returns them.
func Two[A, B any](a A, b B) Couple[A, B] { return Couple[A, B]{a, b} }

// Three is Two for three results.
func Three[A, B, C any](a A, b B, c C) Triple[A, B, C] { return Triple[A, B, C]{a, b, c} }

// Values returns both.
func (c Couple[A, B]) Values() (A, B) { return c.A, c.B }

// Values returns all three.
func (t Triple[A, B, C]) Values() (A, B, C) { return t.A, t.B, t.C }

func (c Couple[A, B]) failed() bool    { return isError(c.B) }
func (t Triple[A, B, C]) failed() bool { return isError(t.C) }

func isError(v any) bool {
	_, is := v.(error)
	return is
}

// typeNames writes types as Go source; it holds the packages of the types by the names that they have there.
type typeNames map[string]string

var qualified = regexp.MustCompile(`[\w./~-]+\.\w+`)

func (names typeNames) of(t reflect.Type) (string, error) {
	if t.Name() == "" {
		var before string
		switch t.Kind() {
		case reflect.Pointer:
			before = "*"
		case reflect.Slice:
			before = "[]"
		case reflect.Array:
			before = fmt.Sprintf("[%d]", t.Len())
		case reflect.Map:
			key, err := names.of(t.Key())
			if err != nil {
				return "", err
			}
			before = "map[" + key + "]"
		default:
			return "", fmt.Errorf("a cell cannot name its type, %v", t)
		}
		element, err := names.of(t.Elem())
		return before + element, err
	}
	if t.PkgPath() == "" {
		return t.Name(), nil
	}
	var err error
	// The arguments of a generic type stand in its name, with the paths of their packages.
	return qualified.ReplaceAllStringFunc(t.PkgPath()+"."+t.Name(), func(s string) string {
		dot := strings.LastIndexByte(s, '.')
		path, name := s[:dot], s[dot+1:]
		if path == "main" {
			return name
		}
		if c := name[0]; c < 'A' || c > 'Z' || strings.Contains("/"+path+"/", "/internal/") {
			err = fmt.Errorf("a cell cannot name its type, %v", t)
		}
		sum := sha256.Sum256([]byte(path))
		alias := "nb_" + hex.EncodeToString(sum[:4])
		names[alias] = path
		return alias + "." + name
	}), err
}
