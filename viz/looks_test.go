package viz

import (
	"image/color"
	"maps"
	"slices"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// What can be measured of a picture is measured: each fault is found where it is made, and a gallery of good pictures has none.
func TestFaults(t *testing.T) {
	q := ring(24, 0, 0, 2, 1)
	near := color.NRGBA{0, 0x72, 0xc2, 0xff}
	crowd := constant(40, 0, 0)
	for i := range crowd {
		crowd[i] = []float64{1e-3 * float64(i), 1e-3 * float64(i%7)}
	}
	for want, f := range map[string]*Figure{
		"% of the field is empty":         Fig(Outline(q)).NoAxes().Size(10, 14),
		"letters have":                    Fig(Outline(q)).YLabel(strings.Repeat("long ", 12)),
		"is written over":                 Fig(Outline(q), Numbers(crowd)),
		"has a contrast of 1.36":          Fig(Outline(q).Color(color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}).Label("pale")),
		"with the paper, of 4.5 at least": Fig(Points(q), Names(q[:1], []string{"pale"}).Color(LightGrey)),
		"for everybody":                   Fig(Outline(q).Color(Blue).Label("a"), Outline(q).Color(near).Label("b")),
		"for readers without green":       Fig(Outline(q).Color(color.NRGBA{0xd0, 0x40, 0x40, 0xff}).Label("a"), Outline(q).Color(color.NRGBA{0x80, 0x70, 0x38, 0xff}).Label("b")),
	} {
		if got := expect.Must(f.sheet()).faults(); !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("%s: found %q", want, got)
		}
	}
	for name, d := range gallery() {
		if got := expect.Must(d.sheet()).faults(); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	// The colours that layers take by themselves are apart for every reader.
	for i, a := range palette {
		for _, b := range palette[:i] {
			for _, who := range slices.Sorted(maps.Keys(visions)) {
				if far := apartFor(who, a, b); far < leastApart {
					t.Errorf("%s: %v and %v are %.1f apart", who, a, b, far)
				}
			}
		}
	}
}
