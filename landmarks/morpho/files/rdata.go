package files

import (
	"encoding/binary"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
)

// rHead matches the beginning of what R saves, packed or not.
var rHead = regexp.MustCompile(`^(RD[XA][23]\n|[XAB]\n\x00\x00\x00[\x02\x03])`)

// readR reads what R has saved by saveRDS, or by save (.rda, .RData), packed or not: the first array of dimensions [p, 2 or 3, n], as geomorph and
// Morpho hold landmarks, or list of such matrices, or table that readTable would read. The names of its dimensions are those of specimens and
// landmarks. Factors, texts and numbers beside an array, one for each specimen, are covariates. Notes name what was read where there are other
// arrays.
func readR(in *source) {
	found := rLandmarks((&rReader{source: in}).file())
	refuseIf(len(found) == 0, "save the array of landmarks by saveRDS, or the table by write.csv", "%w",
		notLandmarks("the file of R holds no array of [landmarks, 2 or 3, specimens], no list of matrices, and no table"))
	in.inner(len(found), "of %d arrays or tables in the file, %s was read", func(k int, one *source) string {
		if f := found[k]; f.value.shapes() != nil {
			f.read(one)
		} else {
			readSheet(sheetOf(one, f.value.table()))
		}
		return found[k].name
	})
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
func (v rValue) dims() []int {
	return lists.Each(v.attr["dim"].numbers, func(n float64) int { return int(n) })
}

func (v rValue) dimnames(axis int) []string {
	if names := v.attr["dimnames"].list; axis < len(names) {
		return names[axis].texts
	}
	return nil
}

// holds says whether a value has the numbers of an array of these extents.
func (v rValue) holds(extents ...int) bool {
	n := 1
	for _, e := range extents {
		if e < 1 || n > len(v.numbers) {
			return false
		}
		n *= e
	}
	return n == len(v.numbers)
}

// shapes are the matrices of landmarks of an array or of a list; nil if a value is neither.
func (v rValue) shapes() (all []rValue) {
	if dims := v.dims(); len(dims) == 3 && v.holds(dims...) {
		for x := range slices.Chunk(v.numbers, dims[0]*dims[1]) {
			all = append(all, rValue{numbers: x, attr: map[string]rValue{"dim": {numbers: v.attr["dim"].numbers[:2]}}})
		}
	} else if len(v.list) > 1 {
		all = v.list
	}
	for _, x := range all {
		dims := x.dims()
		if len(dims) != 2 || dims[1] != all[0].dims()[1] || dims[1] != 2 && dims[1] != 3 || !x.holds(dims...) {
			return nil
		}
	}
	return all
}

// rReader reads R's serialization, version 2 or 3, in the XDR format.
type rReader struct {
	*source
	seen  []rValue // symbols and environments, to which the text refers back
	depth int
}

const againByR = "save it again by saveRDS of R, packed by gzip, bzip2 or xz, or not packed"

// file reads a file, of which save's is a list.
func (r *rReader) file() rValue {
	r.Binary = true
	if head := string(r.Peek(5)); head == "RDX2\n" || head == "RDX3\n" {
		r.bytes(5)
	}
	if kind := r.bytes(2); string(kind) != "X\n" {
		r.Refuse(againByR, "this is no file of R in the binary format XDR")
	}
	version := r.int()
	r.int() // of R
	r.int()
	if version == 3 {
		r.bytes(r.int()) // the encoding
	} else if version != 2 {
		r.Refuse(againByR, "version %d of R's format; 2 and 3 are known", version)
	}
	return r.value()
}

func (r *rReader) bytes(n int) []byte {
	r.RefuseIf(n < 0 || n > text.MaxLine, againByR, "a text of %d bytes", n)
	b := make([]byte, n)
	r.Need(r.Bytes(b), "%d bytes", n)
	return b
}

func (r *rReader) int() int {
	return int(int32(binary.BigEndian.Uint32(r.bytes(4))))
}

func (r *rReader) real() float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(r.bytes(8)))
}

// count reads the length of a vector.
func (r *rReader) count() int {
	n := r.int()
	r.RefuseIf(n < 0 || n > 1<<24, againByR, "a vector of %d elements", n)
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
		r.RefuseIf(at < 1 || at > len(r.seen), againByR, "a reference to value %d of %d", at, len(r.seen))
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
		case v.shapes() != nil:
			arrays = append(arrays, rFound{name, v, beside})
		case slices.Contains(v.attr["class"].texts, "data.frame") && len(v.list) > 0 || len(dims) == 2 && v.dimnames(1) != nil && v.holds(dims...):
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

// read reads an array or a list of matrices: element c·p + l of one is coordinate c of landmark l. Those of other numbers of landmarks are outlines.
func (f rFound) read(in *source) {
	for _, x := range f.value.shapes() {
		n := x.dims()[0]
		in.array(1, n, x.dims()[1], func(_, l, c int) float64 { return x.numbers[c*n+l] })
		in.curves = append(in.curves, [][2]int{{0, n}})
	}
	if !slices.ContainsFunc(in.curves, func(of [][2]int) bool { return of[0] != in.curves[0][0] }) {
		in.curves = nil
	}
	if labels := f.value.dimnames(0); len(labels) == in.count() && !slices.ContainsFunc(labels, IsNumber) {
		in.Labels = labels
	}
	f.called(in, slices.Concat(f.value.dimnames(2), f.value.names))
}

// called gives the specimens their names, and the elements of the vectors beside them that have one for each.
func (f rFound) called(in *source, names []string) {
	for i := range in.Specimens {
		if i < len(names) {
			in.Specimens[i].Name = strings.TrimSpace(names[i])
		}
	}
	for k, column := range f.beside.list {
		if k >= len(f.beside.names) || len(in.Specimens) < 2 || column.size() != len(in.Specimens) || column.list != nil || len(column.dims()) > 1 {
			continue
		}
		for i := range in.Specimens {
			in.Specimens[i].set(f.beside.names[k], strings.TrimSpace(column.text(i)))
		}
	}
}

// table is a data frame or a matrix, with names of rows and columns.
func (v rValue) table() []Row {
	columns, names, titles := v.list, v.attr["row.names"].texts, v.names
	if dims := v.dims(); len(dims) == 2 {
		names, titles = v.dimnames(0), v.dimnames(1)
		for c := range dims[1] {
			columns = append(columns, rValue{numbers: v.numbers[c*dims[0] : (c+1)*dims[0]]})
		}
	}
	header := slices.Clone(titles[:min(len(titles), len(columns))])
	for c := len(header); c < len(columns); c++ {
		header = append(header, "V"+strconv.Itoa(c+1))
	}
	if names != nil {
		columns, header = slices.Concat([]rValue{{texts: names}}, columns), slices.Concat([]string{""}, header)
	}
	rows := []Row{{header, 1}}
	for i := range columns[len(columns)-1].size() {
		rows = append(rows, Row{lists.Each(columns, func(column rValue) string { return column.text(i) }), i + 2})
	}
	return rows
}
