package files

import (
	"cmp"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// pickedPoint is a point of XML.
type pickedPoint struct {
	X      string `xml:"x,attr"`
	Y      string `xml:"y,attr"`
	Z      string `xml:"z,attr"`
	Name   string `xml:"name,attr"`
	Active string `xml:"active,attr"`
}

// readPickedPoints reads the points that were picked in MeshLab, .pp:
//
//	<!DOCTYPE PickedPoints><PickedPoints>
//	  <point x="0.58" y="187.8" z="46.3" name="nasion" active="1"/>
//
// A point that is not active is a missing landmark. Names are the Labels, unless they are numbers that count the points. The file is one
// specimen of its name.
func readPickedPoints(in *source) {
	var file struct {
		XMLName xml.Name      `xml:"PickedPoints"`
		Points  []pickedPoint `xml:"point"`
	}
	try.Do(markup.Parse(in.All(), in.Source, &file, in.Budget))
	in.one("")
	for l, p := range file.Points {
		point := missing()
		if p.Active != "0" {
			point = try.Get(in.point(l, p.X, p.Y, p.Z))
		}
		in.put(point, p.Name)
	}
	in.complete()
	if in.Labels != nil && counted(len(in.Labels), func(l int) string { return in.Labels[l] }) != "" {
		in.Labels = nil
	}
}

// readMITK reads a point set of the Medical Imaging Interaction Toolkit, .mps:
//
//	<point_set_file><point_set><time_series>
//	  <point><id>0</id><specification>0</specification><x>10.5</x><y>-3</y><z>7.25</z></point>
//
// Points are landmarks in the order of their numbers. The file is one specimen of its name, and its unit mm. A geometry that moves the points
// is an error, and so are several point sets or times.
func readMITK(in *source) {
	type points struct {
		Geometry []struct {
			Attributes []xml.Attr `xml:",any,attr"`
		} `xml:"Geometry3D>IndexToWorld"`
		Offset []struct {
			Attributes []xml.Attr `xml:",any,attr"`
		} `xml:"Geometry3D>Offset"`
		Points []struct {
			ID string `xml:"id"`
			X  string `xml:"x"`
			Y  string `xml:"y"`
			Z  string `xml:"z"`
		} `xml:"point"`
	}
	var file struct {
		XMLName xml.Name `xml:"point_set_file"`
		Sets    []struct {
			Series []points `xml:"time_series"`
			points
		} `xml:"point_set"`
	}
	try.Do(markup.Parse(in.All(), in.Source, &file, in.Budget))
	var sets []points
	for _, s := range file.Sets {
		if len(s.Series) == 0 {
			s.Series = []points{s.points}
		}
		sets = append(sets, s.Series...)
	}
	refuseIf(len(sets) != 1, "save each in a file of its own", "%d point sets or times: a file is one specimen", len(sets))
	for _, part := range append(sets[0].Geometry, sets[0].Offset...) {
		for _, a := range part.Attributes {
			one := a.Name.Local == "m_0_0" || a.Name.Local == "m_1_1" || a.Name.Local == "m_2_2"
			v, err := text.Number(a.Value)
			refuseIf(a.Name.Local != "type" && (err != nil || one && v != 1 || !one && v != 0), "save the points with the identity as their geometry",
				"the geometry of the points moves them: %s is %s", a.Name.Local, text.Clip(a.Value))
		}
	}
	in.one("mm")
	var ids []int
	at := map[int][]float64{}
	for i, p := range sets[0].Points {
		id, err := text.Count("id", p.ID)
		refuseIf(err != nil, "give each point a number of its own", "point %d: %w", i, err)
		refuseIf(at[id] != nil, "give each point a number of its own", "two points have the number %d", id)
		ids, at[id] = append(ids, id), try.Get(in.point(id, p.X, p.Y, p.Z))
	}
	slices.Sort(ids)
	for _, id := range ids {
		in.put(at[id], "")
	}
	in.complete()
	if first, last := ids[0], ids[len(ids)-1]; last != first+len(ids)-1 {
		in.note("the numbers of the points, from %d to %d, have gaps: landmarks are counted without them", first, last)
	}
}

var (
	amiraHead    = regexp.MustCompile(`^\s*#\s*(AmiraMesh|Avizo)`)
	amiraMarkers = regexp.MustCompile(`(?i)^define\s+Markers\s+(\d+)$`)
	amiraArray   = regexp.MustCompile(`(?i)^Markers\s*\{\s*(?:float|double)\[3\]\s*(\w+)\s*\}\s*=?\s*(@\d+)`)
)

// readAmira reads the landmarks of Avizo and Amira, .landmarkAscii: behind define Markers n and Markers { float[3] Coordinates } @1, the lines of
// three coordinates below @1. The file is one specimen of its name; several sets of landmarks, which are those of several specimens, are an error.
func readAmira(in *source) {
	announced, section, sets := 0, "", map[string]string{}
	in.one("")
	in.plain, in.open = false, true
	refuseIf(!in.next() || !amiraHead.MatchString(in.text), "save the landmarks by Avizo or Amira as ASCII",
		"the file does not begin with # Avizo or # AmiraMesh")
	for in.next() {
		if m := amiraMarkers.FindStringSubmatch(in.text); m != nil {
			announced = try.Get(text.Count("markers", m[1]))
		}
		if m := amiraArray.FindStringSubmatch(in.text); m != nil {
			sets[m[2]] = m[1]
		}
		switch {
		case in.text[0] == '@':
			section = in.text
		case sets[section] == "Coordinates":
			in.Spend(input.Cells, 8)
			in.put(try.Get(in.coordinates(len(in.Labels), 3)), "")
		}
	}
	switch {
	case len(sets) > 1:
		in.refuseAt(0, "save each set in a file of its own", "%d sets of landmarks: a file is one specimen", len(sets))
	case announced != len(in.Labels):
		in.refuseAt(0, "the file may have been cut off: save it again", "%d markers are announced, and there are %d", announced, len(in.Labels))
	}
	in.complete()
}

// checkpointPoint matches a landmark of a file of Checkpoint: number, status, coordinates, and the label in quotation marks.
var checkpointPoint = regexp.MustCompile(`^(\d{1,9}):\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+\S+\s+\S+\s+"([^"]*)"`)

// readCheckpoint reads the landmarks of a file of Stratovan Checkpoint, .ckpt, versions 5 and 6: the section
//
//	[Landmarks]
//	NumberOfPoints: 21
//	Units: um
//	0: 0 N 0x48 1469.846313 390.145691 1028.751099 0.698689 -0.657508 -0.281988 "eye_tip_L" 0 1
//
// whose lines have a number, which begins at 0, whether the landmark is there (N) or missing (M), its coordinates, a direction and its name.
// Points of curves and patches are landmarks in their places. A number that is left out is a missing landmark; Notes say so. The file is one
// specimen of its name, names are the Labels, and the Unit is that of the section.
func readCheckpoint(in *source) {
	section, announced, found, ended := "", -1, false, false
	in.one("")
	for in.next() {
		if in.text[0] == '[' {
			ended = ended || found
			section = strings.ToLower(strings.Trim(in.text, "[]"))
			found = found || section == "landmarks"
			continue
		}
		if section != "landmarks" {
			continue
		}
		key, value, _ := strings.Cut(in.text, ":")
		switch value = strings.TrimSpace(value); key {
		case "NumberOfPoints":
			announced = try.Get(text.Count("points", value))
			in.Spend(input.Coordinates, 3*announced)
			continue
		case "Units":
			in.Unit = cmp.Or(unitIn(value), value)
			continue
		}
		m := checkpointPoint.FindStringSubmatch(in.text)
		refuseIf(m == nil, "save the file again by Checkpoint",
			"%s is no landmark of Checkpoint: number, status, coordinates, direction, name", text.Clip(in.text))
		landmark, _ := strconv.Atoi(m[1]) // nine digits at most
		refuseIf(landmark < len(in.Labels) || landmark >= announced, "save the file again by Checkpoint",
			"landmark %d after %d of the %d that are announced", landmark, len(in.Labels), announced)
		in.lack(landmark)
		point := missing()
		switch m[2] {
		case "M":
		case "N":
			point = try.Get(in.point(landmark, m[3:6]...))
		default:
			refuse("write N for a landmark that is there, M for a missing one", "landmark %d: the status is %s", landmark, text.Clip(m[2]))
		}
		in.put(point, m[6])
	}
	switch {
	case !found:
		refuse("save the file by Checkpoint, with landmarks", "no section [Landmarks]")
	case announced < 0:
		refuse("save the file again by Checkpoint", "the section [Landmarks] has no NumberOfPoints")
	case !ended:
		refuse("save the file again by Checkpoint", "the file ends within [Landmarks], after %d of %d points", len(in.Labels), announced)
	}
	in.lack(announced)
	in.complete()
}

// lack adds missing landmarks up to one, and notes them.
func (in *source) lack(to int) {
	const told = 20
	for from := len(in.Labels); len(in.Labels) < to; {
		if l := len(in.Labels); l < from+told {
			in.note("landmark %d is not in the file: missing", l)
		} else if l == from+told {
			in.note("landmarks %d to %d are not in the file: missing", l, to-1)
		}
		in.put(missing(), "")
	}
}

var stereoTag = regexp.MustCompile(`^<(/?)([^\s<>]+)([^<>]*)>(.*)$`)

// readStereoMorph reads the shapes of StereoMorph, a file for each photograph or specimen:
//
//	<shapes type=list>
//	  <landmarks.scaled type=matrix rownames=TRUE as.numeric=TRUE>
//	    nasion	10.5	-3
//	  </landmarks.scaled>
//
// Of landmarks, landmarks.scaled and landmarks.pixel it takes the first that is there. Row names are Labels. Curves (curves.scaled, curves.pixel) are
// landmarks if Reading.Resample says how many points each is to have.
func readStereoMorph(in *source) {
	in.one("")
	tables := in.stereoTables()
	kind, list := "", stereoTable{}
	for _, k := range []string{".pixel", ".scaled", ""} {
		for _, t := range tables {
			if t.name == "landmarks"+k && len(t.points) > 0 {
				kind, list = k, t
			}
		}
	}
	in.unscaled = kind == ".pixel"
	in.scaled = !in.unscaled
	curves := [][2]int{}
	for _, t := range tables {
		if t.within != "curves"+kind {
			continue
		}
		if len(in.Resample) == 0 {
			in.note("curves were passed over: --resample %s=20 takes 20 points of one, for example", t.name)
			break
		}
		from := len(list.points)
		list.points = append(list.points, t.points...)
		list.labels = append(list.labels, make([]string, from-len(list.labels))...)
		for k := range t.points {
			list.labels = append(list.labels, t.name+" "+strconv.Itoa(k+1))
		}
		curves = append(curves, [2]int{from, len(list.points)})
	}
	if len(list.points) == 0 {
		in.refuseAt(0, "digitise landmarks in StereoMorph, or leave the file out", "no landmarks")
	}
	in.Labels, in.Specimens[0].Points = list.labels, list.points
	in.curves, in.curveNames = [][][2]int{curves}, namesOfCurves(in.Labels, curves)
}

// stereoTable is a matrix of StereoMorph, within another element.
type stereoTable struct {
	name, within string
	points       [][]float64
	labels       []string
}

// stereoTables reads matrices of landmarks, and lists of curves.
func (in *source) stereoTables() (tables []stereoTable) {
	var open []string
	reading, named, titled := false, false, false
	for in.next() {
		m := stereoTag.FindStringSubmatch(in.text)
		switch {
		case m != nil && m[1] != "":
			open, reading = open[:max(len(open)-1, 0)], false
		case m != nil && !strings.Contains(m[4], "</"):
			open = append(open, m[2])
			within := append([]string{"", ""}, open...)[len(open)]
			named, titled = strings.Contains(m[3], "rownames=TRUE"), strings.Contains(m[3], "colnames=TRUE")
			if strings.HasPrefix(m[2], "landmarks") || len(open) > 2 && strings.HasPrefix(within, "curves") {
				tables, reading = append(tables, stereoTable{name: m[2], within: within}), true
			}
		case reading:
			cells := strings.Split(in.text, "\t")
			if !named && !titled && len(cells) == 1 {
				cells = strings.Fields(in.text)
			}
			if titled {
				if titled = false; !slices.ContainsFunc(cells, IsNumber) {
					continue
				}
			}
			t := &tables[len(tables)-1]
			if named {
				t.labels, cells = append(t.labels, strings.TrimSpace(cells[0])), cells[1:]
			}
			refuseIf(len(cells) != 2 && len(cells) != 3, "save the shapes again by StereoMorph", "%s is no row of two or three coordinates",
				text.Clip(in.text))
			t.points = append(t.points, try.Get(in.point(len(t.points), cells...)))
		}
	}
	if len(open) > 0 {
		refuse("the file may have been cut off: save it again", "the file ends within <%s>", open[len(open)-1])
	}
	return tables
}
