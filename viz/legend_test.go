package viz

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"anatomy/geom/geomtest/expect"
)

// Legends of very long names are clipped: the time does not grow with the square of their length.
func TestLongNames(t *testing.T) {
	encode := func(letters int) time.Duration {
		var layers []*Layer
		for range 5 {
			layers = append(layers, Scatter([]float64{0, 1}, []float64{0, 1}).Label(strings.Repeat("W", letters)+strings.Repeat(" w", letters)))
		}
		begin := time.Now()
		expect.Must(Encode(".svg", Fig(layers...).Title(strings.Repeat("T", letters))))
		return time.Since(begin)
	}
	encode(500)
	if short, long := encode(500), encode(50_000); long > 20*short+2*time.Second {
		t.Errorf("%v, %v", short, long)
	}
}

// Names with what XML cannot have, or HTML reads as its own, are well-formed pictures.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"\x1b[31m", "a\x01b", "\ufffe", "caf\xe9", "</title><script>alert(1)</script>", "&amp;\x00\"'"} {
		f := Fig(Scatter([]float64{0, 1}, []float64{0, 1}).Label(name), Points([][]float64{{0, 0}, {1, 1}}).Label(name+"2")).Title(name).XLabel(name).YLabel(name)
		for _, drawing := range []Drawing{f, Row(f, f)} {
			svg := expect.Must(Encode(".svg", drawing))
			if err := xml.Unmarshal(svg, new(struct{})); err != nil || strings.Contains(string(svg), "<script>alert") {
				t.Errorf("%q: %v", name, err)
			}
		}
		expect.Must(Encode(".pdf", f))
	}
}
