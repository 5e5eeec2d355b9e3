package study

import (
	"testing"

	"anatomy/landmarks/surfaces/population"
)

// Templates in doubt make what they place doubtful, and one that is not is enough.
func TestDoubtfulTemplates(t *testing.T) {
	s := &Study{Names: []string{"a", "b", "c", "d"}}
	s.doubt(1, "its pose is ambiguous")
	s.doubt(2, "its mirror image fits")
	placed := make([][]population.PlacedLandmark, 4)
	placed[0], placed[3] = []population.PlacedLandmark{{}}, []population.PlacedLandmark{{}}
	for _, c := range []struct{ templates, want []int }{{[]int{0}, nil}, {[]int{1, 0}, nil}, {[]int{1}, []int{0, 3}}, {[]int{2, 1}, []int{0, 3}}} {
		out := s.doubtful(&population.Placement{Templates: c.templates, Placed: placed})
		if len(out) != len(c.want) {
			t.Fatalf("templates %v: %v", c.templates, out)
		}
		for k, f := range out {
			if f.Subject != c.want[k] || f.Landmark != -1 {
				t.Errorf("templates %v: %v", c.templates, out)
			}
		}
	}
}
