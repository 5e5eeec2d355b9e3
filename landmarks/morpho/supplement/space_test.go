package supplement

import (
	"os"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// Figures of landmarks in space have a page in which they turn, with the names of the landmarks, and no others have one.
func TestFiguresTurn(t *testing.T) {
	file := expect.Must(os.Open("../data/brain_24_3d.csv"))
	defer file.Close()
	brains := expect.Must(morpho.ReadCSV(file, "brain_24_3d.csv"))
	brains.Specimens = brains.Specimens[:12]
	files := expect.Must(New(brains, Question{Permutations: 9})).files()
	if page := string(files["figures/aligned.html"]); !strings.Contains(page, "<canvas data-names") {
		t.Errorf("a page of %d letters", len(page))
	}
	index := string(files["index.html"])
	if !strings.Contains(index, `<a href="figures/aligned.html">turn</a>`) || strings.Contains(index, "figures/morphospace.html") || files["figures/morphospace.html"] != nil {
		t.Error("the wrong figures turn")
	}
	// Bodies are seen from two sides, or from those that are named.
	for view, want := range map[string][]string{"": {"along main axis 3", "along main axis 2"}, "left: -y": {"left"}} {
		aligned := expect.Must(expect.Must(New(brains, Question{Permutations: 9, View: view})).Figure("aligned"))
		svg := string(expect.Must(viz.Encode(".svg", aligned.Drawing)))
		for _, title := range want {
			if !strings.Contains(svg, title) || view != "" && strings.Contains(svg, "main axis 2") {
				t.Errorf("view %q: no title %q", view, title)
			}
		}
	}
	expect.Refused(t, expect.Error(New(brains, Question{View: "skyward"})), "the view", "skyward")
	expect.Refused(t, expect.Error(New(nil, Question{Mesh: mesh.Ellipsoid(1, 1, 1, 3, 5), View: "skyward"})), "the view", "skyward")
}
