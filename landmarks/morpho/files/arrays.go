package files

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
					refuse("save NaN where it is missing", "specimen %d, landmark %d: %s is infinite", len(in.Specimens)+1, l, text.Axis(c))
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

// ntsParameters matches "1 n[L|B|E] m[L] 0|1 [missing code] DIM=k".
var ntsParameters = regexp.MustCompile(`(?i)^1\s+(\d+)\s*([LBE]?)\s+(\d+)\s*(L?)\s+([01])(?:\s+([^\s=]+))?\s+DIM\s*=\s*(\d+)$`)

// readNTS reads the NTS format of NTSYSpc, tpsUtil and Landmark Editor (.nts, .dta): comment lines that begin with " or ', then
//
//	1 n m 0 DIM=k         n specimens, m = p·k numbers each
//	1 nL mL 1 -999 DIM=k  the same with n row labels and m column labels before the numbers and -999 for a missing one
//
// B or E in the place of the L of n puts each label at the beginning or end of its row. Labels have no spaces. If m = k the file is one
// specimen whose n rows are the landmarks (its labels are those of landmarks and are passed over). A comment "group=g for each
// specimen gives the groups.
func readNTS(in *source) {
	var groups, names []string
	for in.next() && (in.text[0] == '"' || in.text[0] == '\'') {
		if group, ok := strings.CutPrefix(in.text, `"group=`); ok {
			groups = append(groups, strings.TrimSpace(group))
		}
	}
	h := in.ntsHeader()
	more, stop := iter.Pull(in.words())
	defer stop()
	next := func(what func() string) string {
		word, is := more()
		if !is {
			refuse("the file may have been cut off: save it again", "the file ends before all that its parameter line announces: %s", what())
		}
		return word
	}
	label := func() string {
		names = append(names, next(func() string { return fmt.Sprintf("label %d", len(names)+1) }))
		return names[len(names)-1]
	}
	if h.labels == "L" {
		for range h.rows {
			label()
		}
	}
	for range h.columnLabels {
		label()
	}
	alone := h.columns == h.dim // the rows are landmarks
	var points [][]float64
	for row := range h.rows {
		name := ""
		switch h.labels {
		case "L":
			name = names[row]
		case "B":
			name = label()
		}
		for column := 0; column < h.columns; column += h.dim {
			points = append(points, in.ntsPoint(h, row, column, next))
		}
		if h.labels == "E" {
			name = label()
		}
		if !alone {
			in.add(Specimen{Name: name, Points: points})
			points = nil
		}
	}
	if alone {
		in.add(Specimen{Points: points})
	}
	if word, is := more(); is {
		refuse("correct the numbers of rows and columns in the parameter line, or remove the rest",
			"%s after the last of %d × %d numbers", text.Clip(word), h.rows, h.columns)
	}
	in.decimals()
	if len(groups) > 0 && len(groups) != len(in.Specimens) {
		in.refuseAt(0, "write one for each specimen, or none", "%d comments \"group=, but %d specimens", len(groups), len(in.Specimens))
	}
	for i := range groups {
		in.Specimens[i].Group = groups[i]
	}
}

// ntsHeader is what the parameter line of a file says.
type ntsHeader struct {
	rows, columns, dim int
	labels             string  // where those of rows stand: L, B, E or nowhere
	columnLabels       int     // behind them those of columns
	code               float64 // of missing values; NaN, which equals no coordinate, if there is none
}

// ntsHeader reads the line at hand.
func (in *source) ntsHeader() (h ntsHeader) {
	p := ntsParameters.FindStringSubmatch(in.text)
	if in.text == "" {
		in.refuseAt(0, "begin the file with one, such as 1 30L 26 0 DIM=2", "no parameter line")
	} else if p == nil {
		refuse("write one like 1 30L 26 0 DIM=2 or 1 30 26 1 -999 DIM=2", "%s is no parameter line", text.Clip(in.text))
	}
	h = ntsHeader{try.Get(text.Count("rows", p[1])), try.Get(text.Count("columns", p[3])), strings.Index("23", p[7]) + 2, strings.ToUpper(p[2]), 0,
		math.NaN()}
	switch {
	case p[7] != "2" && p[7] != "3":
		refuse("write DIM=2 or DIM=3", "DIM=%s: shapes are in 2 or 3 dimensions", text.Clip(p[7]))
	case h.rows == 0 || h.columns == 0:
		refuse("correct the numbers of rows and columns", "a matrix of %d rows and %d columns has no landmarks", h.rows, h.columns)
	case h.columns > input.Coordinates.Most()/h.rows:
		refuse("correct the numbers of rows and columns", "%d rows of %d columns are more than the %d coordinates that a file may hold", h.rows, h.columns,
			input.Coordinates.Most())
	case h.columns%h.dim != 0:
		refuse("write the number of coordinates, landmarks times DIM", "%d columns are not a multiple of DIM=%d", h.columns, h.dim)
	case p[5] == "1" && p[6] == "":
		refuse("write it before DIM: 1 n m 1 -999 DIM=k", "missing values are announced, but not their code")
	case p[5] == "1":
		code, err := Number(p[6])
		try.Do(try.Name(err, "the code of missing values"))
		h.code = code
	}
	if p[4] != "" {
		h.columnLabels = h.columns
	}
	return h
}

// words are those of the lines that are left.
func (in *source) words() iter.Seq[string] {
	return func(yield func(word string) bool) {
		for in.next() {
			for word := range strings.FieldsSeq(in.text) {
				if in.Spend(input.Cells, 1); !yield(word) {
					return
				}
			}
		}
	}
}

// ntsPoint reads a landmark of words.
func (in *source) ntsPoint(h ntsHeader, row, column int, next func(what func() string) string) []float64 {
	point := make([]float64, h.dim)
	for c := range point {
		where := func() string {
			if h.columns == h.dim {
				return fmt.Sprintf("landmark %d: %s", row, text.Axis(c))
			}
			return fmt.Sprintf("specimen %d of %d, landmark %d: %s", row+1, h.rows, column/h.dim, text.Axis(c))
		}
		v, err := in.coordinate(next(where))
		if err != nil {
			try.Fail("%s = %w", where(), err)
		}
		if point[c] = v; v == h.code {
			point[c] = math.NaN()
		}
	}
	return point
}

// writeNTS writes 1 nL m 0 DIM=k (1 nL m 1 code DIM=k with a code that no coordinate has, if a landmark is missing), the names and a
// line for each specimen; a comment "group=… for each, if there are groups. Names may hold no spaces, and shapes of a single landmark cannot
// be written: m = k means something else.
func writeNTS(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	refuseIf(n == 1, "use .csv or .npy", "NTS cannot hold shapes of one landmark")
	used := map[string]bool{}
	var names []string
	numbers, grouped := make([][]string, len(d.Specimens)), false
	for i, s := range d.Specimens {
		refuseIf(strings.ContainsFunc(s.Name, unicode.IsSpace), "rename it, or use another format",
			"specimen %q: an NTS label may hold no spaces", s.Name)
		names, grouped = append(names, s.Name), grouped || s.Group != ""
		for _, v := range slices.Concat(s.Points...) {
			used[format(v)], numbers[i] = true, append(numbers[i], format(v))
		}
	}
	for _, s := range d.Specimens {
		if grouped {
			fmt.Fprintf(out, "\"group=%s\n", s.Group)
		}
	}
	code, missing := -999.0, "0"
	for used[format(code)] {
		code = 10*code - 9
	}
	if used["NA"] {
		missing = "1 " + format(code)
	}
	fmt.Fprintf(out, "1 %dL %d %s DIM=%d\n%s\n", len(names), n*dim, missing, dim, strings.Join(names, "\n"))
	for _, row := range numbers {
		fmt.Fprintln(out, strings.ReplaceAll(strings.Join(row, " "), "NA", format(code)))
	}
}

// morphologikaCounts are the sections that hold one number.
var morphologikaCounts = []string{"individuals", "landmarks", "dimensions"}

// readMorphologika reads the Morphologika format of O'Higgins and Jones: the sections [individuals], [landmarks], [dimensions] with a
// count each, [names] with a name in each line, [labels] with the names of what [labelvalues] has in each line, [wireframe] with landmarks in each
// line that lines join, counted from 1, and [rawpoints] with a line for each landmark, the specimens one after another (lines that begin with
// ' there are comments). Each label is a covariate; one that is called group, or has no name, is the group. Other sections ([polygons], …)
// are passed over. NA or NaN is a missing coordinate.
func readMorphologika(in *source) {
	counts, seen, lines, section := map[string]int{}, map[string]int{}, map[string][]string{}, ""
	var points [][]float64
	for in.next() {
		switch {
		case in.text[0] == '[':
			section = in.section(seen)
			if section == "rawpoints" {
				checkMorphologikaCounts(counts)
			}
		case section == "":
			refuse("begin with [individuals]", "%s before the first [section]", text.Clip(in.text))
		case slices.Contains(morphologikaCounts, section):
			if _, twice := counts[section]; twice {
				refuse("keep the right one", "a second number in [%s]", section)
			}
			counts[section] = try.Get(text.Count(section, in.text))
		case section == "rawpoints" && in.text[0] == '\'':
		case section == "rawpoints":
			n, individual, landmark := counts["individuals"], len(points)/counts["landmarks"], len(points)%counts["landmarks"]
			if individual == n {
				refuse("correct [individuals] or [landmarks], or remove the rest", "%s after the last of %d × %d landmarks", text.Clip(in.text), n,
					counts["landmarks"])
			}
			point, err := in.coordinates(landmark, counts["dimensions"])
			if err != nil {
				try.Fail("specimen %d of %d, %w", individual+1, n, err)
			}
			points = append(points, point)
		default:
			lines[section] = append(lines[section], in.text)
		}
	}
	in.decimals()
	if seen["rawpoints"] == 0 {
		in.refuseAt(0, "write the landmarks into a section [rawpoints]", "no [rawpoints], so no landmarks")
	}
	n, landmarks := counts["individuals"], counts["landmarks"]
	refuseIf(len(points) < n*landmarks, "the file may have been cut off: save it again",
		"the file ends before landmark %d of specimen %d: %d individuals of %d landmarks are announced", len(points)%landmarks,
		len(points)/landmarks+1, n, landmarks)
	for _, section := range []string{"names", "labelvalues"} {
		if values := lines[section]; values != nil && len(values) != n {
			in.refuseAt(seen[section], "write a line for each individual, or leave the section out", "%d lines in [%s], but %d individuals", len(values),
				section, n)
		}
	}
	labels := strings.Fields(strings.Join(lines["labels"], " "))
	for i := range n {
		s := Specimen{Points: points[i*landmarks : (i+1)*landmarks : (i+1)*landmarks]}
		if lines["names"] != nil {
			s.Name = lines["names"][i]
		}
		if lines["labelvalues"] != nil {
			s.labelled(labels, lines["labelvalues"][i])
		}
		in.add(s)
	}
	in.line = seen["wireframe"]
	for _, line := range lines["wireframe"] {
		last := -1
		for word := range strings.FieldsSeq(line) {
			l, err := strconv.Atoi(word)
			refuseIf(err != nil || l < 1 || l > landmarks, "write numbers of landmarks from 1", "%s in [wireframe] is none of %d landmarks",
				text.Clip(word), landmarks)
			if last >= 0 {
				in.Links = append(in.Links, [2]int{last, l - 1})
			}
			last = l - 1
		}
	}
}

// labelled takes a line of [labelvalues].
func (s *Specimen) labelled(labels []string, line string) {
	values := strings.Fields(line)
	if len(labels) == 1 {
		values = []string{line}
	}
	if len(labels) != len(values) {
		s.Group = line
		return
	}
	for k, value := range values {
		s.set(labels[k], value)
	}
}

// section reads the title of one, which is not among those seen.
func (in *source) section(seen map[string]int) string {
	title, rest, closed := strings.Cut(in.text, "]")
	refuseIf(!closed, "write sections as [names]", "%s lacks its ]", text.Clip(in.text))
	refuseIf(rest != "", "write it in a line of its own", "%s after %s", text.Clip(rest), text.Clip(title+"]"))
	section := strings.ToLower(strings.TrimSpace(title[1:]))
	if line, twice := seen[section]; twice {
		refuse("remove one of them", "a second [%s]; the first is in line %d", section, line)
	}
	seen[section] = in.line
	return section
}

// checkMorphologikaCounts sees before [rawpoints] that the three counts are there and can be.
func checkMorphologikaCounts(counts map[string]int) {
	for _, section := range morphologikaCounts {
		if count, ok := counts[section]; !ok {
			refuse("write that section above", "[rawpoints] before a number in [%s]", section)
		} else if count == 0 {
			refuse("correct it", "[%s] is 0", section)
		}
	}
	if dim := counts["dimensions"]; dim != 2 && dim != 3 {
		refuse("write 2 or 3", "[dimensions] is %d: shapes are in 2 or 3 dimensions", dim)
	}
	if most := input.Coordinates.Most(); counts["individuals"] > most/counts["landmarks"]/counts["dimensions"] {
		refuse("correct [individuals] or [landmarks]",
			"%d individuals of %d landmarks are more than the %d coordinates that a file may hold", counts["individuals"], counts["landmarks"], most)
	}
}

// writeMorphologika writes the sections that readMorphologika reads, with the groups as the label "group"; NA where a landmark is missing.
// Either every specimen has a group or none has.
func writeMorphologika(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	grouped := slices.ContainsFunc(d.Specimens, func(s Specimen) bool { return s.Group != "" })
	var names, groups []string
	for _, s := range d.Specimens {
		if strings.HasPrefix(s.Name, "[") || strings.HasPrefix(s.Group, "[") {
			refuse("rename it, or use another format", "specimen %q, group %q: a line that begins with [ would be a section", s.Name, s.Group)
		} else if grouped && s.Group == "" {
			refuse("give each specimen a group, or none", "specimen %q has no group, but others have", s.Name)
		}
		names, groups = append(names, s.Name), append(groups, s.Group)
	}
	fmt.Fprintf(out, "[individuals]\n%d\n[landmarks]\n%d\n[dimensions]\n%d\n[names]\n%s\n", len(names), n, dim, strings.Join(names, "\n"))
	if grouped {
		fmt.Fprintf(out, "[labels]\ngroup\n[labelvalues]\n%s\n", strings.Join(groups, "\n"))
	}
	fmt.Fprintln(out, "[rawpoints]")
	for _, s := range d.Specimens {
		fmt.Fprintf(out, "\n'%s\n", s.Name)
		writeRows(out, s.Points)
	}
}
