package study_test

import (
	"fmt"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/internal/scanned"
	"anatomy/landmarks/study"
)

// Meshes as a scanner has them are accepted with notes, in a folder and in a study of Deformetrica that wants currents.
func TestScanned(t *testing.T) {
	files := map[string]any{}
	for i := range 3 {
		files[fmt.Sprintf("body%d.vtk", i)] = scanned.Body(uint64(i+1), 24, 0.3, 1.3)
	}
	s := expect.Must(study.Read(folder(t, files)))
	if err := s.Start(0.8, 0.4, false); err != nil {
		t.Fatal(err)
	}
	note := "body0.vtk: removed 45 flaps of two cells with the same vertices (8.7 % of the size), removed 343 unused vertices, more than two cells meet at 9 places, which stay"
	if len(s.Notes) < 4 || s.Notes[0] != note || !strings.HasPrefix(s.Notes[3], "the norm is that of varifolds") {
		t.Error(strings.Join(s.Notes, "\n"))
	}
	files["model.xml"] = strings.NewReplacer("template.vtk", "body0.vtk", "data/", "").Replace(modelXML)
	files["data_set.xml"] = strings.NewReplacer("data/a", "body1", "data/b", "body2").Replace(dataSetXML)
	s = expect.Must(study.Read(folder(t, files)))
	if s.Model.Objects[0].Norm.Varifold || len(s.Notes) < 3 || s.Notes[0] != note {
		t.Error(strings.Join(s.Notes, "\n"))
	}
	if err := s.Model.Objects[0].Norm.Check("the template", s.Template[0]); err != nil {
		t.Error(err)
	}
}
