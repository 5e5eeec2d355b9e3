package morpho

import (
	"cmp"
	"encoding/xml"
	"io"
	"slices"

	"anatomy/geom/try"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// mitkFile is a file of point sets.
type mitkFile struct {
	XMLName xml.Name `xml:"point_set_file"`
	Sets    []struct {
		Series []mitkPoints `xml:"time_series"`
		mitkPoints
	} `xml:"point_set"`
}

type mitkPoints struct {
	Matrix struct {
		Attributes []xml.Attr `xml:",any,attr"`
	} `xml:"Geometry3D>IndexToWorld"`
	Offset struct {
		Attributes []xml.Attr `xml:",any,attr"`
	} `xml:"Geometry3D>Offset"`
	Points []struct {
		ID string `xml:"id"`
		X  string `xml:"x"`
		Y  string `xml:"y"`
		Z  string `xml:"z"`
	} `xml:"point"`
}

// readMITK reads a point set of the Medical Imaging Interaction Toolkit, .mps:
//
//	<point_set_file><point_set><time_series>
//	  <point><id>0</id><specification>0</specification><x>10.5</x><y>-3</y><z>7.25</z></point>
//
// Points are landmarks in the order of their numbers. The file is one specimen of its name, and its unit mm. A geometry that moves the points
// is an error, and so are several point sets or times.
func readMITK(r io.Reader, name string) (*Dataset, error) {
	return reading(name, func() int { return 0 }, func() *Dataset { return parseMITK(r, name) })
}

func parseMITK(r io.Reader, name string) *Dataset {
	var file mitkFile
	content, within := try.Get2(text.All(r))
	if err := markup.Parse(content, name, &file, within); err != nil {
		try.Do(&placed{err})
	}
	var sets []mitkPoints
	for _, s := range file.Sets {
		if len(s.Series) == 0 {
			s.Series = []mitkPoints{s.mitkPoints}
		}
		sets = append(sets, s.Series...)
	}
	if len(sets) != 1 {
		refuse("save each in a file of its own", "%d point sets or times: a file is one specimen", len(sets))
	}
	set := sets[0]
	for _, a := range slices.Concat(set.Matrix.Attributes, set.Offset.Attributes) {
		one := a.Name.Local == "m_0_0" || a.Name.Local == "m_1_1" || a.Name.Local == "m_2_2"
		v, err := text.Number(a.Value)
		if a.Name.Local != "type" && (err != nil || one && v != 1 || !one && v != 0) {
			refuse("save the points with the identity as their geometry", "the geometry of the points moves them: %s is %s", a.Name.Local, text.Clip(a.Value))
		}
	}
	type numbered struct {
		id    int
		point []float64
	}
	var points []numbered
	for i, p := range set.Points {
		id, err := text.Count("id", p.ID)
		if err != nil {
			refuse("give each point a number of its own", "point %d: %w", i, err)
		}
		points = append(points, numbered{id, try.Get(plainPoint(id, []string{p.X, p.Y, p.Z}))})
	}
	slices.SortStableFunc(points, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	list := slicerList{system: "LPS"}
	for i, p := range points {
		if i > 0 && p.id == points[i-1].id {
			refuse("give each point a number of its own", "two points have the number %d", p.id)
		}
		list.add(p.point, "")
	}
	d := list.dataset(name)
	if points[len(points)-1].id != points[0].id+len(points)-1 {
		d.note("the numbers of the points, from %d to %d, have gaps: landmarks are counted without them", points[0].id, points[len(points)-1].id)
	}
	return d
}
