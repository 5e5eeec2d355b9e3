package morpho

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

const npyMagic = "\x93NUMPY"

var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyNumbers = regexp.MustCompile(`^[<>]f[48]$`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^)]*)\)`)
)

// readNPY reads a NumPy array file (versions 1 to 3) of float64 or float32, little- or big-endian, in C or Fortran order:
// [n, 2 or 3] is one shape, [N, n, 2 or 3] are N shapes. NaN is a missing coordinate. The specimens are numbered, since the
// format has no names.
func readNPY(r io.Reader, name string) (*Dataset, error) {
	return reading(name, func() int { return 0 }, func() *Dataset { return parseNPY(text.Decode(r), name) })
}

func parseNPY(in text.Decoded, name string) *Dataset {
	header := npyHeader(in)
	descr, fortran, shapeText := npyDescr.FindStringSubmatch(header), npyFortran.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if descr == nil || fortran == nil || shapeText == nil {
		refuse("save the array again by numpy.save", "the NPY header lacks descr, fortran_order or shape: %s", text.Clip(header))
	}
	if !npyNumbers.MatchString(descr[1]) {
		refuse("save the array as float64 (array.astype('f8'))", "numbers of type %s", text.Clip(descr[1]))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if descr[1][0] == '>' {
		order = binary.BigEndian
	}
	size := int(descr[1][2] - '0')
	var shape []int
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(shapeText[1]), ","), ",") {
		extent, err := text.Count("shape", part)
		try.Do(try.Name(err, "shape (%s)", text.Clip(shapeText[1])))
		shape = append(shape, extent)
	}
	full := shape
	if len(shape) == 2 {
		full = []int{1, shape[0], shape[1]}
	}
	if len(full) != 3 || full[2] != 2 && full[2] != 3 {
		refuse("reshape it to [n, 2 or 3] or [N, n, 2 or 3]", "an array of shape %v is none of shapes", shape)
	}
	count, landmarks, dim := full[0], full[1], full[2]
	switch {
	case count == 0 || landmarks == 0:
		refuse("save an array with landmarks", "an array of shape %v has no landmarks", shape)
	case count > input.Coordinates.Most()/landmarks/dim:
		refuse("save fewer specimens", "an array of shape %v is more than the %d coordinates that a file may hold", shape, input.Coordinates.Most())
	}
	total := count * landmarks * dim
	try.Do(in.Spend(input.Coordinates, total))
	try.Do(in.Specimens(count))
	// Read no faster than the file holds: a header alone makes nobody allocate.
	raw := try.Get(io.ReadAll(io.LimitReader(in, int64(total*size))))
	if len(raw) < total*size {
		refuse("the file may have been cut off: save it again",
			"the file ends after %d of the %d numbers of an array of shape %v", len(raw)/size, total, shape)
	}
	if _, err := in.ReadByte(); err == nil {
		refuse("save one array by numpy.save",
			"bytes follow the array of shape %v: the file is damaged or holds more than one array", shape)
	} else if err != io.EOF {
		try.Do(err)
	}
	value := func(i int) float64 {
		if size == 4 {
			return float64(math.Float32frombits(order.Uint32(raw[4*i:])))
		}
		return math.Float64frombits(order.Uint64(raw[8*i:]))
	}
	index := func(i, l, c int) int { return (i*landmarks+l)*dim + c }
	if fortran[1] == "True" {
		index = func(i, l, c int) int { return i + count*(l+landmarks*c) }
	}
	d := newDataset(name)
	for i := range count {
		points := make([][]float64, landmarks)
		for l := range points {
			points[l] = make([]float64, dim)
			for c := range points[l] {
				v := value(index(i, l, c))
				if math.IsInf(v, 0) {
					refuse("save NaN where it is missing", "specimen %d of %d, landmark %d: %s is infinite", i+1, count, l, axis(c))
				}
				points[l][c] = v
			}
		}
		d.Specimens = append(d.Specimens, Specimen{Points: points})
	}
	return d
}

// npyHeader reads up to the array and returns the header's text.
func npyHeader(in io.Reader) string {
	fill := func(v any) {
		if err := binary.Read(in, binary.LittleEndian, v); err != nil {
			refuse("the file may have been cut off: save it again", "the NPY header is incomplete: %w", err)
		}
	}
	var start struct {
		Magic        [len(npyMagic)]byte
		Major, Minor uint8
	}
	if fill(&start); string(start.Magic[:]) != npyMagic {
		refuse("save the array by numpy.save", "not an NPY file: it does not begin with \\x93NUMPY")
	}
	var length uint32
	switch start.Major {
	case 1:
		var short uint16
		fill(&short)
		length = uint32(short)
	case 2, 3:
		fill(&length)
	default:
		refuse("save the array by NumPy 1 or 2", "NPY version %d; versions 1 to 3 are known", start.Major)
	}
	if length > 1<<20 {
		refuse("save a plain array", "an NPY header of %d bytes is not one of a plain array", length)
	}
	header := make([]byte, length)
	fill(header)
	return string(header)
}

// writeNPY writes a float64 array of shape [N, n, 2 or 3], version 1, C order, little-endian; NaN where a landmark is missing.
// Names and groups have no place in the format.
func writeNPY(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }", len(d.Specimens), n, dim)
	const before = len(npyMagic) + 4                                 // magic, version, length
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n" // the array begins at a multiple of 64
	out := bufio.NewWriter(w)
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
	return out.Flush()
}
