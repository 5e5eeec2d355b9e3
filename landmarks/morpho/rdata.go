package morpho

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// rdata reads what R has saved by saveRDS, or by save (.rda, .RData), compressed by gzip or not: the first array of dimensions [p, 2 or 3, n],
// as geomorph and Morpho hold landmarks, or list of such matrices, or table that ReadCSV would read. The names of its dimensions are those of specimens and landmarks. Factors, texts and
// numbers beside an array, one for each specimen, are covariates. Notes name what was read where there are other arrays.
func (as Reading) rdata(r io.Reader, name string) (*Dataset, error) {
	var found []rFound
	if err := try.Run(func() { found = rLandmarks(readR(text.NewReader(r, name))) }); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", name, text.Advise("save the array of landmarks by saveRDS, or the table by write.csv",
			"%w", notLandmarks("the file of R holds no array of [landmarks, 2 or 3, specimens], no list of matrices, and no table")))
	}
	var d *Dataset
	var err error
	for _, one := range found { // of several tables the first that holds landmarks
		if d, err = one.read(as, name); err == nil {
			if len(found) > 1 {
				d.note("of %d arrays or tables in the file, %s was read", len(found), text.Clip(one.name))
			}
			return d, nil
		}
	}
	return nil, err
}

// rValue is a value of R: of numbers, texts or values.
type rValue struct {
	numbers []float64
	texts   []string
	list    []rValue
	names   []string // of the list
	attr    map[string]rValue
}

// size is how many elements a value has.
func (v rValue) size() int { return max(len(v.numbers), len(v.texts), len(v.list)) }

// text is element i as a text; "" where it is missing.
func (v rValue) text(i int) string {
	levels := v.attr["levels"].texts
	switch {
	case i < len(v.texts):
		return v.texts[i]
	case i >= len(v.numbers) || math.IsNaN(v.numbers[i]):
		return ""
	case levels != nil:
		if k := int(v.numbers[i]); k >= 1 && k <= len(levels) {
			return levels[k-1]
		}
		return ""
	}
	return text.Format(v.numbers[i])
}

// dims are the extents of an array, and dimnames the names along them.
func (v rValue) dims() (extents []int) {
	for _, n := range v.attr["dim"].numbers {
		extents = append(extents, int(n))
	}
	return extents
}

func (v rValue) dimnames(axis int) []string {
	if names := v.attr["dimnames"].list; axis < len(names) {
		return names[axis].texts
	}
	return nil
}

// rReader reads R's serialization, version 2 or 3, in the XDR format.
type rReader struct {
	*text.Reader
	seen  []rValue // symbols and environments, to which the text refers back
	depth int
}

var rHead = regexp.MustCompile(`^(RD[XA][23]\n|[XAB]\n\x00\x00\x00[\x02\x03])`)

const againByR = "save it again by saveRDS of R, with gzip or no compression"

// readR reads a file, of which save's is a list.
func readR(in *text.Reader) rValue {
	in.Binary = true
	r := &rReader{Reader: in}
	if head := in.Peek(7); bytes.HasPrefix(head, []byte("RDX2\n")) || bytes.HasPrefix(head, []byte("RDX3\n")) {
		in.Need(in.Bytes(make([]byte, 5)), "the head")
	}
	var kind [2]byte
	if in.Need(in.Bytes(kind[:]), "the head"); string(kind[:]) == "\xfd7" {
		in.Refuse("save it again with compress = \"gzip\"", "it is packed by xz, which is not read")
	} else if string(kind[:]) != "X\n" {
		in.Refuse(againByR, "this is no file of R in the binary format XDR")
	}
	version := r.int()
	r.int() // of R
	r.int()
	if version == 3 {
		r.bytes(r.int()) // the encoding
	} else if version != 2 {
		in.Refuse(againByR, "version %d of R's format; 2 and 3 are known", version)
	}
	return r.value()
}

func (r *rReader) bytes(n int) []byte {
	if n < 0 || n > text.MaxLine {
		r.Refuse(againByR, "a text of %d bytes", n)
	}
	b := make([]byte, n)
	r.Need(r.Bytes(b), "%d bytes", n)
	return b
}

func (r *rReader) int() int {
	b := r.bytes(4)
	return int(int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
}

func (r *rReader) real() float64 {
	hi, lo := uint32(r.int()), uint32(r.int())
	return math.Float64frombits(uint64(hi)<<32 | uint64(lo))
}

// count reads the length of a vector.
func (r *rReader) count() int {
	n := r.int()
	if n < 0 || n > 1<<24 {
		r.Refuse(againByR, "a vector of %d elements", n)
	}
	r.Spend(input.Cells, n)
	return n
}

// types of R's values.
const (
	rSymbol, rPairs, rClosure, rEnvironment, rPromise, rLanguage, rChar, rLogical = 1, 2, 3, 4, 5, 6, 9, 10
	rInteger, rReal, rTexts, rVector, rExpression, rRaw, rS4                      = 13, 14, 16, 19, 20, 24, 25
	rAlternative, rNull, rReference                                               = 238, 254, 255
)

// value reads the next value.
func (r *rReader) value() (v rValue) {
	if r.depth++; r.depth > 200 {
		r.Refuse(againByR, "values nest more than 200 deep")
	}
	defer func() { r.depth-- }()
	try.Do(r.Elements(1))
	flags := r.int()
	kind, attributed, tagged := flags&0xff, flags&(1<<9) != 0, flags&(1<<10) != 0
	switch kind {
	case rSymbol:
		v = r.value()
		r.seen = append(r.seen, v)
		return v
	case rPairs, rLanguage, rClosure, rPromise, 239, 240:
		return r.pairs(kind == 239 || kind == 240 || attributed, tagged)
	case rAlternative:
		return r.alternative()
	case rReference:
		at := flags >> 8
		if at == 0 {
			at = r.int()
		}
		if at < 1 || at > len(r.seen) {
			r.Refuse(againByR, "a reference to value %d of %d", at, len(r.seen))
		}
		return r.seen[at-1]
	case rNull, 253, 252, 251, 250, 242, 241: // also R's own environments
		return v
	case rEnvironment:
		r.int()
		r.seen = append(r.seen, v)
		for range 4 {
			r.value()
		}
		return v
	case 249, 248, 247: // the names of packages
		r.int()
		for range r.count() {
			r.value()
		}
		r.seen = append(r.seen, v)
		return v
	case rChar:
		if n := r.int(); n >= 0 {
			v.texts = []string{string(r.bytes(n))}
		} else {
			v.texts = []string{""} // NA
		}
		return v
	}
	r.vector(&v, kind)
	if attributed {
		v.setAttributes(r.value())
	}
	return v
}

// vector reads the elements of one.
func (r *rReader) vector(v *rValue, kind int) {
	switch kind {
	case rLogical, rInteger:
		for range r.count() {
			x := float64(r.int())
			if x == math.MinInt32 {
				x = math.NaN()
			}
			v.numbers = append(v.numbers, x)
		}
	case rReal:
		for range r.count() {
			v.numbers = append(v.numbers, r.real())
		}
	case rTexts:
		for range r.count() {
			v.texts = append(v.texts, r.value().text(0))
		}
	case rVector, rExpression:
		for range r.count() {
			v.list = append(v.list, r.value())
		}
	case rRaw:
		r.bytes(r.count())
	case rS4:
	default:
		r.Refuse("save the array of landmarks alone, by saveRDS", "a value of R's type %d, such as a function, is no data", kind)
	}
}

// pairs reads a list whose elements follow each other by references.
func (r *rReader) pairs(attributed, tagged bool) (v rValue) {
	for {
		if attributed {
			r.value()
		}
		name := ""
		if tagged {
			name = r.value().text(0)
		}
		v.list, v.names = append(v.list, r.value()), append(v.names, name)
		head := r.Peek(4)
		if len(head) < 4 || head[3] != 2 && head[3] != 6 {
			r.value() // the end
			return v
		}
		flags := r.int()
		attributed, tagged = flags&(1<<9) != 0, flags&(1<<10) != 0
		try.Do(r.Elements(1))
	}
}

// alternative reads a vector that R keeps in another form: a range of numbers, or a vector in a wrapper.
func (r *rReader) alternative() (v rValue) {
	info, state, attr := r.value(), r.value(), r.value()
	class := ""
	if len(info.list) > 0 {
		class = info.list[0].text(0)
	}
	switch {
	case strings.HasPrefix(class, "compact_") && len(state.numbers) == 3 && state.numbers[0] >= 0 && state.numbers[0] <= 1<<24:
		for i := range int(state.numbers[0]) {
			v.numbers = append(v.numbers, state.numbers[1]+float64(i)*state.numbers[2])
		}
	case strings.HasPrefix(class, "wrap_") && len(state.list) > 0:
		v = state.list[0]
	case class == "deferred_string" && len(state.list) > 0:
		for i := range state.list[0].size() {
			v.texts = append(v.texts, state.list[0].text(i))
		}
	default:
		r.Refuse(againByR, "a vector of R's class %s is not known", text.Clip(class))
	}
	try.Do(r.Elements(v.size()))
	v.setAttributes(attr)
	return v
}

func (v *rValue) setAttributes(attributes rValue) {
	for i, a := range attributes.list {
		if v.attr == nil {
			v.attr = map[string]rValue{}
		}
		v.attr[attributes.names[i]] = a
	}
	v.names = v.attr["names"].texts
}

// rFound is an array of landmarks, or a table, and what stands beside it.
type rFound struct {
	name   string
	value  rValue
	beside rValue
}

// rLandmarks finds arrays and lists of landmarks, and tables behind them.
func rLandmarks(root rValue) (arrays []rFound) {
	var tables []rFound
	var look func(v, beside rValue, name string)
	look = func(v, beside rValue, name string) {
		dims := v.dims()
		switch {
		case len(dims) == 3 && (dims[1] == 2 || dims[1] == 3) && len(v.numbers) == dims[0]*dims[1]*dims[2] && dims[0] > 0 && dims[2] > 0, v.isShapes():
			arrays = append(arrays, rFound{name, v, beside})
		case slices.Contains(v.attr["class"].texts, "data.frame") || len(dims) == 2 && v.dimnames(1) != nil && len(v.numbers) == dims[0]*dims[1] && dims[0] > 0 && dims[1] > 0:
			tables = append(tables, rFound{name, v, beside})
		}
		for i, item := range v.list {
			if i < len(v.names) {
				name = v.names[i]
			}
			look(item, v, name)
		}
	}
	look(root, rValue{}, "")
	if len(arrays) > 0 {
		return arrays
	}
	return tables
}

// isShapes says whether a value is a list of matrices of landmarks.
func (v rValue) isShapes() bool {
	for _, x := range v.list {
		dims := x.dims()
		if len(dims) != 2 || dims[1] != v.list[0].dims()[1] || dims[1] != 2 && dims[1] != 3 || dims[0] < 1 || len(x.numbers) != dims[0]*dims[1] {
			return false
		}
	}
	return len(v.list) > 1
}

func (f rFound) read(as Reading, name string) (*Dataset, error) {
	v, dims := f.value, f.value.dims()
	if !v.isShapes() && len(dims) != 3 {
		return as.csv(strings.NewReader(v.csv()), name)
	}
	return reading(name, func() int { return 0 }, func() *Dataset {
		d := newDataset(name)
		names, labels := v.names, []string(nil)
		if len(dims) == 3 {
			names, labels = v.dimnames(2), v.dimnames(0)
			size := dims[0] * dims[1]
			for i := range dims[2] {
				v.list = append(v.list, rValue{numbers: v.numbers[i*size : (i+1)*size]})
			}
		}
		for i, x := range v.list {
			s, p, k := Specimen{}, 0, 0
			if len(dims) == 3 {
				p, k = dims[0], dims[1]
			} else {
				p, k = x.dims()[0], x.dims()[1]
			}
			if i < len(names) {
				s.Name = strings.TrimSpace(names[i])
			}
			for l := range p {
				point := make([]float64, k)
				for c := range point {
					if point[c] = x.numbers[l+c*p]; math.IsInf(point[c], 0) {
						refuse("save NA where it is missing", "specimen %d, landmark %d: %s is infinite", i+1, l, axis(c))
					}
				}
				s.Points = append(s.Points, point)
			}
			d.Specimens = append(d.Specimens, s)
		}
		if len(labels) == len(d.Specimens[0].Points) && !slices.ContainsFunc(labels, isNumber) {
			d.Labels = labels
		}
		f.covariates(d)
		var outlines [][][2]int
		for _, s := range d.Specimens {
			outlines = append(outlines, [][2]int{{0, len(s.Points)}})
		}
		if len(dims) != 3 && !as.alone && slices.ContainsFunc(outlines, func(o [][2]int) bool { return o[0] != outlines[0][0] }) {
			as.resample(d, outlines, nil)
		}
		return d
	})
}

// covariates are the vectors beside an array that have an element for each specimen.
func (f rFound) covariates(d *Dataset) {
	for k, column := range f.beside.list {
		if k >= len(f.beside.names) || len(d.Specimens) < 2 || column.size() != len(d.Specimens) || column.list != nil || len(column.dims()) > 1 {
			continue
		}
		for i := range d.Specimens {
			s := &d.Specimens[i]
			value := strings.TrimSpace(column.text(i))
			if name := f.beside.names[k]; strings.EqualFold(name, "group") {
				s.Group = value
			} else if value != "" {
				if s.Covariates == nil {
					s.Covariates = map[string]string{}
				}
				s.Covariates[name] = value
			}
		}
	}
}

// csv writes a data frame or a matrix as write.csv does.
func (v rValue) csv() string {
	columns, rows, titles := v.list, v.attr["row.names"].texts, v.names
	if dims := v.dims(); len(dims) == 2 {
		rows, titles = v.dimnames(0), v.dimnames(1)
		for c := range dims[1] {
			columns = append(columns, rValue{numbers: v.numbers[c*dims[0] : (c+1)*dims[0]]})
		}
	}
	var out strings.Builder
	lines := csv.NewWriter(&out)
	header := []string{""}
	for c := range columns {
		header = append(header, "V"+strconv.Itoa(c+1))
		if c < len(titles) {
			header[c+1] = titles[c]
		}
	}
	from := 0
	if rows == nil {
		from = 1
	}
	lines.Write(header[from:])
	for i := range columns[0].size() {
		cells := []string{""}
		if i < len(rows) {
			cells[0] = rows[i]
		}
		for _, column := range columns {
			cells = append(cells, column.text(i))
		}
		lines.Write(cells[from:])
	}
	lines.Flush()
	return out.String()
}
