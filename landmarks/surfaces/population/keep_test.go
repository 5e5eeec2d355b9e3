package population

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
)

// An atlas that ended at any of its iterations, as by a kill, goes on where Save has it, to the same end: each number is the same, also that of its
// evaluations. A search that was kept whole is not repeated, and a file that is cut off is not taken.
func TestAtlasGoesOn(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0.05)
	text := func(a *Atlas) string { return string(expect.Must(json.Marshal(a))) }
	for name, change := range map[string]func(m *Model){
		"free vertices":   func(m *Model) { m.Free = true },
		"noise estimated": func(m *Model) { m.Objects = []Object{{Norm: m.Objects[0].Norm, Smoothing: m.Objects[0].Smoothing}} },
		"hypertemplate":   func(m *Model) { m.Hypertemplate = true },
	} {
		m := m
		change(&m)
		whole := expect.Must(m.Atlas(template, controls, subjects))
		m.Save = filepath.Join(t.TempDir(), "searches")
		kills, ends := 0, 0
		for ; ; kills++ {
			ctx, kill := context.WithCancel(context.Background())
			own, seen := m, 0
			own.Space = m.Space.With(geom.Context(ctx), geom.OnProgress(func(geom.Progress) {
				if seen++; seen > 3+8*kills {
					kill()
				}
			}))
			a := expect.Must(own.Atlas(template, controls, subjects))
			kill()
			if a.Status != geom.Cancelled {
				if text(a) != text(whole) {
					t.Errorf("%s, after %d interruptions: %s, %d evaluations; without: %s, %d", name, kills, a, a.Evaluations, whole, whole.Evaluations)
				}
				break
			}
			if kills > 100 {
				t.Fatalf("%s: no end after %d interruptions", name, kills)
			}
		}
		files := expect.Must(os.ReadDir(m.Save))
		for _, f := range files {
			path := filepath.Join(m.Save, f.Name())
			found := expect.Must(os.ReadFile(path))
			if ends += len(found); len(found) > 1<<16 {
				t.Errorf("%s: the end of a search is kept in %d bytes", name, len(found))
			}
			if err := os.WriteFile(path, found[:len(found)/2], 0o666); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d interruptions, %d files of %d bytes at the end", name, kills, len(files), ends)
		if kills == 0 {
			t.Errorf("%s: was not interrupted", name)
		}
		if a := expect.Must(m.Atlas(template, controls, subjects)); text(a) != text(whole) {
			t.Errorf("%s, files cut off: %s", name, a)
		}
	}
}
