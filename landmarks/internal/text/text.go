// Package text reads data files by lines, words or bytes and knows where it is: what the readers of landmarks and of meshes
// have in common. Errors have the form file:line: what; what to do.
package text

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/therootcompany/xz"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
)

const (
	MaxLine = 16 << 20 // bytes of a line
	maxWord = 256      // of a word
	empties = 1 << 20  // empty lines in a row
)

// Decoded is a text as UTF-8, within the budget of its file.
type Decoded struct {
	*bufio.Reader
	*input.Budget
	size int // of its file; -1 where it is not known
}

// Decode returns r as UTF-8, without the byte-order mark that UTF-8 and UTF-16 files begin with. Without a mark it is r as it is. What gzip,
// bzip2 or xz has packed is unpacked.
func Decode(r io.Reader) Decoded {
	if in, is := r.(Decoded); is {
		return in
	}
	within := input.Of(r)
	in := bufio.NewReaderSize(within, 64<<10)
	head, _ := in.Peek(3)
	var packed io.Reader
	var err error
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		packed = bzip2.NewReader(in)
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		packed, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte("\xfd7z")):
		packed, err = xz.NewReader(in, 0) // 0 bounds its memory to 64 MiB, which xz -9 takes
	}
	if packed != nil {
		in, within.Size = bufio.NewReaderSize(input.Of(&unpacked{packed, advised(err)}, within.Budget), 64<<10), -1
	}
	in = bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(transform.Nop)), 64<<10)
	return Decoded{in, within.Budget, within.Size}
}

// unpacked is what an archive holds. Its error comes again to whoever reads again.
type unpacked struct {
	io.Reader
	err error
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.err == nil {
		n, err = u.Reader.Read(p)
		u.err = advised(err)
	}
	return n, u.err
}

// advised says of an archive that ends early what to do.
func advised(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, xz.ErrMemlimit):
		return Advise("pack it again, by xz -9 or less", "%w", err)
	}
	return Advise("the file may have been cut off: save it again", "what is packed in it ends in %w", err)
}

// Reader reads a file and knows where it is.
type Reader struct {
	Number  int    // of the last line or word's line, from 1
	At      int64  // bytes read
	Binary  bool   // errors name the byte, not the line
	Unended bool   // the last line of the file was read, and has no end
	Windows bool   // a line was no UTF-8, and was taken for Windows-1252
	File    string // its name in errors
	*input.Budget

	r     *bufio.Reader
	size  int // of the file; -1 where it is not known
	empty int // lines before this one in a row
}

// NewReader reads r, decoded; file is its name in errors.
func NewReader(r io.Reader, file string) *Reader {
	in := Decode(r)
	return &Reader{Budget: in.Budget, r: in.Reader, File: file, size: in.size}
}

// Errorf returns an error at the current line or byte.
func (in *Reader) Errorf(format string, args ...any) error {
	if in.Binary {
		return fmt.Errorf("%s: byte %d: %w", in.File, in.At, fmt.Errorf(format, args...))
	}
	return fmt.Errorf("%s:%d: %w", in.File, max(in.Number, 1), fmt.Errorf(format, args...))
}

// Advise is input.Advise.
func Advise(do, format string, args ...any) error { return input.Advise(do, format, args...) }

// Spend takes so many of a kind; an error ends the read at the current line or byte.
func (in *Reader) Spend(kind input.Kind, n int) {
	if err := in.Budget.Spend(kind, n); err != nil {
		try.Do(in.Errorf("%w", err))
	}
}

// Refuse ends the read by an Advice at the current line or byte: see package try.
func (in *Reader) Refuse(do, format string, args ...any) {
	try.Do(in.Errorf("%w", Advise(do, format, args...)))
}

// RefuseIf is Refuse if the condition holds.
func (in *Reader) RefuseIf(bad bool, do, format string, args ...any) {
	if bad {
		in.Refuse(do, format, args...)
	}
}

// Need ends the read by the error of a failed read: what was to be read there.
func (in *Reader) Need(err error, what string, args ...any) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		in.Refuse("the file may have been cut off: save it again", "the file ends where %s belongs", fmt.Sprintf(what, args...))
	} else if err != nil {
		try.Do(in.Errorf("%w", err))
	}
}

// Lines are those to the end of the file; an error ends the read.
func (in *Reader) Lines() iter.Seq[string] {
	return func(yield func(line string) bool) {
		for {
			line, err := in.Line()
			if err == io.EOF {
				return
			}
			in.Need(err, "a line")
			if !yield(line) {
				return
			}
		}
	}
}

// Line returns the next line without its end (LF, CRLF or CR); io.EOF after the last. A line longer than 16 MiB, one with NUL
// bytes and more than a million empty ones in a row are errors. One that is no UTF-8 is taken for Windows-1252.
func (in *Reader) Line() (string, error) {
	var line []byte
	for {
		if _, err := in.r.Peek(1); err != nil {
			if err == io.EOF && len(line) > 0 {
				in.Unended = true
				break
			}
			if err != io.EOF {
				in.Number++
			}
			return "", err
		}
		part, _ := in.r.Peek(in.r.Buffered())
		end := bytes.IndexAny(part, "\r\n")
		if end < 0 {
			line = append(line, part...)
			in.skip(len(part))
			if len(line) > MaxLine {
				in.Number++
				return "", Advise("see whether this is a text file of data", "the line is longer than %d MiB", MaxLine>>20)
			}
			continue
		}
		line = append(line, part[:end]...)
		cr := part[end] == '\r'
		in.skip(end + 1)
		if next, _ := in.r.Peek(1); cr && len(next) == 1 && next[0] == '\n' {
			in.skip(1)
		}
		break
	}
	in.Number++
	if len(line) > 0 {
		in.empty = 0
	} else if in.empty++; in.empty > empties {
		return "", Advise("see whether this is a text file of data", "more than %d empty lines in a row: these are no data", empties)
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return "", Advise("save it as UTF-8", "the line has NUL bytes: this is a binary file, or UTF-16 without its byte-order mark")
	}
	if !utf8.Valid(line) {
		in.Windows = true
		line, _ = charmap.Windows1252.NewDecoder().Bytes(line) // which knows all bytes
	}
	return string(line), nil
}

func (in *Reader) skip(n int) {
	in.r.Discard(n)
	in.At += int64(n)
}

// Word returns the next text between white space; io.EOF after the last.
func (in *Reader) Word() (string, error) {
	var word []byte
	in.Number = max(in.Number, 1)
	for {
		c, err := in.r.ReadByte()
		if err != nil {
			if err == io.EOF && len(word) > 0 {
				return string(word), nil
			}
			return "", err
		}
		in.At++
		switch c {
		case ' ', '\t', '\r', '\n':
			if len(word) > 0 {
				in.r.UnreadByte()
				in.At--
				return string(word), nil
			}
			if next, _ := in.r.Peek(1); c == '\n' || c == '\r' && string(next) != "\n" {
				in.Number++
			}
			continue
		}
		if word = append(word, c); len(word) > maxWord {
			return "", Advise("see whether this is a text file of numbers", "%s is longer than any number", Clip(string(word)))
		}
	}
}

// Peek returns the next n bytes, or as many as there are, without reading them.
func (in *Reader) Peek(n int) []byte {
	b, _ := in.r.Peek(n)
	return b
}

// Bytes fills b.
func (in *Reader) Bytes(b []byte) error {
	n, err := io.ReadFull(in.r, b)
	in.At += int64(n)
	return err
}

// All returns what is left of the file; an error ends the read.
func (in *Reader) All() []byte { return try.Get(in.Whole(in.r, in.size)) }

// Number reads a decimal number; one too large for float64 is infinite. What only Go takes for a number (1_000, 0x1p4) is none.
func Number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(text, "_xX") {
		return 0, fmt.Errorf("%s is not a number", Clip(text))
	}
	return v, nil
}

// Format is the shortest text that Number reads back to the same float64.
func Format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Refuse ends a read by an Advice: see package try.
func Refuse(do, format string, args ...any) { try.Do(Advise(do, format, args...)) }

// RefuseIf is Refuse if the condition holds.
func RefuseIf(bad bool, do, format string, args ...any) {
	if bad {
		Refuse(do, format, args...)
	}
}

// Count reads how many things a header announces, from 0 to the most numbers that a file may have.
func Count(what, text string) (int, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(input.Numbers.Most()):
		return 0, Advise("correct it", "%s %s: more than the %d that a file may hold", Clip(text), what, input.Numbers.Most())
	case err != nil:
		return 0, Advise("write a whole number from 0", "%s: %s is not a whole number", what, Clip(text))
	}
	return int(n), nil
}

// Count is the function Count; an error ends the read at the current line or byte.
func (in *Reader) Count(what, text string) int {
	n, err := Count(what, text)
	if err != nil {
		try.Do(in.Errorf("%w", err))
	}
	return n
}

// Clip quotes text for a message, at most forty bytes of it.
func Clip(text string) string {
	if len(text) > 40 {
		return strconv.Quote(text[:40]) + "…"
	}
	return strconv.Quote(text)
}

// Counted is "1 duplicate vertex" or "2 duplicate vertices": a number and what is counted, in the plural.
func Counted(n int, what string) string {
	if n == 1 {
		if stem, ok := strings.CutSuffix(what, "vertices"); ok {
			what = stem + "vertex"
		} else {
			what = strings.TrimSuffix(what, "s")
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Listed joins words for a message, at most twenty of them.
func Listed(words []string) string {
	const most = 20
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(", … (%d in all)", len(words))
	}
	return strings.Join(words, ", ")
}

// Names are names in quotes, joined as Listed does.
func Names(names []string) string {
	return Listed(lists.Each(names, Clip))
}

// Axis names coordinate c.
func Axis(c int) string { return "xyz"[c : c+1] }
