package mesh

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// readOBJ reads the vertices (v) and the faces (f) or lines (l) of a Wavefront OBJ file. Negative numbers count back from
// the last vertex; what belongs to rendering is passed over.
func readOBJ(in *text.Reader, b *builder) {
	for line := range in.Lines() {
		// A comment ends with its line, whatever that ends with.
		if line, _, _ = strings.Cut(line, "#"); strings.HasSuffix(line, "\\") {
			var whole strings.Builder
			for more := true; more; {
				line, more = strings.CutSuffix(line, "\\")
				whole.WriteString(line)
				in.Spend(input.Numbers, 1) // a line that goes on holds a corner
				in.RefuseIf(whole.Len() > text.MaxLine, again, "the line is longer than %d MiB", text.MaxLine>>20)
				if more {
					whole.WriteByte(' ')
					rest, err := in.Line()
					in.Need(err, "the rest of the line")
					line, _, _ = strings.Cut(rest, "#")
				}
			}
			line = whole.String()
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "v":
			in.RefuseIf(len(words) < 4, "give each vertex three coordinates", "vertex %d has %d coordinates, want 3", len(b.vertices), len(words)-1)
			b.vertex(coordinates(in, words[1:4], "vertex %d", len(b.vertices)))
		case "f", "l":
			cell := make([]int, 0, len(words)-1)
			for _, w := range words[1:] {
				number, _, _ := strings.Cut(w, "/")
				v, err := strconv.Atoi(number)
				switch {
				case err != nil:
					in.Refuse(again, "%s: %s is not a whole number", text.Clip(line), text.Clip(number))
				case v > 0 && v <= math.MaxInt32:
					v--
				case v < 0 && -v <= len(b.vertices):
					v += len(b.vertices)
				default:
					in.Refuse("correct the number, or "+again, "%s: there is no vertex %d; OBJ files count from 1, or back from −1", text.Clip(line), v)
				}
				cell = append(cell, v)
			}
			switch {
			case words[0] == "l" && len(cell) >= 2:
				b.line(cell)
			case words[0] == "f" && len(cell) >= 3:
				b.fan(cell)
			default:
				in.Refuse(again, "%s has too few vertices", text.Clip(line))
			}
		case "vt", "vn", "vp", "p", "g", "o", "s", "mg", "usemtl", "mtllib", "usemap", "maplib", "bevel", "c_interp", "d_interp", "lod", "shadow_obj", "trace_obj":
		default:
			in.Refuse(again, "%s is no line of a polygon mesh", text.Clip(line))
		}
	}
}

// writeOBJ writes a Wavefront OBJ file; the vertices of a curve in the plane get z = 0.
func writeOBJ(out *bufio.Writer, m *Mesh) {
	for _, x := range spatial(m.Vertices) {
		fmt.Fprint(out, "v ")
		writeFloats(out, x)
	}
	for _, c := range m.Cells {
		if len(c) == 3 {
			fmt.Fprintf(out, "f %d %d %d\n", c[0]+1, c[1]+1, c[2]+1)
		} else {
			fmt.Fprintf(out, "l %d %d\n", c[0]+1, c[1]+1)
		}
	}
}
