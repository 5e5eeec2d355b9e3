package morpho

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
)

// readTPS reads the TPS format of Rohlf's tps programs (tpsDig, tpsUtil): for each specimen
//
//	LM=2            (LM3= for three coordinates)
//	103.5 221
//	98 14.25
//	CURVES=1        (optional; OUTLINES= likewise)
//	POINTS=20       … twenty points
//	IMAGE=a.jpg
//	ID=a
//	SCALE=0.05
//
// Points of curves and outlines follow the landmarks in Points, in order; see Reading.Resample where curves have other numbers of points in
// other specimens. SCALE multiplies the coordinates, but not codes of missing landmarks (see Dataset.CheckCodes). Where some specimens have
// none, no coordinate is multiplied, and the data set is Unscaled. The name is ID=, or what stands behind the number of LM=, else IMAGE=, which
// is also taken where names repeat, else the specimen's number. A comment COMMENT=group=g gives the group; other keys, as many lines as
// RADII= announces, and lines that begin with # or ", are passed over. LM=0 without points is an image not yet digitised; it stays in the
// data set with no points (Validate names it). Where the first landmark behind LM= has three coordinates, all have.
//
// Missing landmarks are NA or NaN. tpsDig writes them as negative coordinates: where a record names an IMAGE= (so that coordinates are
// pixels), a landmark is missing if all its coordinates are negative and no other coordinate of the record is. Without IMAGE= the same holds
// if all these coordinates are −1, with a note. Elsewhere negative coordinates are coordinates.
func readTPS(r io.Reader, name string) (*Dataset, error) {
	return Reading{}.tps(r, name)
}

func (as Reading) tps(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset {
		d := newDataset(name)
		records := parseTPS(in, name, d)
		in.decimals(name)
		d.scaleTPS(as, name, records)
		repeat := false
		ids, images := map[string]bool{}, map[string]bool{}
		for _, r := range records {
			repeat = repeat || ids[r.id]
			ids[r.id], images[r.image] = true, true
		}
		byImage := repeat && len(images) == len(records) && !images[""]
		if byImage && len(ids) > 1 || byImage && !ids[""] {
			d.note("ID= repeats: specimens are called by IMAGE=")
		}
		curves := [][][2]int{}
		for _, r := range records {
			s := Specimen{Name: cmp.Or(r.id, r.image), Group: r.group, Points: r.points}
			if byImage {
				s.Name = r.image
			}
			d.Specimens, curves = append(d.Specimens, s), append(curves, r.parts)
		}
		if as.alone {
			d.Curves = curves[0]
		} else {
			as.resample(d, curves, nil)
		}
		d.noteEnd(in.Reader)
		return d
	})
}

// parseTPS reads the records.
func parseTPS(in *lineReader, name string, d *Dataset) []*tpsRecord {
	var records []*tpsRecord
	var record *tpsRecord
	space, radii := false, false
	for in.next() {
		if strings.HasPrefix(in.text, "#") || strings.HasPrefix(in.text, `"`) {
			continue
		}
		key, value, isKey := strings.Cut(in.text, "=")
		key, value = strings.ToUpper(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch {
		case !isKey && record == nil:
			refuse("begin each specimen with LM= and the number of its landmarks", "%s before the first LM= or LM3=", text.Clip(in.text))
		case !isKey:
			refuse("correct the number behind LM= or POINTS=, or remove the line",
				"%s is neither KEY=value nor one of the %d points announced for the record of line %d", text.Clip(in.text), len(record.points), record.line)
		case key == "LM" || key == "LM3":
			record.close(name)
			in.specimen()
			record = &tpsRecord{line: in.Number, dim: 2, keys: map[string]int{}}
			if key == "LM3" {
				record.dim = 3
			}
			records = append(records, record)
			value, record.id, _ = strings.Cut(value, " ")
			record.id = strings.TrimSpace(record.id)
			record.readPoints(in, key, value)
			space = space || key == "LM" && record.dim == 3
		case record == nil:
			refuse("begin each specimen with it, with LM=0 if it has no landmarks", "%s= before the first LM= or LM3=", text.Clip(key))
		case key == "POINTS":
			if record.curves == 0 {
				refuse("write CURVES= with the number of curves before them", "POINTS=, but CURVES= or OUTLINES= announce no further curve")
			}
			record.curves--
			from := len(record.points)
			record.readPoints(in, key, value)
			record.parts = append(record.parts, [2]int{from, len(record.points)})
		case key == "CURVES" || key == "OUTLINES":
			record.curves += try.Get(text.Count("curves", value))
		case key == "RADII":
			radii = true
			for range try.Get(text.Count("radii", value)) {
				if !in.next() || strings.Contains(in.text, "=") {
					refuse("correct the number behind RADII=, or remove the radii", "fewer lines than RADII=%s announces", value)
				}
			}
		default:
			record.set(in, key, value)
		}
	}
	record.close(name)
	if len(records) == 0 {
		refuseAt(name, 0, "begin each specimen with LM= and the number of its landmarks", "no LM= or LM3=, so no specimens")
	}
	if space {
		d.note("LM= stands above landmarks of three coordinates: they are in space")
	}
	if slices.ContainsFunc(records, func(r *tpsRecord) bool { return r.coded }) {
		d.note("landmarks at -1 beside others without negative coordinates were taken for missing")
	}
	if radii {
		d.note("the lines behind RADII= were passed over")
	}
	return records
}

// tpsRecord is one specimen of a TPS file.
type tpsRecord struct {
	line             int // of its LM=
	dim              int
	points           [][]float64
	curves           int // announced and not yet read
	parts            [][2]int
	id, image, group string
	scale            float64
	coded            bool           // landmarks at −1 −1 are missing
	keys             map[string]int // line of the keys that may stand once
}

// readPoints reads the lines that LM=, LM3= or POINTS= announce.
func (r *tpsRecord) readPoints(in *lineReader, key, value string) {
	count, err := text.Count("points", value)
	if err != nil {
		try.Do(fmt.Errorf("%s= announces %w", key, err))
	}
	from := in.Number
	for i := range count {
		landmark := len(r.points)
		if !in.next() {
			refuse("the file may have been cut off: save it again",
				"the file ends before landmark %d: %s=%d in line %d announces %d more", landmark, key, count, from, count-i)
		}
		if strings.Contains(in.text, "=") {
			refuse("correct the number there, or write NA NA in a line for each missing landmark",
				"%s where landmark %d belongs: %s=%d in line %d announces %d more", text.Clip(in.text), landmark, key, count, from, count-i)
		}
		if landmark == 0 && len(strings.Fields(in.text)) == 3 {
			r.dim = 3
		}
		r.points = append(r.points, try.Get(in.coordinates(landmark, r.dim)))
	}
}

func (r *tpsRecord) set(in *lineReader, key, value string) {
	switch key {
	case "ID", "IMAGE", "SCALE":
		if line, twice := r.keys[key]; twice {
			refuse("begin each specimen with LM=, with LM=0 if it has no landmarks", "a second %s= (the first is in line %d) in one record", key, line)
		}
		r.keys[key] = in.Number
	}
	switch key {
	case "ID":
		r.id = value
	case "IMAGE":
		r.image = value
	case "COMMENT":
		if group, ok := strings.CutPrefix(value, "group="); ok {
			r.group = strings.TrimSpace(group)
		}
	case "SCALE":
		v, err := in.coordinate(value, in.Number)
		if err != nil || !(v > 0) {
			refuse("write the length of a pixel", "SCALE=%s is not a positive number", text.Clip(value))
		}
		r.scale = v
	}
}

// close finishes a record: no curve outstanding, negative pixels turned into missing landmarks.
func (r *tpsRecord) close(file string) {
	if r == nil {
		return
	}
	if r.curves > 0 {
		refuseAt(file, r.line, "correct the number behind CURVES=, or write their POINTS=",
			"the record of this line announces %d more curves than it has POINTS=", r.curves)
	}
	var missing []int
	for l, p := range r.points {
		negative := 0
		for _, v := range p {
			if v < 0 {
				negative++
			}
		}
		switch negative {
		case 0:
		case len(p):
			missing = append(missing, l)
		default:
			return // not pixels
		}
	}
	if r.image == "" && (len(r.points) < fewest || slices.ContainsFunc(missing, func(l int) bool { return !isCode(r.points[l], -1) })) {
		return // not known to be pixels
	}
	r.coded = r.image == "" && len(missing) > 0
	for _, l := range missing {
		for c := range r.points[l] {
			r.points[l][c] = math.NaN()
		}
	}
}

// scaleTPS applies SCALE=, unless some specimens have none.
func (d *Dataset) scaleTPS(as Reading, file string, records []*tpsRecord) {
	var scaled *tpsRecord
	var unscaled []string
	for _, r := range records {
		switch {
		case len(r.points) == 0:
		case r.scale > 0:
			scaled = r
		default:
			unscaled = append(unscaled, cmp.Or(r.id, r.image, fmt.Sprintf("line %d", r.line)))
		}
	}
	if s := as.scales; s != nil && scaled == nil {
		s.unscaled = append(s.unscaled, filepath.Base(file))
	} else if s != nil {
		s.scaled = append(s.scaled, filepath.Base(file))
	}
	if scaled == nil {
		return
	}
	if unscaled != nil {
		d.Unscaled = true
		d.note("no SCALE= in %d of %d records: no coordinate was multiplied by it, and specimens have no sizes: %s", len(unscaled), len(records), listNames(unscaled))
		return
	}
	for _, r := range records {
		for l, p := range r.points {
			scalePoint(p, r.scale)
			if c := slices.IndexFunc(p, func(v float64) bool { return math.IsInf(v, 0) }); c >= 0 {
				refuseAt(file, r.line, "correct them", "in the record of this line, landmark %d: %s times SCALE is infinite", l, axis(c))
			}
		}
	}
}

// writeTPS writes LM= (LM3=), the points, ID= and, where there is a group, COMMENT=group=…; NA where a landmark is missing. Curves at the end of the landmarks
// are written behind CURVES= and POINTS=. SCALE=1 says that lengths are those of the unit, where this is known. Counts and dimensions may
// differ between specimens.
func writeTPS(w io.Writer, d *Dataset) error {
	if err := d.checkWritable(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, s := range d.Specimens {
		key := "LM"
		if len(s.Points) > 0 && len(s.Points[0]) == 3 {
			key = "LM3"
		}
		loose := len(s.Points)
		if d.curvesAreLast(loose) {
			loose = d.Curves[0][0]
		}
		fmt.Fprintf(out, "%s=%d\n", key, loose)
		writeRows(out, s.Points[:loose])
		if loose < len(s.Points) {
			fmt.Fprintf(out, "CURVES=%d\n", len(d.Curves))
			for _, c := range d.Curves {
				fmt.Fprintf(out, "POINTS=%d\n", c[1]-c[0])
				writeRows(out, s.Points[c[0]:c[1]])
			}
		}
		fmt.Fprintf(out, "ID=%s\n", s.Name)
		if s.Group != "" {
			fmt.Fprintf(out, "COMMENT=group=%s\n", s.Group)
		}
		if d.Unit != "" {
			fmt.Fprintln(out, "SCALE=1")
		}
	}
	return out.Flush()
}

// curvesAreLast says whether the curves are the last of n landmarks, one behind the other.
func (d *Dataset) curvesAreLast(n int) bool {
	if len(d.Curves) == 0 || d.Curves[len(d.Curves)-1][1] != n {
		return false
	}
	for k, c := range d.Curves {
		if c[0] < 0 || c[1] <= c[0] || k > 0 && c[0] != d.Curves[k-1][1] {
			return false
		}
	}
	return true
}

// writeRows writes a line for each point.
func writeRows(out *bufio.Writer, points [][]float64) {
	for _, p := range points {
		for c, v := range p {
			if c > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(formatCoordinate(v))
		}
		out.WriteByte('\n')
	}
}
