package morpho

import "testing"

// Equal shapes are aligned once, and what is handed out may be changed: the next answer is the same.
func TestEqualShapesAreAlignedOnce(t *testing.T) {
	d, other := Plethodon(), CorpusCallosum()
	rows, mean, err := d.TangentShapes()
	if err != nil {
		t.Fatal(err)
	}
	first, x, m := recent.of[0].Alignment, rows[3][5], mean[2][1]
	rows[3][5], mean[2][1] = 7, 7
	if _, _, err := other.TangentShapes(); err != nil {
		t.Fatal(err)
	}
	rows, mean, err = d.TangentShapes()
	if err != nil || len(recent.of) != 2 || recent.of[1].Alignment != first || rows[3][5] != x || mean[2][1] != m {
		t.Error(err, "the second answer is another, or was aligned again")
	}
	d = Plethodon()
	d.Specimens[0].Points[0][0]++
	if _, _, err := d.TangentShapes(); err != nil || recent.of[0].Alignment == first {
		t.Error(err, "changed data were not aligned again")
	}
}
