package files

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

const fcsvColumns = "id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID"

// readFCSV reads a list of points of 3D Slicer's older format, .fcsv: comments and a line of columns for each point,
//
//	# Markups fiducial file version = 4.11
//	# CoordinateSystem = LPS
//	# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID
//	1,10.5,-3,7.25,0,0,0,1,1,1,0,nasion,,
//
// The list is one specimen, named by the file, and its unit mm; labels are the Labels. Coordinates are returned as LPS: x to
// the left, y to the back, z upwards. Those of a RAS file are turned by 180° about z, which makes them LPS. Older versions write RAS as 0
// and LPS as 1, and the oldest nothing: they are RAS.
//
// A blank, NA or NaN is a missing coordinate. Version 5 writes two columns more, without names, and the first of them is the position status
// of readMarkups: 0 undefined, 1 preview, 2 defined, 3 missing. Earlier versions do not tell points that were not placed: they write them
// at the origin, and a point there is an error.
func readFCSV(in *source) {
	in.one("mm")
	columns, system := strings.Split(fcsvColumns, ","), ""
	for in.next() {
		try.Do(in.Row(strings.Count(in.text, ",") + 1))
		if comment, ok := strings.CutPrefix(in.text, "#"); ok {
			key, value, _ := strings.Cut(comment, "=")
			switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
			case "CoordinateSystem":
				system = slicerSystem(value)
			case "columns":
				columns = strings.Split(strings.ReplaceAll(value, " ", ""), ",")
			}
			continue
		}
		reader := csv.NewReader(strings.NewReader(in.text))
		reader.LazyQuotes = true
		record, err := reader.Read()
		refuseIf(err != nil, "save the list again by 3D Slicer", "%w", err)
		landmark, words := len(in.Labels), [3]string{}
		for c := range words {
			switch at := slices.Index(columns, text.Axis(c)); {
			case at < 0:
				refuse("write it there", "a point, but the comment # columns = before it names no column %s", text.Axis(c))
			case at >= len(record):
				refuse("the file may have been cut off: save it again", "landmark %d: %d columns, too few for its coordinates", landmark, len(record))
			default:
				words[c] = record[at]
			}
		}
		point, status := try.Get(in.point(landmark, words[:]...)), ""
		if columns[len(columns)-1] == "associatedNodeID" {
			status = Row{Cells: record}.Field(len(columns))
		}
		statuses := []string{"undefined", "preview", "defined", "missing"}
		switch number, err := strconv.Atoi(status); {
		case status == "" && IsCode(point, 0):
			refuse("write NA for its coordinates if it is missing, or save the list by version 5 or as .mrk.json, which tell",
				"landmark %d is at the origin, where 3D Slicer writes a point that was not placed", landmark)
		case status == "":
		case err != nil || number < 0 || number >= len(statuses):
			refuse("write 2 for a point that is there, 3 for a missing one",
				"landmark %d: the position status %s behind associatedNodeID is none of 0 to 3", landmark, text.Clip(status))
		case !isPlaced(landmark, statuses[number]):
			point = missing()
		}
		in.put(point, Row{Cells: record}.Field(slices.Index(columns, "label")))
	}
	in.complete()
	toLPS(cmp.Or(system, "RAS"), in.Specimens[0].Points)
	if system == "" {
		in.note("no CoordinateSystem: taken for RAS, as old versions of 3D Slicer write it")
	}
}

// slicerSystem reads the name of a system of axes.
func slicerSystem(name string) string {
	system := map[string]string{"LPS": "LPS", "1": "LPS", "RAS": "RAS", "0": "RAS"}[name]
	refuseIf(system == "", "write LPS or RAS", "the coordinate system is %s", text.Clip(name))
	return system
}

// toLPS turns the points of a RAS file.
func toLPS(system string, points [][]float64) {
	for _, p := range points {
		if system == "RAS" && !AtCode(p) { // turned, it would be no code, which Validate could name
			p[0], p[1] = -p[0], -p[1]
		}
	}
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
		refuse("write defined or undefined", "landmark %d: the positionStatus %s is none of defined, undefined, preview and missing", landmark,
			text.Clip(status))
	}
	return true
}

// readMarkups reads a list of points or a curve in the JSON format of 3D Slicer, .mrk.json:
//
//	{"@schema": "…/markups-schema-v1.0.3.json#",
//	 "markups": [{"type": "Fiducial", "coordinateSystem": "LPS", "coordinateUnits": "mm", "controlPoints": [
//	  {"label": "nasion", "position": [10.5, -3, 7.25], "positionStatus": "defined"},
//	  {"label": "basion", "position": "", "positionStatus": "undefined"}]}]}
//
// The file is one specimen, as in readFCSV, and its coordinates are returned as LPS, likewise. Of several lists, such as landmarks and the curves
// between them, the points of one follow those of the one before, and those of curves are the Curves. A landmark is missing where positionStatus is
// "undefined" or "missing", whatever its position; "preview", a position that was never confirmed, is an error. The type is Fiducial, Line, Angle,
// Curve or ClosedCurve, whose control points are a closed outline. The unit is mm unless the file has another.
func readMarkups(in *source) {
	j := newJSON(in)
	in.one("")
	lists, curves := 0, [][2]int(nil)
	j.object("the file", func(key string) {
		if key != "markups" {
			j.skip()
			return
		}
		j.array("markups", func() {
			at, list := j.next(), &slicerList{from: len(in.Labels), system: "LPS"}
			j.object("a markup", func(key string) { j.property(list, key) })
			if j.at(at); lists > 0 && list.unit != in.Unit {
				refuse("save each in the same unit", "the unit of a markup is %q, that of the first %q", list.unit, in.Unit)
			}
			toLPS(list.system, in.Specimens[0].Points[list.from:])
			if list.curve {
				curves = append(curves, [2]int{list.from, len(in.Labels)})
			}
			lists++
			in.Unit, in.Closed = list.unit, list.closed
		})
	})
	if in.line = 0; lists == 0 {
		refuse("save the points by 3D Slicer", "no markups: this is no file of 3D Slicer's points")
	}
	in.complete()
	if in.Unit = cmp.Or(in.Unit, "mm"); lists > 1 {
		in.Closed, in.curves = false, [][][2]int{curves}
	}
}

// slicerList is a list of points, or a curve, from one landmark on.
type slicerList struct {
	from         int
	system, unit string
	closed       bool
	curve        bool // not loose points
}

// property reads a value of a markup.
func (j *jsonFile) property(list *slicerList, key string) {
	at := j.next()
	switch key {
	case "type":
		kind := ""
		j.value(&kind, key)
		if j.at(at); !slices.Contains([]string{"Fiducial", "Line", "Angle", "Curve", "ClosedCurve"}, kind) {
			refuse("save a list of points, a curve, a line or an angle", "%w",
				notLandmarks("the type of the markup is "+text.Clip(kind)+", whose control points are no landmarks"))
		}
		list.closed, list.curve = kind == "ClosedCurve", strings.HasSuffix(kind, "Curve")
	case "coordinateSystem":
		system := ""
		j.value(&system, key)
		j.at(at)
		list.system = slicerSystem(system)
	case "coordinateUnits": // "mm", or the code of a terminology: ["mm", "UCUM", "millimeter"]
		if j.all[at] != '[' {
			j.value(&list.unit, key)
			return
		}
		var code [3]string
		j.value(&code, key)
		list.unit = code[0]
	case "controlPoints":
		j.array(key, func() { j.controlPoint() })
	default:
		j.skip()
	}
}

// controlPoint is a point of a markup.
type controlPoint struct {
	ID             any             `json:"id"`
	Label          string          `json:"label"`
	Position       json.RawMessage `json:"position"` // three numbers, or an empty text
	PositionStatus string          `json:"positionStatus"`
}

func (j *jsonFile) controlPoint() {
	at, landmark, point := j.next(), len(j.in.Labels), missing()
	p := controlPoint{PositionStatus: "defined"}
	j.value(&p, fmt.Sprintf("landmark %d", landmark))
	if j.at(at); isPlaced(landmark, p.PositionStatus) {
		var position [3]*float64 // of a longer array Unmarshal drops the rest, and null leaves nil
		err := json.Unmarshal(p.Position, &position)
		refuseIf(err != nil || slices.Contains(position[:], nil) || bytes.Count(p.Position, []byte(",")) != 2,
			`write them, or "positionStatus": "undefined" if it is missing`, "landmark %d: the position %s is not three numbers", landmark,
			text.Clip(string(p.Position)))
		for c, v := range position {
			point[c] = *v
		}
	}
	j.in.put(point, p.Label)
}

// jsonFile walks through a JSON file and knows where it is.
type jsonFile struct {
	*json.Decoder
	in  *source
	all []byte
}

// newJSON reads the text and sees that it is JSON.
func newJSON(in *source) *jsonFile {
	j := &jsonFile{in: in, all: in.All()}
	var syntax *json.SyntaxError
	if err := in.JSON(j.all, new(struct{})); errors.As(err, &syntax) {
		j.at(max(int(syntax.Offset)-1, 0))
		refuse("the file may have been cut off: save it again", "this is no JSON: %w", err)
	} else if errors.As(err, new(*input.Advice)) {
		try.Do(err)
	}
	j.Decoder = json.NewDecoder(bytes.NewReader(j.all))
	return j
}

// at lets errors be at the line of a byte.
func (j *jsonFile) at(offset int) { j.in.line = 1 + bytes.Count(j.all[:offset], []byte("\n")) }

// next returns where the next value begins.
func (j *jsonFile) next() int {
	at := int(j.InputOffset())
	for at < len(j.all) && bytes.IndexByte([]byte(" \t\r\n,:"), j.all[at]) >= 0 {
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
	j.at(j.next())
	if t, err := j.Token(); err != nil || t != open {
		refuse("save the file again by 3D Slicer", "%s is no JSON %s", what, kind)
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
		if j.at(at); other.Field != "" {
			what += ": " + other.Field
		}
		refuse("save the file again by 3D Slicer", "%s is a JSON %s", what, other.Value)
	}
	try.Do(err)
}

func (j *jsonFile) skip() { j.value(new(json.RawMessage), "") }

// alone returns the one specimen of the data, in space, for a format that holds no more, and the names of its landmarks.
func (d *Data) alone(what string) (points [][]float64, labels []string) {
	_, dim := d.rectangular()
	switch {
	case len(d.Specimens) > 1:
		refuse("write a .zip, as skulls.mrk.json.zip, with a file for each", "%s holds one specimen, and there are %d", what, len(d.Specimens))
	case dim != 3:
		refuse("write another format", "%s holds points in space, and these are in the plane", what)
	}
	points, labels = d.Specimens[0].Points, slices.Clone(d.Labels)
	for l := len(labels); l < len(points); l++ {
		labels = append(labels, fmt.Sprint(l))
	}
	return points, labels
}

// writeMarkups writes one specimen in space as readMarkups reads it, in LPS: a list of points, or a closed curve if the landmarks are those of a
// closed outline. Missing landmarks have no position. The unit is mm if it is not known.
func writeMarkups(out *bufio.Writer, d *Data) {
	type list struct {
		Type             string         `json:"type"`
		CoordinateSystem string         `json:"coordinateSystem"`
		CoordinateUnits  string         `json:"coordinateUnits"`
		ControlPoints    []controlPoint `json:"controlPoints"`
	}
	m := list{Type: "Fiducial", CoordinateSystem: "LPS", CoordinateUnits: cmp.Or(d.Unit, "mm")}
	if d.Closed {
		m.Type = "ClosedCurve"
	}
	points, labels := d.alone("a file of 3D Slicer")
	for l, p := range points {
		point := controlPoint{fmt.Sprint(l + 1), labels[l], []byte(`""`), "undefined"}
		if !isMissing(p) {
			point.Position, point.PositionStatus = try.Get(json.Marshal(p)), "defined"
		}
		m.ControlPoints = append(m.ControlPoints, point)
	}
	out.Write(append(try.Get(json.MarshalIndent(map[string]any{"@schema": markupsSchema, "markups": []list{m}}, "", " ")), '\n'))
}

// markupsSchema names the format: 3D Slicer reads files that begin so.
const markupsSchema = "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/markups-schema-v1.0.3.json#"

// writeFCSV writes one specimen in space as readFCSV reads it, in LPS, as version 5 with the status of each position; a missing landmark is
// undefined.
func writeFCSV(out *bufio.Writer, d *Data) {
	points, labels := d.alone("a file of 3D Slicer")
	refuseIf(d.Unit != "" && d.Unit != "mm", "write .mrk.json", "the unit is %s, and that of .fcsv is mm", d.Unit)
	fmt.Fprintf(out, "# Markups fiducial file version = 5.0\n# CoordinateSystem = LPS\n# columns = %s\n", fcsvColumns)
	rows := csv.NewWriter(out)
	for l, p := range points {
		row, status := []string{fmt.Sprint(l + 1)}, "2"
		for _, v := range p {
			if math.IsNaN(v) {
				v, status = 0, "0"
			}
			row = append(row, text.Format(v))
		}
		rows.Write(append(row, "0", "0", "0", "1", "1", "1", "0", labels[l], "", "", status, "0"))
	}
	rows.Flush()
}
