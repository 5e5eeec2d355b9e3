package supplement

import (
	"os"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
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
}
