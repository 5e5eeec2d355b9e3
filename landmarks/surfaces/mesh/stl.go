package mesh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"anatomy/landmarks/internal/text"
)

// readSTL reads the triangles of an STL file, ASCII or binary. The format repeats the corners for every triangle: those with the same
// coordinates become one vertex. Normals and colours are passed over.
func readSTL(in *text.Reader, out *builder) {
	b := &stlBuilder{out, map[[3]float64]int{}}
	// Binary files may begin with "solid", too, but their 80 bytes and the number after them have a NUL.
	head := in.Peek(84)
	if start := bytes.TrimLeft(head, " \t\r\n"); len(start) >= 5 && strings.EqualFold(string(start[:5]), "solid") && bytes.IndexByte(head, 0) < 0 {
		b.readASCII(in)
	} else {
		b.readBinary(in)
	}
}

type stlBuilder struct {
	*builder
	at map[[3]float64]int // vertex of these coordinates
}

func (b *stlBuilder) facet(corners [3][3]float64) {
	cell := make([]int, 3)
	for k, x := range corners {
		v, known := b.at[x]
		if !known {
			v = len(b.vertices)
			b.at[x] = v
			b.vertex([]float64{x[0], x[1], x[2]})
		}
		cell[k] = v
	}
	b.triangle(cell)
}

// readASCII reads solids of "facet normal a b c outer loop", three "vertex x y z", "endloop endfacet".
func (b *stlBuilder) readASCII(in *text.Reader) {
	var corners [3][3]float64
	count := 0 // vertices of the facet at hand; −1 outside
	inside := false
	for line := range in.Lines() {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch word := strings.ToLower(words[0]); {
		case !inside && word == "solid":
			inside, count = true, -1
		case inside && word == "endsolid" && count < 0:
			inside = false
		case inside && word == "facet" && count < 0:
			count = 0
		case inside && word == "endfacet" && count == 3:
			b.facet(corners)
			count = -1
		case inside && (word == "outer" && count == 0 || word == "endloop" && count == 3):
		case inside && word == "vertex" && count >= 0 && count < 3 && len(words) == 4:
			corners[count] = [3]float64(coordinates(in, words[1:], "facet %d, vertex %d", len(b.triangles), count))
			count++
		default:
			in.Refuse(again, "%s does not belong here: facet %d of an STL file has a normal, an outer loop and three vertices of three coordinates",
				text.Clip(line), len(b.triangles))
		}
	}
	if inside {
		in.Need(io.EOF, "endsolid")
	}
}

// readBinary reads 80 bytes, the number of triangles, and for each its normal, corners, and two bytes more, in little-endian float32.
func (b *stlBuilder) readBinary(in *text.Reader) {
	in.Binary = true
	var head [84]byte
	in.Need(in.Bytes(head[:]), "the number of triangles of a binary STL file")
	n := in.Count("triangles", fmt.Sprint(binary.LittleEndian.Uint32(head[80:])))
	var facet [50]byte
	for i := range n {
		in.Need(in.Bytes(facet[:]), "triangle %d of %d", i, n)
		var corners [3][3]float64
		for k := range corners {
			for a := range corners[k] {
				corners[k][a] = float64(math.Float32frombits(binary.LittleEndian.Uint32(facet[12+12*k+4*a:])))
			}
		}
		b.facet(corners)
	}
	behind := 0
	for in.Bytes(facet[:1]) == nil {
		behind++
	}
	if behind > 0 && behind%len(facet) == 0 { // more triangles
		in.Refuse("correct the number, or "+again, "%d bytes follow the last of %d triangles", behind, n)
	}
	if behind > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%d bytes behind the last triangle: passed over", behind))
	}
}
