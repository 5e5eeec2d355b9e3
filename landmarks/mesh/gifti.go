package mesh

import (
	"compress/zlib"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"anatomy/landmarks/internal/markup"
	"anatomy/landmarks/internal/text"
)

// giftiTypes are the element types of GIfTI files.
var giftiTypes = map[string]numberType{
	"NIFTI_TYPE_UINT8": plyTypes["uint8"], "NIFTI_TYPE_INT8": plyTypes["int8"], "NIFTI_TYPE_INT16": plyTypes["int16"], "NIFTI_TYPE_UINT16": plyTypes["uint16"],
	"NIFTI_TYPE_INT32": plyTypes["int32"], "NIFTI_TYPE_UINT32": plyTypes["uint32"], "NIFTI_TYPE_INT64": int64Type, "NIFTI_TYPE_UINT64": uint64Type,
	"NIFTI_TYPE_FLOAT32": plyTypes["float32"], "NIFTI_TYPE_FLOAT64": plyTypes["float64"],
}

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

// ReadGIfTI reads the surface of a GIfTI file (.surf.gii of FreeSurfer, the Human Connectome Project, Workbench): its pointset and its
// triangles, as text, base64 or compressed base64. Coordinates are those of the file, in mm with x to the right, y to the front
// and z up (RAS); its CoordinateSystemTransformMatrix is not applied. Files of values on a surface (.shape.gii, .func.gii) hold none.
func ReadGIfTI(r io.Reader, name string) (*Mesh, error) {
	all, err := io.ReadAll(io.LimitReader(text.Decode(r), 8<<30))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var doc struct {
		XMLName xml.Name     `xml:"GIFTI"`
		Arrays  []giftiArray `xml:"DataArray"`
	}
	if err := markup.Parse(all, name, &doc); err != nil {
		return nil, err
	}
	f := newNumbers(len(all))
	var b builder
	seen := map[string]bool{}
	for i := range doc.Arrays {
		a := &doc.Arrays[i]
		fail := func(err error) (*Mesh, error) {
			return nil, fmt.Errorf("%s: array %d (%s): %w", name, i, a.Intent, err)
		}
		if seen[a.Intent] && (a.Intent == "NIFTI_INTENT_POINTSET" || a.Intent == "NIFTI_INTENT_TRIANGLE") {
			return fail(text.Advise("save each surface in a file of its own", "a second one: a file with one surface is read"))
		}
		seen[a.Intent] = true
		switch a.Intent {
		case "NIFTI_INTENT_POINTSET":
			if b.vertices, err = giftiRows(f, a, asIs); err != nil {
				return fail(err)
			}
		case "NIFTI_INTENT_TRIANGLE":
			if b.triangles, err = giftiRows(f, a, vertexNumber); err != nil {
				return fail(err)
			}
		}
	}
	if !seen["NIFTI_INTENT_POINTSET"] {
		return nil, text.Advise("give the file of the surface, such as .surf.gii", "%s: no NIFTI_INTENT_POINTSET: the file holds values on a surface, not the surface", name)
	}
	return b.mesh(name)
}

// giftiRows returns the rows of three numbers of an array.
func giftiRows[T any](f *numbers, a *giftiArray, convert func(float64) (T, error)) ([][]T, error) {
	t, ok := giftiTypes[a.DataType]
	if !ok {
		return nil, text.Advise(again, "the type %s is unknown", text.Clip(a.DataType))
	}
	if a.Rank != "2" || a.Dim1 != "3" {
		return nil, text.Advise(again, "%s dimensions, the second %s: want 2 and 3", text.Clip(a.Rank), text.Clip(a.Dim1))
	}
	n, err := text.Count("rows", a.Dim0)
	if err != nil {
		return nil, err
	}
	if err := f.spend(3 * n); err != nil {
		return nil, err
	}
	switch a.Endian {
	case "", "LittleEndian":
		f.order = binary.LittleEndian
	case "BigEndian":
		f.order = binary.BigEndian
	default:
		return nil, text.Advise(again, "Endian %s is unknown", text.Clip(a.Endian))
	}
	flat := make([]T, 0, 3*n)
	add := func(v float64) error {
		x, err := convert(v)
		if err != nil {
			return fmt.Errorf("number %d: %w", len(flat), err)
		}
		flat = append(flat, x)
		return nil
	}
	switch a.Encoding {
	case "ASCII":
		for w := range strings.FieldsSeq(a.Data) {
			v, err := text.Number(w)
			if err != nil {
				err = text.Advise(number, "number %d: %w", len(flat), err)
			}
			if err == nil && len(flat) == 3*n {
				err = text.Advise(again, "more than %d numbers", 3*n)
			}
			if err == nil {
				err = add(v)
			}
			if err != nil {
				return nil, err
			}
		}
		if len(flat) < 3*n {
			return nil, text.Advise(again, "%d of %d numbers", len(flat), 3*n)
		}
	case "Base64Binary", "GZipBase64Binary":
		var r io.Reader = &base64Reader{text: strings.NewReader(a.Data)}
		if a.Encoding == "GZipBase64Binary" { // which is zlib's
			if r, err = zlib.NewReader(r); err != nil {
				return nil, err
			}
		}
		if err := f.read(r, 3*n*t.size, t, add); err != nil {
			return nil, err
		}
	default:
		return nil, text.Advise(again, "the encoding %s: only ASCII, Base64Binary and GZipBase64Binary are read", text.Clip(a.Encoding))
	}
	rows := make([][]T, n)
	for i := range rows {
		row := flat[3*i : 3*i+3 : 3*i+3]
		if a.Order == "ColumnMajorOrder" {
			row = []T{flat[i], flat[n+i], flat[2*n+i]}
		}
		rows[i] = row
	}
	return rows, nil
}
