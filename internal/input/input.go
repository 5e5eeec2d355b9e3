// Package input opens the files that others have written, and bounds what reading one takes.
package input

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Advice is an error about data: what is wrong, and what to do about it. Those who know where it is put that before it.
type Advice struct {
	What error
	Do   string
}

func (a *Advice) Error() string { return a.What.Error() + "; " + a.Do }

func (a *Advice) Unwrap() error { return a.What }

// Advise returns an Advice: what to do, and then, as fmt.Errorf has it, what is wrong.
func Advise(do, format string, args ...any) error { return &Advice{fmt.Errorf(format, args...), do} }

// Kind is what a budget counts.
type Kind int

// Kinds, and how much of each the reading of a file or folder may take. They bound its memory to a gigabyte.
const (
	Bytes       Kind = iota // of the file, or of what it unpacks to
	Cells                   // of tables; a row counts as rowCells more, an element of XML or JSON as elementCells, a specimen as specimenCells
	Numbers                 // coordinates, and corners of triangles, of surfaces
	Coordinates             // of landmarks, which are aligned once they are read
	Seconds                 // of the processor, counted in nanoseconds

	Columns = 100_000 // of a table: the most

	rowCells      = 4
	elementCells  = 16
	specimenCells = 96
)

var kinds = [...]struct {
	most, unit int
	name       string
}{{256 << 20, 1, "bytes"}, {1 << 24, 1, "cells or elements"}, {1 << 24, 1, "numbers"}, {1 << 22, 1, "coordinates of landmarks"}, {15e9, 1e9, "seconds of the processor"}}

// Large is the environment variable by which larger files are read, if it is set.
const Large = "ANATOMY_LARGE"

// Most is how much of a kind a file may take.
func (k Kind) Most() int { return times() * kinds[k].most }

func times() int {
	if os.Getenv(Large) != "" {
		return 64
	}
	return 1
}

// Budget is what is left for the reading of a file, or of several that are read into one.
type Budget struct {
	spent [len(kinds)]int
	calls int
	times int // how many times the usual budget this one is
	since int // the processor's time at the last look
}

// Spend takes so many of a kind. It is an error if they are more than there may be, or if the reading has taken too long.
func (b *Budget) Spend(kind Kind, n int) error {
	if b.calls++; b.calls%4096 == 1 {
		now := processor()
		b.times = times()
		if b.since > 0 {
			b.spent[Seconds] += now - b.since
		}
		b.since = now
	}
	b.spent[kind] += n
	for _, k := range []Kind{kind, Seconds} {
		if most := b.times * kinds[k].most; b.spent[k] > most {
			return Advise("if this is meant, give --large, or set "+Large+"=1", "at least %d %s, and %d are the most that is read", b.spent[k]/kinds[k].unit, kinds[k].name, most/kinds[k].unit)
		}
	}
	return nil
}

// Row takes a row of so many columns.
func (b *Budget) Row(columns int) error {
	if columns > Columns {
		return Advise("write a row for each landmark", "the row has %d columns, and %d is the most", columns, Columns)
	}
	return b.Spend(Cells, columns+rowCells)
}

// Elements takes so many elements of XML or JSON.
func (b *Budget) Elements(n int) error { return b.Spend(Cells, n*elementCells) }

// Specimens takes so many specimens.
func (b *Budget) Specimens(n int) error { return b.Spend(Cells, n*specimenCells) }

// JSON reads a text into a value.
func (b *Budget) JSON(text []byte, into any) error {
	count := func(sign string) int { return bytes.Count(text, []byte(sign)) }
	if err := cmp.Or(b.Elements(count("{")+count("[")), b.Spend(Cells, count(","))); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Reader reads within a budget.
type Reader struct {
	*Budget
	Size int // of the file, from here on; -1 where it is not known

	r    io.Reader
	file *os.File // nil for other readers
}

// Of returns r within a budget: its own, if it has one, or that of other files.
func Of(r io.Reader, within ...*Budget) *Reader {
	if in, is := r.(*Reader); is {
		return in
	}
	return &Reader{Budget: append(within, new(Budget))[0], Size: -1, r: r}
}

func (in *Reader) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	if over := in.Spend(Bytes, n); over != nil {
		return n, over
	}
	return n, err
}

// ReadAt reads from the file.
func (in *Reader) ReadAt(p []byte, at int64) (int, error) { return in.file.ReadAt(p, at) }

func (in *Reader) Close() error { return in.file.Close() }

// Regular opens a regular file, or a link to one, for reading: a device need not end, and a pipe would wait for its writer.
func Regular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		kind := "a device"
		switch mode := info.Mode(); {
		case mode.IsDir():
			kind = "a folder"
		case mode&os.ModeNamedPipe != 0:
			kind = "a pipe"
		case mode&os.ModeSocket != 0:
			kind = "a socket"
		}
		return nil, Advise("copy it into one", "%s is %s: data are read from regular files", path, kind)
	}
	return os.Open(path)
}

// Open opens a file that Regular opens for reading up to the size that it has now, within a new budget or that of other files.
func Open(path string, within ...*Budget) (*Reader, error) {
	file, err := Regular(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	in := &Reader{Budget: append(within, new(Budget))[0], Size: int(info.Size()), r: io.LimitReader(file, info.Size()), file: file}
	ahead := *in.Budget
	if err := ahead.Spend(Bytes, in.Size); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}

// ReadFile returns what is in a file that Open opens.
func ReadFile(path string, within ...*Budget) ([]byte, error) {
	in, err := Open(path, within...)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	all, err := in.Whole(in, in.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// Whole reads what is left, about so many bytes; -1 where this is not known. They count twice, as what is made of them is kept beside them.
func (b *Budget) Whole(in io.Reader, size int) ([]byte, error) {
	var all bytes.Buffer
	all.Grow(max(size, 0) + bytes.MinRead)
	_, err := all.ReadFrom(io.LimitReader(in, int64(Bytes.Most()/2+1)))
	if err == nil {
		err = b.Spend(Bytes, all.Len())
	}
	return all.Bytes(), err
}

// Printable returns a text as XML, HTML and terminals can take it: � stands for control characters, for bytes that are no UTF-8, and for what Unicode
// says is no character. Line breaks and tabs stay.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || 0x7f <= r && r < 0xa0 || r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef {
			return '\ufffd'
		}
		return r
	}, text)
}
