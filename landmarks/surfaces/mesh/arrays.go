package mesh

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// numberType is a scalar type of a binary file.
type numberType struct {
	size  int
	value func(o binary.ByteOrder, b []byte) float64
}

// numberTypes are those of PLY, VTK and GIfTI files, by the names that the first two have for them.
var numberTypes = func() map[string]numberType {
	types := map[string]numberType{}
	add := func(size int, names string, value func(o binary.ByteOrder, b []byte) float64) {
		for name := range strings.FieldsSeq(names) {
			types[name] = numberType{size, value}
		}
	}
	add(1, "char int8", func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) })
	add(1, "uchar uint8 unsigned_char", func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) })
	add(2, "short int16", func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) })
	add(2, "ushort uint16 unsigned_short", func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) })
	add(4, "int int32 vtkidtype", func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) })
	add(4, "uint uint32 unsigned_int", func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) })
	add(4, "float float32", func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) })
	add(8, "double float64", func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) })
	add(8, "long int64", func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) })
	add(8, "unsigned_long uint64", func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) })
	return types
}()

// typeCalled is the type that a file calls so, in any letters and behind a prefix, as UInt8, vtktypeint64 and NIFTI_TYPE_FLOAT32.
func typeCalled(name, prefix string) numberType {
	t, ok := numberTypes[strings.TrimPrefix(strings.ToLower(name), prefix)]
	text.RefuseIf(!ok, again, "the type %s is unknown", text.Clip(name))
	return t
}

// byteOrder is that which an XML file names; none is little-endian.
func byteOrder(attribute, name string) binary.ByteOrder {
	switch name {
	case "", "LittleEndian":
		return binary.LittleEndian
	case "BigEndian":
		return binary.BigEndian
	}
	text.Refuse(again, "%s %s is unknown", attribute, text.Clip(name))
	return nil
}

// coordinates are words as numbers; errors say of what.
func coordinates(in *text.Reader, words []string, what string, args ...any) []float64 {
	x := make([]float64, len(words))
	for a, w := range words {
		var err error
		if x[a], err = text.Number(w); err != nil {
			in.Refuse(number, "%s: %w", fmt.Sprintf(what, args...), err)
		}
	}
	return x
}

// numbers reads the binary arrays of XML files (VTP, GIfTI).
type numbers struct {
	*text.Reader
	order binary.ByteOrder
}

// Spend takes so many of a kind; numbers are taken before they are unpacked, as arrays may share their data.
func (f *numbers) Spend(kind input.Kind, n int) { try.Do(f.Budget.Spend(kind, n)) }

// whole is the whole file.
func (f *numbers) whole() (all []byte) {
	try.Do(try.Name(try.Run(func() { all = f.All() }), "%s", f.File))
	return all
}

// binary are the numbers of an array of so many bytes.
func (f *numbers) binary(r io.Reader, length int, t numberType) []float64 {
	out, buffer := make([]float64, 0, length/t.size), make([]byte, min(length, 64<<10)) // a multiple of every size
	for at := 0; at < length; {
		chunk := buffer[:min(length-at, len(buffer))]
		n, err := io.ReadFull(r, chunk)
		at += n
		try.Do(ended(err, "the array has %d of %d bytes", at, length))
		for ; len(chunk) > 0; chunk = chunk[t.size:] {
			out = append(out, t.value(f.order, chunk))
		}
	}
	return out
}

// words are the numbers of a text, which are at most so many.
func (f *numbers) words(all string, most int) (out []float64) {
	for w := range strings.FieldsSeq(all) {
		v, err := text.Number(w)
		if err != nil {
			text.Refuse(number, "number %d: %w", len(out), err)
		}
		if len(out) == most {
			text.Refuse(again, "more than %d numbers", most)
		}
		f.Spend(input.Numbers, 1)
		out = append(out, v)
	}
	return out
}

// vertexNumbers are numbers as those of vertices or cells.
func vertexNumbers(x []float64) []int {
	out := make([]int, len(x))
	for i, v := range x {
		if out[i] = int(v); !isCount(v, math.MaxInt32) {
			text.Refuse(again, "number %d: %g is no number of a vertex or cell", i, v)
		}
	}
	return out
}

// ended is the error of a failed read, after what was to be read there, and nil for none.
func ended(err error, format string, args ...any) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return text.Advise(cut, "%s: %w", fmt.Sprintf(format, args...), io.ErrUnexpectedEOF)
	}
	return try.Name(err, format, args...)
}

// base64Reader decodes base64 with white space, in which padding may stand between parts that were encoded one by one.
type base64Reader struct {
	text  io.ByteReader
	three [3]byte
	rest  []byte // of three
}

func (b *base64Reader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		var four [4]byte
		for k := 0; k < 4; {
			c, err := b.text.ReadByte()
			if err != nil {
				if k > 0 {
					return 0, io.ErrUnexpectedEOF
				}
				return 0, err
			}
			if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
				continue
			}
			four[k] = c
			k++
		}
		n, err := base64.StdEncoding.Decode(b.three[:], four[:])
		if err != nil {
			return 0, text.Advise(again, "%q is not base64", four[:])
		}
		b.rest = b.three[:n]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func writeFloats(w io.Writer, x []float64) {
	fmt.Fprintln(w, strings.Join(lists.Each(x, text.Format), " "))
}

func appendFloats(order binary.AppendByteOrder, b []byte, x []float64) []byte {
	for _, v := range x {
		b = order.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func appendInts(order binary.AppendByteOrder, b []byte, x []int) []byte {
	for _, v := range x {
		b = order.AppendUint32(b, uint32(v))
	}
	return b
}
