package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

// asked says whether the momenta are to be explained.
func (a *atlas) asked() bool {
	q := a.Question
	return a.own.Kind == study.Atlas && len(a.own.Names) > 2 && (a.own.Finished() || len(a.own.Columns().Covariates()) > 0 || q.Model+q.Tree+q.Covary != "")
}

// check refuses a question that the study cannot answer before anything is computed, and reads its files.
func (t *Template) check(own *study.Study) {
	if t.Covariates != "" {
		try.Get(own.ReadCovariates(t.Covariates))
	}
	if t.Tree != "" {
		var notes []string
		t.Question, notes = try.Get2(t.Question.ReadTrees(t.Tree, true))
		own.Notes = append(own.Notes, lists.Each(notes, func(note string) string { return "the tree: " + note })...)
	}
	columns := own.Columns()
	if t.Question.Tree != "" {
		columns, _ = try.Get2(columns.MatchTree(try.Get(tree.Parse(t.Question.Tree))))
	}
	try.Get(shapestats.Parse(t.Question.Model, columns))
}

// flat are the momenta as a data set, and the question about them.
func (t Template) flat(own *study.Study, found *population.Atlas) (*morpho.Dataset, supplement.Question) {
	q := t.Question
	d, body := try.Get2(own.Flat(found))
	q.Body, q.Unit = body, t.Unit
	return d, q
}

// statistics is the document of package supplement about the momenta at the template, with these as a file.
func (a *atlas) statistics() *supplement.Document {
	d, q := a.flat(a.own, a.found)
	document := try.Get(supplement.New(d, q))
	t := &supplement.Table{Name: "momenta", Caption: "Control points and the momenta of the subjects; the beginning.", Header: []string{"subject", "control point"}, Preview: true}
	for _, what := range []string{"", "momentum "} {
		for k := range a.found.Controls[0] {
			t.Header = append(t.Header, what+"xyz"[k:k+1])
		}
	}
	for i, p := range a.found.Momenta {
		for c, x := range a.found.Controls {
			row := []any{d.Specimens[i].Name, c}
			for _, v := range slices.Concat(x, p[c]) {
				row = append(row, v)
			}
			t.Add(row...)
		}
	}
	document.Add("Scores and distances", t)
	if a.Folder != "" {
		a.writeBodies(d, q.Body, document)
	}
	return document
}

// writeBodies writes the means of groups, the ends of components and the ancestors for ParaView, with the displacement of vertices from the mean.
func (a *atlas) writeBodies(d *morpho.Dataset, body supplement.Body, document *supplement.Document) {
	write := func(name string, rows ...[]float64) {
		mean := lists.Mean(rows)
		from, to := try.Get(body(make([]float64, len(mean)))), try.Get(body(mean))
		for o, file := range try.Get(study.Files([]string{name}, a.objects))[0] {
			moved := shape.Shape(to[o].Vertices).Sub(from[o].Vertices)
			try.Do(mesh.WriteFields(filepath.Join(a.Folder, file+".vtp"), to[o], mesh.Field{Name: "displacement", Values: moved}))
		}
	}
	all := func(d *morpho.Dataset) [][]float64 {
		return slices.Concat(d.Shapes()...) // each has one point
	}
	for _, factor := range try.Get(shapestats.Parse(a.Question.Model, d)).Factors {
		by := d.GroupBy(factor)
		for _, g := range by.Groups() {
			write("mean_"+factor+"_"+g, all(by.Group(g))...)
		}
	}
	rows := all(d)
	for k := range min(3, len(rows[0])) {
		ends := slices.Clone(rows)
		slices.SortFunc(ends, func(a, b []float64) int { return cmp.Compare(a[k], b[k]) })
		for end, x := range map[string][]float64{"lowest": ends[0], "highest": ends[len(ends)-1]} {
			row := make([]float64, len(x))
			row[k] = x[k]
			write(fmt.Sprintf("component_%d_%s", k+1, end), row)
		}
	}
	if ancestors, err := document.Table("ancestor-coordinates"); err == nil { // there is a tree
		for _, row := range ancestors.Rows {
			write("ancestor_"+strings.ReplaceAll(row[0].String(), " … ", "_to_"), lists.Each(row[1:], supplement.Cell.Value))
		}
	}
}

// decisions are what the sensitivity of the answers is tried with.
var decisions = []struct {
	name   string
	change func(t *Template)
}{
	{"as asked", func(*Template) {}},
	{"the other alignment", func(t *Template) { t.Similarity = !t.Similarity }},
	{"deformations half as wide", func(t *Template) { t.Deformation /= 2 }},
	{"deformations twice as wide", func(t *Template) { t.Deformation *= 2 }},
	{"detail half as wide", func(t *Template) { t.Detail /= 2 }},
	{"detail twice as wide", func(t *Template) { t.Detail *= 2 }},
}

// sensitivity is a table of the answers after other decisions, each by an atlas of its own from the study as it was before it was aligned.
func (a *atlas) sensitivity(before *study.Study) *supplement.Section {
	s := &supplement.Section{Title: "What the decisions change"}
	t := &supplement.Table{Name: "sensitivity", Caption: "Answers after other decisions about the pose and the widths, each from an atlas of its own: the share of the variance of the first component, and of every term of the model the share of the variation that it explains, with its p-value.",
		Header: []string{"decision", "status", "first component"}}
	for k, decision := range decisions {
		again, own := a.Template, *before
		own.Subjects, own.Notes = slices.Clone(before.Subjects), nil
		decision.change(&again)
		row := []any{decision.name}
		if err := try.Run(func() {
			again.start(&own)
			found := try.Get(own.Estimate(solve.Tolerance(again.Tolerance)))
			d, q := again.flat(&own, found)
			document := try.Get(supplement.New(d, q))
			row = append(row, found.Status.String(), supplement.Percent(try.Get(document.Table("components")).Rows[0][1].Value()))
			if document.ANOVA != nil {
				for _, r := range document.ANOVA.Rows {
					if !math.IsNaN(r.P) {
						row = append(row, supplement.Percent(r.R2), supplement.PValue(r.P))
						if k == 0 {
							t.Header = append(t.Header, r.Term, "p of "+r.Term)
						}
					}
				}
			}
			if signal, err := document.Table("signal"); err == nil {
				row = append(row, signal.Rows[0][1], signal.Rows[0][4])
				if k == 0 {
					t.Header = append(t.Header, "K", "p of K")
				}
			}
		}); err != nil {
			row = append(row[:1], strings.SplitN(err.Error(), "\n", 2)[0])
		}
		for len(row) < len(t.Header) {
			row = append(row, supplement.Number(math.NaN(), "%.3g"))
		}
		t.Add(row...)
	}
	s.Parts = append(s.Parts, t)
	return s
}
