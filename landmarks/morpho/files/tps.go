package files

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

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
// other specimens. SCALE multiplies the coordinates, but not codes of missing landmarks (see morpho.Dataset.CheckCodes). Where some specimens have
// none, no coordinate is multiplied, and the data are Unscaled. The name is ID=, or what stands behind the number of LM=, else IMAGE=, which
// is also taken where names repeat, else the specimen's number. A comment COMMENT=group=g gives the group; other keys, as many lines as
// RADII= announces, and lines that begin with # or ", are passed over. LM=0 without points is an image not yet digitised; it stays in the
// data with no points (morpho.Dataset.Validate names it). Where the first landmark behind LM= has three coordinates, all have.
//
// Missing landmarks are NA or NaN. tpsDig writes them as negative coordinates: where a record names an IMAGE= (so that coordinates are
// pixels), a landmark is missing if all its coordinates are negative and no other coordinate of the record is. Without IMAGE= the same holds
// if all these coordinates are −1, with a note. Elsewhere negative coordinates are coordinates.
func readTPS(in *source) {
	in.open = true
	records := in.tpsRecords()
	in.decimals()
	coded := false
	for _, r := range records {
		in.line = r.line
		coded = r.mark() || coded
	}
	if coded {
		in.note("landmarks at -1 beside others without negative coordinates were taken for missing")
	}
	in.line = 0
	in.scaleTPS(records)
	ids, images := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		ids[r.id], images[r.image] = true, true
	}
	byImage := len(ids) < len(records) && len(images) == len(records) && !images[""]
	if byImage && (len(ids) > 1 || !ids[""]) {
		in.note("ID= repeats: specimens are called by IMAGE=")
	}
	for _, r := range records {
		if r.Name = cmp.Or(r.id, r.image); byImage {
			r.Name = r.image
		}
		in.add(r.Specimen)
		in.curves = append(in.curves, r.parts)
	}
}

// tpsRecord is one specimen of a TPS file.
type tpsRecord struct {
	Specimen
	line, dim int // line of its LM=
	announced int // curves that are not yet read
	parts     [][2]int
	id, image string
	scale     float64
	keys      map[string]int // line of the keys that may stand once
}

// tpsRecords reads the records.
func (in *source) tpsRecords() (records []*tpsRecord) {
	var r *tpsRecord
	space, radii := false, false
	for in.next() {
		if in.text[0] == '#' || in.text[0] == '"' {
			continue
		}
		key, value, isKey := strings.Cut(in.text, "=")
		key, value = strings.ToUpper(strings.TrimSpace(key)), strings.TrimSpace(value)
		begins := isKey && (key == "LM" || key == "LM3")
		switch {
		case r == nil && !isKey:
			refuse("begin each specimen with LM= and the number of its landmarks", "%s before the first LM= or LM3=", text.Clip(in.text))
		case r == nil && !begins:
			refuse("begin each specimen with it, with LM=0 if it has no landmarks", "%s= before the first LM= or LM3=", text.Clip(key))
		case !isKey:
			refuse("correct the number behind LM= or POINTS=, or remove the line",
				"%s is neither KEY=value nor one of the %d points announced for the record of line %d", text.Clip(in.text), len(r.Points), r.line)
		case begins:
			r = &tpsRecord{line: in.line, dim: 2, keys: map[string]int{}}
			if key == "LM3" {
				r.dim = 3
			}
			records = append(records, r)
			value, r.id, _ = strings.Cut(value, " ")
			r.id = strings.TrimSpace(r.id)
			r.read(in, key, value)
			space = space || key == "LM" && r.dim == 3
		case key == "POINTS":
			if r.announced--; r.announced < 0 {
				refuse("write CURVES= with the number of curves before them", "POINTS=, but CURVES= or OUTLINES= announce no further curve")
			}
			from := len(r.Points)
			r.read(in, key, value)
			r.parts = append(r.parts, [2]int{from, len(r.Points)})
		case key == "CURVES" || key == "OUTLINES":
			r.announced += try.Get(text.Count("curves", value))
		case key == "RADII":
			radii = true
			in.announced(key, value, func(int) string { return "a radius" }, func(int) {})
		default:
			r.set(in, key, value)
		}
	}
	if len(records) == 0 {
		in.refuseAt(0, "begin each specimen with LM= and the number of its landmarks", "no LM= or LM3=, so no specimens")
	}
	if space {
		in.note("LM= stands above landmarks of three coordinates: they are in space")
	}
	if radii {
		in.note("the lines behind RADII= were passed over")
	}
	return records
}

// announced calls each with the numbers of as many lines as a key announces.
func (in *source) announced(key, value string, what func(i int) string, each func(i int)) {
	count, err := text.Count("points", value)
	try.FailIf(err != nil, "%s= announces %w", key, err)
	from := in.line
	for i := range count {
		if !in.next() {
			refuse("the file may have been cut off: save it again", "the file ends before %s: %s=%d in line %d announces %d more", what(i), key, count, from,
				count-i)
		}
		if strings.Contains(in.text, "=") {
			refuse("correct the number there, or write NA NA in a line for each missing landmark",
				"%s where %s belongs: %s=%d in line %d announces %d more", text.Clip(in.text), what(i), key, count, from, count-i)
		}
		each(i)
	}
}

// read reads the points that LM=, LM3= or POINTS= announce.
func (r *tpsRecord) read(in *source, key, value string) {
	in.announced(key, value, func(int) string { return fmt.Sprint("landmark ", len(r.Points)) }, func(int) {
		if len(r.Points) == 0 && len(strings.Fields(in.text)) == 3 {
			r.dim = 3
		}
		r.Points = append(r.Points, try.Get(in.coordinates(len(r.Points), r.dim)))
	})
}

func (r *tpsRecord) set(in *source, key, value string) {
	if slices.Contains([]string{"ID", "IMAGE", "SCALE"}, key) {
		if line, twice := r.keys[key]; twice {
			refuse("begin each specimen with LM=, with LM=0 if it has no landmarks", "a second %s= (the first is in line %d) in one record", key, line)
		}
		r.keys[key] = in.line
	}
	switch key {
	case "ID":
		r.id = value
	case "IMAGE":
		r.image = value
	case "COMMENT":
		if group, ok := strings.CutPrefix(value, "group="); ok {
			r.Group = strings.TrimSpace(group)
		}
	case "SCALE":
		v, err := in.coordinate(value)
		refuseIf(err != nil || !(v > 0), "write the length of a pixel", "SCALE=%s is not a positive number", text.Clip(value))
		r.scale = v
	}
}

// mark makes negative pixels missing landmarks, and says whether it did so without an image.
func (r *tpsRecord) mark() (coded bool) {
	refuseIf(r.announced > 0, "correct the number behind CURVES=, or write their POINTS=",
		"the record of this line announces %d more curves than it has POINTS=", r.announced)
	var gone [][]float64
	for _, p := range r.Points {
		switch negative := floats.Count(func(v float64) bool { return v < 0 }, p); negative {
		case 0:
		case len(p):
			gone = append(gone, p)
		default:
			return false // not pixels
		}
	}
	if r.image == "" && (len(r.Points) < fewest || slices.ContainsFunc(gone, func(p []float64) bool { return !IsCode(p, -1) })) {
		return false // not known to be pixels
	}
	for _, p := range gone {
		copy(p, missing())
	}
	return r.image == "" && gone != nil
}

// scaleTPS applies SCALE=, unless some specimens have none.
func (in *source) scaleTPS(records []*tpsRecord) {
	var without []string
	for _, r := range records {
		if len(r.Points) > 0 && r.scale > 0 {
			in.scaled = true
		} else if len(r.Points) > 0 {
			without = append(without, cmp.Or(r.id, r.image, fmt.Sprintf("line %d", r.line)))
		}
	}
	in.unscaled = !in.scaled
	if in.Unscaled = in.scaled && without != nil; in.Unscaled {
		in.note("no SCALE= in %d of %d records: no coordinate was multiplied by it, and specimens have no sizes: %s", len(without), len(records),
			text.Names(without))
	}
	for _, r := range records {
		for l, p := range r.Points {
			if !in.scaled || in.Unscaled || AtCode(p) { // scaled, it would be no code
				continue
			}
			for c := range p {
				if p[c] *= r.scale; math.IsInf(p[c], 0) {
					in.refuseAt(r.line, "correct them", "in the record of this line, landmark %d: %s times SCALE is infinite", l, text.Axis(c))
				}
			}
		}
	}
}

// writeTPS writes LM= (LM3=), the points, ID= and, where there is a group, COMMENT=group=…; NA where a landmark is missing. Curves at the end of the
// landmarks are written behind CURVES= and POINTS=. SCALE=1 says that lengths are those of the unit, where this is known. Counts and dimensions may
// differ between specimens.
func writeTPS(out *bufio.Writer, d *Data) {
	d.check()
	for _, s := range d.Specimens {
		key, loose := "LM", len(s.Points)
		if loose > 0 && len(s.Points[0]) == 3 {
			key = "LM3"
		}
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
}

// curvesAreLast says whether the curves are the last of n landmarks, one behind the other.
func (d *Data) curvesAreLast(n int) bool {
	for k := len(d.Curves) - 1; k >= 0; k-- {
		if c := d.Curves[k]; c[1] != n || c[0] < 0 || c[0] >= n {
			return false
		}
		n = d.Curves[k][0]
	}
	return len(d.Curves) > 0
}

// writeRows writes a line for each point.
func writeRows(out *bufio.Writer, points [][]float64) {
	for _, p := range points {
		for c, v := range p {
			out.WriteString(" "[:min(c, 1)] + format(v))
		}
		out.WriteByte('\n')
	}
}
