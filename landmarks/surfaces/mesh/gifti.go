package mesh

import (
	"compress/zlib"
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

type giftiArray struct {
	Intent   string `xml:",attr"`
	DataType string `xml:",attr"`
	Order    string `xml:"ArrayIndexingOrder,attr"`
	Rank     string `xml:"Dimensionality,attr"`
	Dim0     string `xml:",attr"`
	Dim1     string `xml:",attr"`
	Encoding string `xml:",attr"`
	Endian   string `xml:",attr"`
	Data     string
}

// readGIfTI reads the surface of a GIfTI file (.surf.gii of FreeSurfer, the Human Connectome Project, Workbench): its pointset and its
// triangles, as text, base64 or compressed base64. Coordinates are those of the file, in mm with x to the right, y to the front
// and z up (RAS); its CoordinateSystemTransformMatrix is not applied. Files of values on a surface (.shape.gii, .func.gii) hold none.
func readGIfTI(in *text.Reader, b *builder) {
	f, name := &numbers{Reader: in}, in.File
	b.in = f
	var doc struct {
		XMLName xml.Name     `xml:"GIFTI"`
		Arrays  []giftiArray `xml:"DataArray"`
	}
	try.Do(markup.Parse(f.whole(), name, &doc, in.Budget))
	seen := map[string]bool{}
	for i := range doc.Arrays {
		a := &doc.Arrays[i]
		err := try.Run(func() {
			text.RefuseIf(seen[a.Intent] && (a.Intent == "NIFTI_INTENT_POINTSET" || a.Intent == "NIFTI_INTENT_TRIANGLE"),
				"save each surface in a file of its own", "a second one: a file with one surface is read")
			seen[a.Intent] = true
			switch a.Intent {
			case "NIFTI_INTENT_POINTSET":
				b.vertices = slices.Collect(slices.Chunk(a.numbers(f), 3))
			case "NIFTI_INTENT_TRIANGLE":
				b.triangles = slices.Collect(slices.Chunk(vertexNumbers(a.numbers(f)), 3))
			}
		})
		try.Do(try.Name(err, "%s: array %d (%s)", name, i, a.Intent))
	}
	text.RefuseIf(!seen["NIFTI_INTENT_POINTSET"], "give the file of the surface, such as .surf.gii",
		"%s: no NIFTI_INTENT_POINTSET: the file holds values on a surface, not the surface", name)
}

// numbers are those of an array of rows of three, row by row.
func (a *giftiArray) numbers(f *numbers) (flat []float64) {
	t := typeCalled(a.DataType, "nifti_type_")
	text.RefuseIf(a.Rank != "2" || a.Dim1 != "3", again, "%s dimensions, the second %s: want 2 and 3", text.Clip(a.Rank), text.Clip(a.Dim1))
	n := try.Get(text.Count("rows", a.Dim0))
	f.Spend(input.Numbers, 3*n)
	f.order = byteOrder("Endian", a.Endian)
	switch a.Encoding {
	case "ASCII":
		flat = f.words(a.Data, 3*n)
		text.RefuseIf(len(flat) < 3*n, again, "%d of %d numbers", len(flat), 3*n)
	case "Base64Binary", "GZipBase64Binary":
		var r io.Reader = &base64Reader{text: strings.NewReader(a.Data)}
		if a.Encoding == "GZipBase64Binary" { // which is zlib's
			r = try.Get(zlib.NewReader(r))
		}
		flat = f.binary(r, 3*n*t.size, t)
	default:
		text.Refuse(again, "the encoding %s: only ASCII, Base64Binary and GZipBase64Binary are read", text.Clip(a.Encoding))
	}
	if a.Order == "ColumnMajorOrder" {
		return lists.Make(3*n, func(i int) float64 { return flat[i%3*n+i/3] })
	}
	return flat
}
