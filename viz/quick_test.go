package viz

import (
	"strings"
	"testing"
)

// Plot and Hist take what people who know Python write.
func TestPlot(t *testing.T) {
	x, y := []float64{1, 2, 4}, []float64{3, 1, 2}
	for _, c := range []struct {
		drawing Drawing
		want    string // of the alternative text, or of the error
	}{
		{Plot(y), "x from 0 to 2; y from 1 to 3"}, {Plot(x, y), "x from 1 to 4; y from 1 to 3"}, {Plot([]int{1, 5}, []int{2, 3}), "x from 1 to 5; y from 2 to 3"},
		{Plot(x, y, "red"), "vermilion"}, {Plot(x, y, "r--"), "vermilion"}, {Plot(x, y, "ro"), "3 points, vermilion"}, {Plot(y, "o", "Green"), "3 points, green"},
		{Plot(x, y, "steelblue"), "curve"}, {Plot(x, y, "--"), "curve"},
		{Plot(x, y, "reddish"), `there is no colour "reddish"`}, {Plot(x, y, y), "3 lists"}, {Plot("red"), "0 lists"}, {Plot(x, 3), "this is a int"},
		{Plot(x, x[:2]), "3"}, {Hist(y), "x from 1"}, {Hist(y, 2), "y from 0"}, {Hist(nil), "no values"},
	} {
		got, err := alt(c.drawing)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
