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
	j := &jsonFile{source: in, all: in.All()}
	in.one("mm")
	in.line = 1
	var file struct {
		Markups []json.RawMessage `json:"markups"`
	}
	j.check(in.JSON(j.all, &file), "the file")
	if len(file.Markups) == 0 {
		in.refuseAt(0, "save the points by 3D Slicer", "no markups: this is no file of 3D Slicer's points")
	}
	var curves [][2]int
	for k, raw := range file.Markups {
		from := len(in.Labels)
		kind := j.markup(raw, k == 0)
		if in.Closed = kind == "ClosedCurve"; strings.HasSuffix(kind, "Curve") {
			curves = append(curves, [2]int{from, len(in.Labels)})
		}
	}
	in.complete()
	if in.Unit = cmp.Or(in.Unit, "mm"); len(file.Markups) > 1 {
		in.Closed, in.curves = false, [][][2]int{curves}
	}
}

// jsonFile is a JSON file whose values are found again in its text, so that errors are at their lines.
type jsonFile struct {
	*source
	all []byte
	at  int // where the line at hand is; values are looked for behind it
}

// value reads a value, named what, into v; it leaves v as it is where there is no value.
func (j *jsonFile) value(raw json.RawMessage, what string, v any) {
	if raw != nil {
		j.move(max(bytes.Index(j.all[j.at:], raw), 0))
		j.check(json.Unmarshal(raw, v), what)
		j.move(1)
	}
}

// move goes on by so many bytes.
func (j *jsonFile) move(bytesOn int) {
	j.line += bytes.Count(j.all[j.at:j.at+bytesOn], []byte("\n"))
	j.at += bytesOn
}

// check ends the read by the error of a value that begins at hand.
func (j *jsonFile) check(err error, what string) {
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		j.move(max(int(syntax.Offset)-1, 0))
		refuse("the file may have been cut off: save it again", "this is no JSON: %w", err)
	case errors.As(err, &other):
		j.move(min(int(other.Offset), len(j.all)-j.at))
		refuse("save the file again by 3D Slicer", "%s is a JSON %s", strings.Trim(what+": "+other.Field, ": "), other.Value)
	}
	try.Do(err)
}

// markup reads a list of points, or a curve, and returns its type. All lists have the unit of the first.
func (j *jsonFile) markup(raw json.RawMessage, first bool) (kind string) {
	var list struct {
		Type, CoordinateSystem, CoordinateUnits json.RawMessage
		ControlPoints                           []json.RawMessage `json:"controlPoints"`
	}
	j.value(raw, "a markup", &list)
	at, line, from := j.at, j.line, len(j.Labels)
	begin := func() { j.at, j.line = at, line }
	j.value(list.Type, "type", &kind)
	if !slices.Contains([]string{"", "Fiducial", "Line", "Angle", "Curve", "ClosedCurve"}, kind) {
		refuse("save a list of points, a curve, a line or an angle", "%w",
			notLandmarks("the type of the markup is "+text.Clip(kind)+", whose control points are no landmarks"))
	}
	begin()
	system := "LPS"
	j.value(list.CoordinateSystem, "coordinateSystem", &system)
	system = slicerSystem(system)
	begin()
	var code [3]string // "mm", or the code of a terminology: ["mm", "UCUM", "millimeter"]
	if bytes.HasPrefix(list.CoordinateUnits, []byte("[")) {
		j.value(list.CoordinateUnits, "coordinateUnits", &code)
	} else {
		j.value(list.CoordinateUnits, "coordinateUnits", &code[0])
	}
	refuseIf(!first && code[0] != j.Unit, "save each in the same unit", "the unit of a markup is %q, that of the first %q", code[0], j.Unit)
	j.Unit = code[0]
	begin()
	for _, point := range list.ControlPoints {
		j.controlPoint(point)
	}
	toLPS(system, j.Data.Specimens[0].Points[from:])
	return kind
}

// controlPoint is a point of a markup.
type controlPoint struct {
	ID             any             `json:"id"`
	Label          string          `json:"label"`
	Position       json.RawMessage `json:"position"` // three numbers, or an empty text
	PositionStatus string          `json:"positionStatus"`
}

func (j *jsonFile) controlPoint(raw json.RawMessage) {
	landmark, point := len(j.Labels), missing()
	p := controlPoint{PositionStatus: "defined"}
	j.value(raw, fmt.Sprintf("landmark %d", landmark), &p)
	if isPlaced(landmark, p.PositionStatus) {
		var position [3]*float64 // of a longer array Unmarshal drops the rest, and null leaves nil
		err := json.Unmarshal(p.Position, &position)
		refuseIf(err != nil || slices.Contains(position[:], nil) || bytes.Count(p.Position, []byte(",")) != 2,
			`write them, or "positionStatus": "undefined" if it is missing`, "landmark %d: the position %s is not three numbers", landmark,
			text.Clip(string(p.Position)))
		for c, v := range position {
			point[c] = *v
		}
	}
	j.put(point, p.Label)
}

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
