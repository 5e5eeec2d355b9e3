package study_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// The runner of the reports chooses the notebooks for one's own data by the extensions that the packages read.
func TestExtensionsOfTheRunner(t *testing.T) {
	program, err := os.ReadFile("../../../notebooks/report/run.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"MESHES": mesh.Extensions(), "LANDMARKS": morpho.Extensions()} {
		list := regexp.MustCompile(`(?m)^` + name + ` = \[(.*)\]`).FindSubmatch(program)
		if list == nil {
			t.Fatalf("no %s in run.py", name)
		}
		var got []string
		for _, m := range regexp.MustCompile(`"(\.\w+)"`).FindAllSubmatch(list[1], -1) {
			got = append(got, string(m[1]))
		}
		want = slices.DeleteFunc(want, func(extension string) bool {
			return extension == ".csv" || filepath.Ext(extension) != extension // .csv may be outlines, and .morphoj.txt is a .txt
		})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
