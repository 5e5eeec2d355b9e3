package mesh

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"anatomy/landmarks/internal/text"
)

// readOFF reads the vertices and polygons of an ASCII OFF file of Geomview; colours, normals and texture coordinates (COFF,
// NOFF, STOFF) are passed over.
func readOFF(in *text.Reader, b *builder) {
	// next returns the words of the next line that has some, at most so many.
	next := func(most int, what string, args ...any) []string {
		for {
			line, err := in.Line()
			in.Need(err, what, args...)
			line, _, _ = strings.Cut(line, "#")
			var words []string
			for w := range strings.FieldsSeq(line) {
				if words = append(words, w); len(words) == most {
					break
				}
			}
			if len(words) > 0 {
				return words
			}
		}
	}
	words := next(5, "OFF")
	if kind, is := strings.CutSuffix(words[0], "OFF"); is {
		if words = words[1:]; strings.Contains(kind, "4") || strings.Contains(kind, "n") || len(words) > 0 && words[0] == "BINARY" {
			in.Refuse("save the mesh as ASCII, with three coordinates for each vertex", "%sOFF %s: only ASCII files of vertices in space are read", kind,
				strings.Join(words, " "))
		}
		if len(words) == 0 {
			words = next(4, "the numbers of vertices, faces and edges")
		}
	}
	in.RefuseIf(len(words) < 2 || len(words) > 3, again, "not an OFF file: %s where the numbers of vertices, faces and edges belong",
		text.Clip(strings.Join(words, " ")))
	vertices, faces := in.Count("vertices", words[0]), in.Count("faces", words[1])
	for i := range vertices {
		words = next(3, "vertex %d of %d", i, vertices)
		in.RefuseIf(len(words) < 3, "give each vertex three coordinates", "vertex %d has %d coordinates, want 3", i, len(words))
		b.vertex(coordinates(in, words, "vertex %d", i))
	}
	for i := range faces {
		words = next(maxCorners+1, "face %d of %d", i, faces)
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 1 || n >= len(words) {
			in.Refuse(again, "face %d: %s corners in a line of %d numbers", i, text.Clip(words[0]), len(words)-1)
		}
		cell := make([]int, n)
		for k, w := range words[1 : n+1] {
			if cell[k], err = strconv.Atoi(w); err != nil || cell[k] < 0 || cell[k] >= vertices {
				in.Refuse("correct the number, or "+again, "face %d: there is no vertex %s; they are 0 to %d", i, text.Clip(w), vertices-1)
			}
		}
		b.fan(cell)
	}
}

// writeOFF writes an ASCII OFF file; an edge is a face of two corners, and the vertices of a curve in the plane get z = 0.
func writeOFF(out *bufio.Writer, m *Mesh) {
	fmt.Fprintf(out, "OFF\n%d %d 0\n", len(m.Vertices), len(m.Cells))
	for _, x := range spatial(m.Vertices) {
		writeFloats(out, x)
	}
	for _, c := range m.Cells {
		fmt.Fprintf(out, "%d %s\n", len(c), strings.Trim(fmt.Sprint(c), "[]"))
	}
}
