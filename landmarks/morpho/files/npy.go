package files

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

const npyMagic = "\x93NUMPY"

// readNPY reads a NumPy array file (versions 1 to 3) of float64 or float32, little- or big-endian, in C or Fortran order:
// [n, 2 or 3] is one shape, [N, n, 2 or 3] are N shapes. NaN is a missing coordinate. The specimens are numbered, since the
// format has no names.
func readNPY(in *source) {
	header := in.npyHeader()
	field := func(key, value string) string {
		m := regexp.MustCompile(`['"]` + key + `['"]\s*:\s*` + value).FindStringSubmatch(header)
		refuseIf(m == nil, "save the array again by numpy.save", "the NPY header lacks descr, fortran_order or shape: %s",
			text.Clip(header))
		return m[1]
	}
	descr, fortran, shapeText := field("descr", `['"]([^'"]*)['"]`), field("fortran_order", "(True|False)"), field("shape", `\(([^)]*)\)`)
	refuseIf(!regexp.MustCompile(`^[<>]f[48]$`).MatchString(descr), "save the array as float64 (array.astype('f8'))", "numbers of type %s",
		text.Clip(descr))
	var order binary.ByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	size := int(descr[2] - '0')
	var shape []int
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(shapeText), ","), ",") {
		extent, err := text.Count("shape", part)
		try.Do(try.Name(err, "shape (%s)", text.Clip(shapeText)))
		shape = append(shape, extent)
	}
	full := shape
	if len(shape) == 2 {
		full = []int{1, shape[0], shape[1]}
	}
	refuseIf(len(full) != 3 || full[2] != 2 && full[2] != 3, "reshape it to [n, 2 or 3] or [N, n, 2 or 3]",
		"an array of shape %v is none of shapes", shape)
	count, landmarks, dim := full[0], full[1], full[2]
	switch {
	case count == 0 || landmarks == 0:
		refuse("save an array with landmarks", "an array of shape %v has no landmarks", shape)
	case count > input.Coordinates.Most()/landmarks/dim:
		refuse("save fewer specimens", "an array of shape %v is more than the %d coordinates that a file may hold", shape, input.Coordinates.Most())
	}
	total := count * landmarks * dim
	switch raw := in.All(); {
	case len(raw) < total*size:
		refuse("the file may have been cut off: save it again", "the file ends after %d of the %d numbers of an array of shape %v", len(raw)/size, total,
			shape)
	case len(raw) > total*size:
		refuse("save one array by numpy.save", "bytes follow the array of shape %v: the file is damaged or holds more than one array", shape)
	default:
		in.array(count, landmarks, dim, func(i, l, c int) float64 {
			k := (i*landmarks+l)*dim + c
			if fortran == "True" {
				k = i + count*(l+landmarks*c)
			}
			if size == 4 {
				return float64(math.Float32frombits(order.Uint32(raw[4*k:])))
			}
			return math.Float64frombits(order.Uint64(raw[8*k:]))
		})
	}
}

// array takes the specimens of an array.
func (in *source) array(count, landmarks, dim int, at func(i, l, c int) float64) {
	in.Spend(input.Coordinates, count*landmarks*dim)
	for i := range count {
		points := make([][]float64, landmarks)
		for l := range points {
			points[l] = make([]float64, dim)
			for c := range points[l] {
				if points[l][c] = at(i, l, c); math.IsInf(points[l][c], 0) {
					refuse("save NaN where it is missing", "specimen %d of %d, landmark %d: %s is infinite", i+1, count, l, text.Axis(c))
				}
			}
		}
		in.add(Specimen{Points: points})
	}
}

// npyHeader reads up to the array and returns the header's text.
func (in *source) npyHeader() string {
	next := func(n int) []byte {
		b := make([]byte, n)
		if err := in.Bytes(b); err != nil {
			refuse("the file may have been cut off: save it again", "the NPY header is incomplete: %w", err)
		}
		return b
	}
	start := next(len(npyMagic) + 2)
	refuseIf(string(start[:len(npyMagic)]) != npyMagic, "save the array by numpy.save",
		"not an NPY file: it does not begin with \\x93NUMPY")
	length := uint32(0)
	switch version := start[len(npyMagic)]; version {
	case 1:
		length = uint32(binary.LittleEndian.Uint16(next(2)))
	case 2, 3:
		length = binary.LittleEndian.Uint32(next(4))
	default:
		refuse("save the array by NumPy 1 or 2", "NPY version %d; versions 1 to 3 are known", version)
	}
	refuseIf(length > 1<<20, "save a plain array", "an NPY header of %d bytes is not one of a plain array", length)
	return string(next(int(length)))
}

// writeNPY writes a float64 array of shape [N, n, 2 or 3], version 1, C order, little-endian; NaN where a landmark is missing.
// Names and groups have no place in the format.
func writeNPY(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }", len(d.Specimens), n, dim)
	const before = len(npyMagic) + 4                                 // magic, version, length
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n" // the array begins at a multiple of 64
	out.WriteString(npyMagic + "\x01\x00")
	out.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	out.WriteString(header)
	for _, s := range d.Specimens {
		for _, p := range s.Points {
			for _, v := range p {
				out.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
			}
		}
	}
}
