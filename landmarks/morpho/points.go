package morpho

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// readPickedPoints reads the points that were picked in MeshLab, .pp:
//
//	<!DOCTYPE PickedPoints><PickedPoints>
//	  <point x="0.58" y="187.8" z="46.3" name="nasion" active="1"/>
//
// A point that is not active is a missing landmark. Names are the Labels, unless they are numbers that count the points. The file is one
// specimen of its name.
func readPickedPoints(r io.Reader, name string) (*Dataset, error) {
	return reading(name, func() int { return 0 }, func() *Dataset {
		var file struct {
			XMLName xml.Name `xml:"PickedPoints"`
			Points  []struct {
				X      string `xml:"x,attr"`
				Y      string `xml:"y,attr"`
				Z      string `xml:"z,attr"`
				Name   string `xml:"name,attr"`
				Active string `xml:"active,attr"`
			} `xml:"point"`
		}
		content, within := try.Get2(text.All(r))
		if err := markup.Parse(content, name, &file, within); err != nil {
			try.Do(&placed{err})
		}
		list, numbers := slicerList{system: "LPS"}, []pointRow(nil)
		for l, p := range file.Points {
			point := missingPoint()
			if p.Active != "0" {
				point = try.Get(plainPoint(l, []string{p.X, p.Y, p.Z}))
			}
			list.add(point, p.Name)
			numbers = append(numbers, pointRow{label: p.Name})
		}
		if len(numbers) > 0 && counted(numbers, func(p pointRow) string { return p.label }) != "" {
			list.labels = make([]string, len(list.points))
		}
		d := list.dataset(name)
		d.Unit = ""
		return d
	})
}

var (
	amiraHead    = regexp.MustCompile(`^\s*#\s*(AmiraMesh|Avizo)`)
	amiraMarkers = regexp.MustCompile(`(?i)^define\s+Markers\s+(\d+)$`)
	amiraArray   = regexp.MustCompile(`(?i)^Markers\s*\{\s*(?:float|double)\[3\]\s*(\w+)\s*\}\s*=?\s*(@\d+)`)
)

// readAmira reads the landmarks of Avizo and Amira, .landmarkAscii: behind define Markers n and Markers { float[3] Coordinates } @1, the lines of three
// coordinates below @1. The file is one specimen of its name; several sets of landmarks, which are those of several specimens, are an error.
func readAmira(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset {
		announced, section, sets := 0, "", map[string]string{}
		list := slicerList{system: "LPS"}
		if !in.next() || !amiraHead.MatchString(in.text) {
			refuse("save the landmarks by Avizo or Amira as ASCII", "the file does not begin with # Avizo or # AmiraMesh")
		}
		for in.next() {
			if m := amiraMarkers.FindStringSubmatch(in.text); m != nil {
				announced = try.Get(text.Count("markers", m[1]))
			}
			if m := amiraArray.FindStringSubmatch(in.text); m != nil {
				sets[m[2]] = m[1]
			}
			switch {
			case strings.HasPrefix(in.text, "@"):
				section = in.text
			case sets[section] == "Coordinates":
				in.Spend(input.Cells, 8)
				list.add(try.Get(in.coordinates(len(list.points), 3)), "")
			}
		}
		switch {
		case len(sets) > 1:
			refuseAt(name, 0, "save each set in a file of its own", "%d sets of landmarks: a file is one specimen", len(sets))
		case announced != len(list.points):
			refuseAt(name, 0, "the file may have been cut off: save it again", "%d markers are announced, and there are %d", announced, len(list.points))
		}
		d := list.dataset(name)
		d.Unit = ""
		d.noteEnd(in.Reader)
		return d
	})
}

var (
	stereoHead = regexp.MustCompile(`^\s*<shapes type=list\s*>`)
	stereoTag  = regexp.MustCompile(`^<(/?)([^\s<>]+)([^<>]*)>(.*)$`)
)

// stereo reads the shapes of StereoMorph, a file for each photograph or specimen:
//
//	<shapes type=list>
//	  <landmarks.scaled type=matrix rownames=TRUE as.numeric=TRUE>
//	    nasion	10.5	-3
//	  </landmarks.scaled>
//
// Of landmarks, landmarks.scaled and landmarks.pixel it takes the first that is there. Row names are Labels. Curves (curves.scaled, curves.pixel) are
// landmarks if Reading.Resample says how many points each is to have.
func (as Reading) stereo(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset {
		tables, curves := stereoTables(in)
		d := newDataset(name)
		kind := ""
		for _, k := range []string{".pixel", ".scaled", ""} {
			if tables["landmarks"+k] != nil {
				kind = k
			}
		}
		if s := as.scales; s != nil && kind == ".pixel" {
			s.unscaled = append(s.unscaled, stem(name))
		} else if s != nil {
			s.scaled = append(s.scaled, stem(name))
		}
		points, labels := tables["landmarks"+kind].points, tables["landmarks"+kind].labels
		for _, curve := range curves["curves"+kind] {
			if !as.curves && len(as.Resample) == 0 {
				d.note("curves were passed over: --resample %s=20 takes 20 points of one, for example", curve.name)
				break
			}
			from := len(points)
			points = append(points, curve.points...)
			for k := range curve.points {
				labels = append(labels, curve.name+" "+text.Format(float64(k+1)))
			}
			d.Curves = append(d.Curves, [2]int{from, len(points)})
		}
		if len(points) == 0 {
			refuseAt(name, 0, "digitise landmarks in StereoMorph, or leave the file out", "no landmarks")
		}
		d.Labels, d.Specimens = labels, []Specimen{{Name: stem(name), Points: points}}
		if !as.alone {
			as.resample(d, [][][2]int{d.Curves}, d.curveNames())
			d.Labels = labels[:min(len(labels), len(d.Specimens[0].Points))]
			if len(d.Curves) > 0 {
				d.Labels = nil
			}
		}
		return d
	})
}

// stereoTable is a matrix of StereoMorph.
type stereoTable struct {
	name   string
	points [][]float64
	labels []string
}

// stereoTables reads matrices of landmarks, and lists of curves.
func stereoTables(in *lineReader) (tables map[string]*stereoTable, curves map[string][]*stereoTable) {
	tables, curves = map[string]*stereoTable{"landmarks": nil}, map[string][]*stereoTable{}
	var open []string
	var at *stereoTable
	named, titled := false, false
	for in.next() {
		m := stereoTag.FindStringSubmatch(in.text)
		switch {
		case m != nil && m[1] != "":
			open, at = open[:max(len(open)-1, 0)], nil
		case m != nil && !strings.Contains(m[4], "</"):
			open = append(open, m[2])
			named, titled = strings.Contains(m[3], "rownames=TRUE"), strings.Contains(m[3], "colnames=TRUE")
			switch {
			case strings.HasPrefix(m[2], "landmarks"):
				at = &stereoTable{name: m[2]}
				tables[m[2]] = at
			case len(open) > 2 && strings.HasPrefix(open[len(open)-2], "curves"):
				at = &stereoTable{name: m[2]}
				curves[open[len(open)-2]] = append(curves[open[len(open)-2]], at)
			}
		case at != nil:
			cells := strings.Split(in.text, "\t")
			if !named && !titled && len(cells) == 1 {
				cells = strings.Fields(in.text)
			}
			if titled {
				titled = false
				if !slices.ContainsFunc(cells, isNumber) {
					continue
				}
			}
			label := ""
			if named && len(cells) > 0 {
				label, cells = strings.TrimSpace(cells[0]), cells[1:]
			}
			if len(cells) != 2 && len(cells) != 3 {
				refuse("save the shapes again by StereoMorph", "%s is no row of two or three coordinates", text.Clip(in.text))
			}
			in.Spend(input.Coordinates, len(cells))
			at.points = append(at.points, try.Get(plainPoint(len(at.points), cells)))
			if named {
				at.labels = append(at.labels, label)
			}
		}
	}
	if len(open) > 0 {
		refuse("the file may have been cut off: save it again", "the file ends within <%s>", open[len(open)-1])
	}
	for k, table := range tables {
		if table == nil || len(table.points) == 0 {
			delete(tables, k)
		}
	}
	if len(tables) == 0 {
		tables["landmarks"] = &stereoTable{}
	}
	return tables, curves
}
