package nb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/try"
	"anatomy/geom/watch"
	opened "anatomy/internal/input"
	"anatomy/internal/lists"
)

// The kernel writes the calls of Begin, Load, Make, Input, Bind, By, Set, Var, Type and End into the cells that it compiles;
// nobody else calls them. Every cell is a program of its own. What its variables hold in the end is written to files of the
// kernel's folder, and read where a later cell names them. A value that holds functions or compiled programs lives on by the
// statement that made it, which is run again with the values that it had then.

// index is what the kernel reads: the variables of the notebook, by name, and how those are made that are no data.
type index struct {
	Variables map[string]*entry
	Recipes   map[string]*recipe
}

// entry is a variable: its value is in File, together with those of the Group, or made by Recipe; or Why says why it is neither.
type entry struct {
	Cell    int
	Type    string
	Imports map[string]string `json:",omitempty"` // packages of the types, by the names that they have there
	File    string            `json:",omitempty"`
	Group   []string          `json:",omitempty"`
	Members []string          `json:",omitempty"` // types of the Group
	Types   []string          `json:",omitempty"` // of the values in interfaces
	Recipe  string            `json:",omitempty"`
	Reads   map[string]string `json:",omitempty"` // what functions of the recipe read: variables, and what they held
	Why     string            `json:",omitempty"`
}

// holds stands for the value of a variable.
func (e *entry) holds() string { return cmp.Or(e.File, e.Recipe) }

// recipe is a statement that makes a variable, with what it is made from.
type recipe struct {
	Name, Type, Source string
	Imports            map[string]string
	Inputs             []input
}

// input is a variable of a recipe, with its value or a recipe of its own.
type input struct {
	Name, Type string
	File       string   `json:",omitempty"`
	Types      []string `json:",omitempty"`
	Recipe     string   `json:",omitempty"`
}

// Variable is a variable of a cell.
type Variable struct{ root }

// Var is the variable of that name.
func Var[T any](name string, v *T) Variable {
	return Variable{root{name, reflect.TypeFor[T](), unsafe.Pointer(v)}}
}

// Type is a type that values have in interfaces.
func Type[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Types lists types.
func Types(all ...reflect.Type) []reflect.Type { return all }

// Made is how a statement gives variables their values.
type Made struct {
	source  string
	imports map[string]string
	reads   []string
	inputs  []Variable
}

// By describes a statement: its source, which names packages by the names in imports, such as "nb_1 a/b, nb_2 c", the
// variables that the functions read that it calls, and those that it names.
func By(source, imports, reads string, inputs ...Variable) Made {
	m := Made{source, map[string]string{}, strings.Fields(reads), inputs}
	for _, s := range strings.Split(imports, ", ") {
		if name, path, ok := strings.Cut(s, " "); ok {
			m.imports[name] = path
		}
	}
	return m
}

// bound is a variable of the cell that runs.
type bound struct {
	root
	entry  *entry // as it was read, or nil
	recipe string
	why    string // it is no data and has no recipe
	before string // its digest once it was made by the recipe
	bytes  []byte // and its own bytes
	reads  []string
	again  bool // the recipe does more than to give a value: it declares a flag
}

var session struct {
	sync.Mutex
	cell    int // 0: this is no cell
	old     *index
	bound   map[string]*bound
	recipes map[string]*recipe
	ended   bool
}

func folder() string { return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "values") }

// Begin begins the cell of that number.
func Begin(cell int) any {
	session.cell, session.bound, session.recipes = cell, map[string]*bound{}, map[string]*recipe{}
	session.old = &index{map[string]*entry{}, map[string]*recipe{}}
	if text, err := opened.ReadFile(filepath.Join(folder(), "index.json")); err == nil {
		json.Unmarshal(text, session.old)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		var told int64
		for range interrupts {
			// The computation ends, and the cell goes on with its best; unless this is the second interrupt of it.
			if w := watched.Load(); w != 0 && w != told {
				told = w
				continue
			}
			debug.SetPanicOnFault(true)
			session.Lock() // the cell gets no further than to its next variable
			finish(true)
			progress.end()
			signal.Reset(os.Interrupt)
			syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
	}()
	return nil
}

// Load reads variables that share memory.
func Load(file string, dynamic []reflect.Type, variables ...Variable) any {
	defer watch.Step("reading what earlier cells have assigned")()
	roots := lists.Each(variables, func(v Variable) root { return v.root })
	if err := load(filepath.Join(folder(), file), roots, dynamic); err != nil {
		name := roots[slices.IndexFunc(roots, func(r root) bool { return r.name != "" })].name
		fmt.Fprintf(os.Stderr, "error: %s of cell [%d] cannot be read: %v; run that cell again\n", name, session.old.Variables[name].Cell, err)
		os.Exit(1)
	}
	for _, v := range roots {
		if v.name != "" { // else another value has its name now
			session.bound[v.name] = &bound{root: v, entry: session.old.Variables[v.name]}
		}
	}
	return nil
}

// Input reads a value that a recipe names.
func Input[T any](file string, dynamic []reflect.Type) (v T) {
	if err := load(filepath.Join(folder(), file), []root{Var("", &v).root}, dynamic); err != nil {
		panic(fmt.Sprintf("a value that the statement names cannot be read: %v; run its cell again", err))
	}
	return v
}

// slow is from how long on a note says that a value is made again.
const slow = time.Second

// Make gives a variable the value that its recipe makes.
func Make[T any](name string, v *T, recipe func() T) any {
	begin := time.Now()
	end := watch.Step("making " + name + " again")
	*v = recipe()
	end()
	e := session.old.Variables[name]
	if took := time.Since(begin); took > slow {
		remark(fmt.Sprintf("note: %s is made again wherever it is named, by the statement of cell [%d], which took %.1f s: it is no data that can be stored",
			name, e.Cell, took.Seconds()))
	}
	b := &bound{root: Var(name, v).root, entry: e, recipe: e.Recipe, again: flags(session.old.Recipes[e.Recipe].Imports)}
	b.made()
	session.bound[name] = b
	return nil
}

// flags says whether a recipe that names some packages may declare flags.
func flags(imports map[string]string) bool {
	return slices.Contains(slices.Collect(maps.Values(imports)), "flag")
}

// remark writes a note below the cell, not into a report.
func remark(note string) {
	if os.Getenv("ANATOMY_REPORT") == "" {
		fmt.Fprintln(os.Stderr, note)
	}
}

// Set gives a variable the value of another one of the same type.
func Set[T any](to, from *T) { *to = *from }

// made notes what a variable holds once its recipe has made it.
func (b *bound) made() { b.before, b.bytes = digested(b.root), b.own() }

// as says that a variable is as its recipe made it, or why not.
func (b *bound) as() error {
	if string(b.own()) != string(b.bytes) {
		return errors.New("it was set inside of a block or function")
	} else if digested(b.root) != b.before {
		return errors.New("it was changed after the statement that made it: put both into one function")
	}
	return nil
}

// own returns the bytes of a variable, without what it refers to.
func (b *bound) own() []byte { return slices.Clone(unsafe.Slice((*byte)(b.at), b.typ.Size())) }

// Bind says that a statement has given variables their values.
func Bind(made Made, variables ...Variable) any {
	session.Lock()
	defer session.Unlock()
	if session.cell == 0 {
		return nil
	}
	for _, v := range variables {
		b := &bound{root: v.root, reads: made.reads, again: flags(made.imports)}
		if b.again {
			b.recipe, _ = recorded(made, v.root)
			b.made()
		} else if !holdsData(v.typ) {
			if _, err := reach(false, v.root); err != nil && !errors.Is(err, errOnce) {
				if b.recipe, err = recorded(made, v.root); err != nil {
					b.why = err.Error()
				}
				b.made()
			}
		}
		session.bound[v.name] = b
	}
	return nil
}

// recorded notes how a variable is made, and what from.
func recorded(made Made, v root) (id string, err error) {
	defer try.Catch(&err)
	try.FailIf(made.source == "", "it is not made by one statement at the top level of a cell")
	r := &recipe{Name: v.name, Source: made.source, Imports: maps.Clone(made.imports)}
	r.Type = try.Get(typeNames(r.Imports).of(v.typ))
	for _, in := range made.inputs {
		i := input{Name: in.name}
		i.Type, err = typeNames(r.Imports).of(in.typ)
		try.Do(try.Name(err, "it is made from %s", in.name))
		b := session.bound[in.name]
		switch m, err := reach(false, in.root); {
		case err == nil:
			i.File, i.Types = try.Get(m.store(r.Imports)), m.names()
		case b == nil || b.at != in.at || b.recipe == "":
			return "", fmt.Errorf("it is made from %s, which cannot be stored: %w", in.name, err)
		case b.as() != nil:
			return "", fmt.Errorf("it is made from %s, of which %w", in.name, b.as())
		default:
			i.Recipe = b.recipe
		}
		r.Inputs = append(r.Inputs, i)
	}
	sum := sha256.Sum256(try.Get(json.Marshal(r)))
	id = hex.EncodeToString(sum[:8])
	session.recipes[id] = r
	return id, nil
}

// store writes an image to a file, and returns its name; imports get the packages of the types that values have in interfaces.
func (m *image) store(imports map[string]string) (file string, err error) {
	maps.Copy(imports, m.imports)
	return save(folder(), m.file())
}

// End writes what the variables of the cell hold. It is called where the program ends, however it does so.
func End() {
	session.Lock()
	defer session.Unlock()
	finish(false)
	progress.end()
}

func finish(interrupt bool) {
	if session.cell == 0 || session.ended {
		return
	}
	session.ended = true
	defer func() {
		if p := recover(); p != nil {
			remark(fmt.Sprintf("note: what the cell has assigned is lost: %v", p))
		}
	}()
	defer watch.Step("writing what the cell has assigned")()
	names := slices.Sorted(maps.Keys(session.bound))
	if interrupt { // a map that changes meanwhile ends the program
		written(slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return reaches(session.bound[name].typ, func(t reflect.Type) bool { return t.Kind() == reflect.Map || t.Kind() == reflect.Interface })
		}))
	}
	if err := written(names); err != nil {
		remark(fmt.Sprintf("note: what the cell has assigned is lost: %v", err))
	}
}

// written writes variables.
func written(names []string) error {
	if len(names) == 0 {
		return nil
	}
	next := &index{maps.Clone(session.old.Variables), maps.Clone(session.old.Recipes)}
	maps.Copy(next.Recipes, session.recipes)
	var images []*image // each of one variable
	for _, name := range names {
		b := session.bound[name]
		if b.entry != nil && b.recipe != "" && (b.again || b.as() == nil) {
			continue // as it was
		}
		e := &entry{Cell: session.cell, Imports: map[string]string{}}
		next.Variables[name] = e
		if b.entry != nil {
			e.Cell = b.entry.Cell
		}
		var err error
		if e.Type, err = typeNames(e.Imports).of(b.typ); err != nil {
			e.Why = err.Error()
			continue
		}
		if b.again {
			e.Recipe = b.recipe
			continue
		}
		m, err := reach(false, b.root)
		if err == nil {
			images = append(images, m)
			continue
		}
		switch {
		case b.recipe != "" && b.as() == nil:
			e.Recipe = b.recipe
		case b.recipe != "":
			e.Why = fmt.Sprintf("%v, and %v", err, b.as())
		case errors.Is(err, errOnce):
			e.Why = err.Error()
		case b.why != "":
			e.Why = fmt.Sprintf("%v, and %s", err, b.why)
		default:
			e.Why = fmt.Sprintf("%v, and it was set inside of a block or function", err)
		}
	}
	for _, group := range groups(images) {
		m := images[group[0]]
		var roots []root
		var names, members []string
		imports := map[string]string{}
		for _, i := range group {
			r := images[i].roots[0]
			e := next.Variables[r.name]
			roots, names, members = append(roots, r), append(names, r.name), append(members, e.Type)
			maps.Copy(imports, e.Imports)
		}
		if len(group) > 1 {
			m, _ = reach(false, roots...) // which are data each
		}
		file, err := m.store(imports)
		if err != nil {
			return err
		}
		for _, name := range names {
			e := next.Variables[name]
			maps.Copy(e.Imports, imports)
			e.File, e.Group, e.Members, e.Types = file, names, members, m.names()
		}
	}
	for _, name := range names {
		if e := next.Variables[name]; e.Recipe != "" && len(session.bound[name].reads) > 0 && session.bound[name].entry == nil {
			e.Reads = map[string]string{}
			for _, other := range session.bound[name].reads {
				if o := next.Variables[other]; o != nil {
					e.Reads[other] = o.holds()
				}
			}
		}
	}
	return next.write()
}

// write writes the index, and removes the files that it does not name.
func (x *index) write() (err error) {
	defer try.Catch(&err)
	used, made := map[string]bool{"index.json": true}, map[string]*recipe{}
	var need func(id string)
	need = func(id string) {
		r := x.Recipes[id]
		if r == nil || made[id] != nil {
			return
		}
		made[id] = r
		for _, i := range r.Inputs {
			used[i.File] = true
			need(i.Recipe)
		}
	}
	for _, e := range x.Variables {
		used[e.File] = true
		need(e.Recipe)
	}
	x.Recipes = made
	try.Do(replace(filepath.Join(folder(), "index.json"), [][]byte{try.Get(json.Marshal(x))}))
	files, err := os.ReadDir(folder())
	for _, f := range files {
		if !used[f.Name()] {
			os.Remove(filepath.Join(folder(), f.Name()))
		}
	}
	return err
}
