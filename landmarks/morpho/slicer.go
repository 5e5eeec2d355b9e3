package morpho

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

var fcsvHead = regexp.MustCompile(`^\s*#\s*Markups fiducial file version\s*=`)

// readFCSV reads a list of points of 3D Slicer's older format, .fcsv: comments and a line of columns for each point,
//
//	# Markups fiducial file version = 4.11
//	# CoordinateSystem = LPS
//	# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID
//	1,10.5,-3,7.25,0,0,0,1,1,1,0,nasion,,
//
// The list is one specimen, named by the file, and its unit mm; labels are the Labels of the Dataset. Coordinates are returned as LPS: x to
// the left, y to the back, z upwards. Those of a RAS file are turned by 180° about z, which makes them LPS. Older versions write RAS as 0
// and LPS as 1, and the oldest nothing: they are RAS.
//
// A blank, NA or NaN is a missing coordinate. Version 5 writes two columns more, without names, and the first of them is the position status
// of readMarkups: 0 undefined, 1 preview, 2 defined, 3 missing. Earlier versions do not tell points that were not placed: they write them
// at the origin, and a point there is an error.
func readFCSV(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset { return parseFCSV(in, name) })
}

func parseFCSV(in *lineReader, name string) *Dataset {
	columns := []string{"id", "x", "y", "z", "ow", "ox", "oy", "oz", "vis", "sel", "lock", "label", "desc", "associatedNodeID"}
	var at [3]int
	list := slicerList{}
	for in.next() {
		try.Do(in.Row(strings.Count(in.text, ",") + 1))
		if comment, ok := strings.CutPrefix(in.text, "#"); ok {
			key, value, _ := strings.Cut(comment, "=")
			switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
			case "CoordinateSystem":
				list.setSystem(value)
			case "columns":
				columns = strings.Split(strings.ReplaceAll(value, " ", ""), ",")
			}
			continue
		}
		for c := range at {
			if at[c] = slices.Index(columns, axis(c)); at[c] < 0 {
				refuse("write it there", "a point, but the comment # columns = before it names no column %s", axis(c))
			}
		}
		reader := csv.NewReader(strings.NewReader(in.text))
		reader.LazyQuotes = true
		record, err := reader.Read()
		if err != nil {
			refuse("save the list again by 3D Slicer", "%w", err)
		}
		landmark := len(list.points)
		if len(record) <= slices.Max(at[:]) {
			refuse("the file may have been cut off: save it again",
				"landmark %d: %d columns, too few for its coordinates", landmark, len(record))
		}
		point := try.Get(plainPoint(landmark, []string{record[at[0]], record[at[1]], record[at[2]]}))
		told, placed := false, true
		if behind := len(columns); columns[behind-1] == "associatedNodeID" && behind < len(record) && record[behind] != "" {
			statuses := []string{"undefined", "preview", "defined", "missing"}
			number, err := strconv.Atoi(record[behind])
			if err != nil || number < 0 || number >= len(statuses) {
				refuse("write 2 for a point that is there, 3 for a missing one",
					"landmark %d: the position status %s behind associatedNodeID is none of 0 to 3", landmark, text.Clip(record[behind]))
			}
			placed, told = isPlaced(landmark, statuses[number]), true
		}
		switch {
		case !placed:
			point = missingPoint()
		case !told && isCode(point, 0):
			refuse("write NA for its coordinates if it is missing, or save the list by version 5 or as .mrk.json, which tell",
				"landmark %d is at the origin, where 3D Slicer writes a point that was not placed", landmark)
		}
		label := ""
		if column := slices.Index(columns, "label"); column >= 0 && column < len(record) {
			label = record[column]
		}
		list.add(point, label)
	}
	assumed := list.system == ""
	if assumed {
		list.system = "RAS"
	}
	d := list.dataset(name)
	if assumed {
		d.note("no CoordinateSystem: taken for RAS, as old versions of 3D Slicer write it")
	}
	return d
}

// slicerList is a list of points of 3D Slicer.
type slicerList struct {
	points [][]float64
	labels []string
	system string // LPS or RAS
	unit   string
	closed bool
	curve  bool     // not loose points
	curves [][2]int // of several lists
}

func (s *slicerList) setSystem(name string) {
	switch name {
	case "LPS", "1":
		s.system = "LPS"
	case "RAS", "0":
		s.system = "RAS"
	default:
		refuse("write LPS or RAS", "the coordinate system is %s", text.Clip(name))
	}
}

func (s *slicerList) add(point []float64, label string) {
	s.points, s.labels = append(s.points, point), append(s.labels, strings.TrimSpace(label))
}

// dataset returns the list as the one specimen of a file.
func (s *slicerList) dataset(file string) *Dataset {
	if len(s.points) == 0 {
		refuseAt(file, 0, "save the file with its points, or leave it out", "no points")
	}
	s.toLPS()
	d := newDataset(file)
	d.Unit, d.Closed, d.Curves = "mm", s.closed, s.curves
	if s.unit != "" {
		d.Unit = s.unit
	}
	if slices.Max(s.labels) != "" {
		d.Labels = s.labels
	}
	d.Specimens = []Specimen{{Name: stem(file), Points: s.points}}
	return d
}

// stem returns the name of a file without folder and extension.
func stem(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if mrk := filepath.Ext(base); strings.EqualFold(mrk, ".mrk") {
		base = strings.TrimSuffix(base, mrk)
	}
	return strings.TrimSpace(base)
}

// readMarkups reads a list of points or a curve in the JSON format of 3D Slicer, .mrk.json:
//
//	{"@schema": "…/markups-schema-v1.0.3.json#",
//	 "markups": [{"type": "Fiducial", "coordinateSystem": "LPS", "coordinateUnits": "mm", "controlPoints": [
//	  {"label": "nasion", "position": [10.5, -3, 7.25], "positionStatus": "defined"},
//	  {"label": "basion", "position": "", "positionStatus": "undefined"}]}]}
//
// The file is one specimen, as in readFCSV, and its coordinates are returned as LPS, likewise. Of several lists, such as landmarks and the curves between
// them, the points of one follow those of the one before, and those of curves are the Curves of the Dataset. A landmark is missing where positionStatus is
// "undefined" or "missing", whatever its position; "preview", a position that was never confirmed, is an error. The type is Fiducial, Line,
// Angle, Curve or ClosedCurve, whose control points are a closed outline. The unit is mm unless the file has another.
func readMarkups(r io.Reader, name string) (*Dataset, error) {
	return reading(name, func() int { return 0 }, func() *Dataset { return parseMarkups(newJSON(r, name), name) })
}

func parseMarkups(j *jsonFile, name string) *Dataset {
	var lists []slicerList
	j.object("the file", func(key string) {
		if key != "markups" {
			j.skip()
			return
		}
		j.array("markups", func() {
			at, list := j.next(), slicerList{system: "LPS"}
			j.object("a markup", func(key string) { list.readProperty(j, key) })
			if len(lists) > 0 && list.unit != lists[0].unit {
				j.refuse(at, "save each in the same unit", "the unit of a markup is %q, that of the first %q", list.unit, lists[0].unit)
			}
			list.toLPS()
			lists = append(lists, list)
		})
	})
	if lists == nil {
		refuseAt(name, 0, "save the points by 3D Slicer", "no markups: this is no file of 3D Slicer's points")
	}
	whole := lists[0]
	if len(lists) > 1 {
		whole.closed, whole.points, whole.labels = false, nil, nil
		for _, list := range lists {
			from := len(whole.points)
			whole.points, whole.labels = append(whole.points, list.points...), append(whole.labels, list.labels...)
			if list.curve {
				whole.curves = append(whole.curves, [2]int{from, len(whole.points)})
			}
		}
	}
	return whole.dataset(name)
}

// toLPS turns the points of a RAS file.
func (s *slicerList) toLPS() {
	if s.system == "RAS" {
		for _, p := range s.points {
			if !atCode(p) { // turned, it would be no code, which Validate could name
				p[0], p[1] = -p[0], -p[1]
			}
		}
	}
	s.system = "LPS"
}

// markupList is a list as writeMarkups writes it.
type markupList struct {
	Type             string         `json:"type"`
	CoordinateSystem string         `json:"coordinateSystem"`
	CoordinateUnits  string         `json:"coordinateUnits"`
	ControlPoints    []controlPoint `json:"controlPoints"`
}

type controlPoint struct {
	ID             string `json:"id"`
	Label          string `json:"label"`
	Position       any    `json:"position"` // three numbers, or an empty text
	PositionStatus string `json:"positionStatus"`
}

// writeMarkups writes one specimen in space as readMarkups reads it, in LPS: a list of points, or a closed curve if the landmarks are those of a closed
// outline. Missing landmarks have no position. The unit is mm if it is not known.
func writeMarkups(w io.Writer, d *Dataset) error {
	s, err := d.alone("a file of 3D Slicer")
	if err != nil {
		return err
	}
	m := markupList{Type: "Fiducial", CoordinateSystem: "LPS", CoordinateUnits: cmp.Or(d.Unit, "mm")}
	if d.Closed {
		m.Type = "ClosedCurve"
	}
	for l, p := range s.Points {
		point := controlPoint{fmt.Sprint(l + 1), d.label(l), p, "defined"}
		if slices.ContainsFunc(p, math.IsNaN) {
			point.Position, point.PositionStatus = "", "undefined"
		}
		m.ControlPoints = append(m.ControlPoints, point)
	}
	file, err := json.MarshalIndent(map[string]any{"@schema": markupsSchema, "markups": []markupList{m}}, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(file, '\n'))
	return err
}

// markupsSchema names the format: 3D Slicer reads files that begin so.
const markupsSchema = "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/markups-schema-v1.0.3.json#"

// label is that of a landmark, or its number.
func (d *Dataset) label(l int) string {
	if l < len(d.Labels) {
		return d.Labels[l]
	}
	return fmt.Sprint(l)
}

// alone returns the one specimen of a data set, in space, for a format that holds no more.
func (d *Dataset) alone(what string) (*Specimen, error) {
	_, dim, err := d.checkRectangular()
	switch {
	case err != nil:
		return nil, err
	case len(d.Specimens) > 1:
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("write a .zip, as skulls.mrk.json.zip, with a file for each", "%s holds one specimen, and there are %d", what, len(d.Specimens)))
	case dim != 3:
		return nil, fmt.Errorf("%s: %w", d.Name, text.Advise("write another format", "%s holds points in space, and these are in the plane", what))
	}
	return &d.Specimens[0], nil
}

// writeFCSV writes one specimen in space as readFCSV reads it, in LPS, as version 5 with the status of each position; a missing landmark is undefined.
func writeFCSV(w io.Writer, d *Dataset) error {
	s, err := d.alone("a file of 3D Slicer")
	if err != nil {
		return err
	}
	if d.Unit != "" && d.Unit != "mm" {
		return fmt.Errorf("%s: %w", d.Name, text.Advise("write .mrk.json", "the unit is %s, and that of .fcsv is mm", d.Unit))
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "# Markups fiducial file version = 5.0\n# CoordinateSystem = LPS\n# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n")
	rows := csv.NewWriter(out)
	for l, p := range s.Points {
		row, status := []string{fmt.Sprint(l + 1)}, "2"
		for _, v := range p {
			if math.IsNaN(v) {
				v, status = 0, "0"
			}
			row = append(row, text.Format(v))
		}
		rows.Write(append(row, "0", "0", "0", "1", "1", "1", "0", d.label(l), "", "", status, "0"))
	}
	rows.Flush()
	if err := rows.Error(); err != nil {
		return err
	}
	return out.Flush()
}

// writeMorphoJ writes the text that MorphoJ reads: a line for each specimen, its name and the coordinates x1, y1 and so on between tabs, under a line with
// the names of the columns. It is an error if a landmark is missing, which MorphoJ does not know.
func writeMorphoJ(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.WriteString("ID")
	for l := range n {
		for c := range dim {
			fmt.Fprintf(out, "\t%s%d", axis(c), l+1)
		}
	}
	for _, s := range d.Specimens {
		if strings.Contains(s.Name, "\t") {
			return fmt.Errorf("%s: %w", d.Name, text.Advise("rename it", "the name %s of a specimen has a tab", text.Clip(s.Name)))
		}
		out.WriteString("\n" + s.Name)
		for l, p := range s.Points {
			if slices.ContainsFunc(p, math.IsNaN) {
				return fmt.Errorf("%s: %w", d.Name, text.Advise("estimate it by EstimateMissing, or leave the specimen out", "landmark %d of %s is missing, which MorphoJ does not know", l, text.Clip(s.Name)))
			}
			for _, v := range p {
				out.WriteString("\t" + text.Format(v))
			}
		}
	}
	out.WriteString("\n")
	return out.Flush()
}

// readProperty reads a value of a markup.
func (s *slicerList) readProperty(j *jsonFile, key string) {
	at := j.next()
	switch key {
	case "type":
		kind := ""
		j.value(&kind, key)
		if !slices.Contains([]string{"Fiducial", "Line", "Angle", "Curve", "ClosedCurve"}, kind) {
			j.refuse(at, "save a list of points, a curve, a line or an angle",
				"%w", notLandmarks("the type of the markup is "+text.Clip(kind)+", whose control points are no landmarks"))
		}
		s.closed, s.curve = kind == "ClosedCurve", strings.HasSuffix(kind, "Curve")
	case "coordinateSystem":
		system := ""
		j.value(&system, key)
		j.within(at, func() { s.setSystem(system) })
	case "coordinateUnits": // "mm", or the code of a terminology: ["mm", "UCUM", "millimeter"]
		if j.text[at] != '[' {
			j.value(&s.unit, key)
			return
		}
		var code [3]string
		j.value(&code, key)
		s.unit = code[0]
	case "controlPoints":
		j.array(key, func() { s.readPoint(j) })
	default:
		j.skip()
	}
}

func (s *slicerList) readPoint(j *jsonFile) {
	at, landmark := j.next(), len(s.points)
	p := struct {
		Label          string          `json:"label"`
		Position       json.RawMessage `json:"position"`
		PositionStatus string          `json:"positionStatus"`
	}{PositionStatus: "defined"}
	j.value(&p, fmt.Sprintf("landmark %d", landmark))
	point, placed := missingPoint(), false
	j.within(at, func() { placed = isPlaced(landmark, p.PositionStatus) })
	if placed {
		var position [3]*float64 // of a longer array Unmarshal drops the rest, and null leaves nil
		err := json.Unmarshal(p.Position, &position)
		if err != nil || slices.Contains(position[:], nil) || bytes.Count(p.Position, []byte(",")) != 2 {
			j.refuse(at, `write them, or "positionStatus": "undefined" if it is missing`, "landmark %d: the position %s is not three numbers",
				landmark, text.Clip(string(p.Position)))
		}
		for c, v := range position {
			point[c] = *v
		}
	}
	s.add(point, p.Label)
}

// isPlaced tells whether a landmark with a position status of 3D Slicer has a position.
func isPlaced(landmark int, status string) bool {
	switch status {
	case "undefined", "missing":
		return false
	case "defined":
	case "preview":
		refuse("place the point in 3D Slicer, or write its position status as defined or undefined",
			"landmark %d is a preview, a position that was not confirmed", landmark)
	default:
		refuse("write defined or undefined", "landmark %d: the positionStatus %s is none of defined, undefined, preview and missing", landmark, text.Clip(status))
	}
	return true
}

func missingPoint() []float64 { return []float64{math.NaN(), math.NaN(), math.NaN()} }

// jsonFile walks through a JSON file and knows where it is.
type jsonFile struct {
	*json.Decoder
	text []byte
	file string
}

// newJSON reads the text and sees that it is JSON.
func newJSON(r io.Reader, file string) *jsonFile {
	content, within := try.Get2(text.All(r))
	j := &jsonFile{file: file, text: content}
	var syntax *json.SyntaxError
	if err := within.JSON(j.text, new(struct{})); errors.As(err, &syntax) {
		j.refuse(max(int(syntax.Offset)-1, 0), "the file may have been cut off: save it again", "this is no JSON: %w", err)
	} else if errors.As(err, new(*input.Advice)) {
		try.Do(err)
	}
	j.Decoder = json.NewDecoder(bytes.NewReader(j.text))
	return j
}

// refuse ends the read by an error at the line of a byte.
func (j *jsonFile) refuse(at int, do, format string, args ...any) {
	j.within(at, func() { refuse(do, format, args...) })
}

// within runs f; an error that ends it is at the line of a byte.
func (j *jsonFile) within(offset int, f func()) {
	if err := try.Run(f); err != nil {
		try.Do(&placed{at(j.file, 1+bytes.Count(j.text[:offset], []byte("\n")), err)})
	}
}

// next returns where the next value begins.
func (j *jsonFile) next() int {
	at := int(j.InputOffset())
	for at < len(j.text) && bytes.IndexByte([]byte(" \t\r\n,:"), j.text[at]) >= 0 {
		at++
	}
	return at
}

// object calls each for every key of an object; each reads its value.
func (j *jsonFile) object(what string, each func(key string)) {
	j.between(what, '{', "object", func() { each(try.Get(j.Token()).(string)) })
}

// array calls each for every element of an array; each reads it.
func (j *jsonFile) array(what string, each func()) { j.between(what, '[', "array", each) }

func (j *jsonFile) between(what string, open json.Delim, kind string, each func()) {
	at := j.next()
	if t, err := j.Token(); err != nil || t != open {
		j.refuse(at, "save the file again by 3D Slicer", "%s is no JSON %s", what, kind)
	}
	for j.More() {
		each()
	}
	try.Get(j.Token())
}

// value reads the next value, named what, into v.
func (j *jsonFile) value(v any, what string) {
	at := j.next()
	err := j.Decode(v)
	if other := (*json.UnmarshalTypeError)(nil); errors.As(err, &other) {
		if other.Field != "" {
			what += ": " + other.Field
		}
		j.refuse(at, "save the file again by 3D Slicer", "%s is a JSON %s", what, other.Value)
	}
	try.Do(err)
}

func (j *jsonFile) skip() {
	var none json.RawMessage
	try.Do(j.Decode(&none))
}
