package guided

import (
	"math"
	"math/rand/v2"
	"slices"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
)

func newSampler[P geom.Point](p stochastic.Process[P], t *tree.Tree, data []Observations[P], o Options) (_ *sampler[P], err error) {
	defer try.Catch(&err)
	try.Do(p.Check())
	try.FailIf(try.Get(p.Space.Orbits()),
		"points of %T are orbits, and what is seen would be of one element, which is not known: processes are guided where points are no orbits",
		p.Space.M)
	for _, x := range []struct {
		number   *int
		standard int
		name     string
	}{{&o.Steps, 25, "steps"}, {&o.Chains, 4, "chains"}, {&o.Warmup, 200, "iterations of warm-up"}, {&o.Draws, 400, "draws"}} {
		if *x.number == 0 {
			*x.number = x.standard
		}
		try.FailIf(*x.number < 1, "%d %s, want at least 1", *x.number, x.name)
	}
	try.Do(t.CheckLengths())
	s := &sampler[P]{model: newModel(p), plan: newPlan(t), process: p, options: o, data: data,
		source: rand.NewPCG(o.Seed, 0), groups: len(data), total: len(data) * o.Chains, noiseAt: -1}
	s.rng = rand.New(s.source)
	for l := range s.inner {
		s.inner[l] = s.inner[l] || s.charted
	}
	try.FailIf(len(s.order) == 0, "the tree has no edge of a length")
	s.start = start(p, s.model)
	s.free()
	try.FailIf(len(data) == 0, "no observations")
	s.options.Unknown = slices.Clone(o.Unknown)
	s.assign()
	for g := range s.data {
		s.enter(g)
	}
	return s, engine.Fits("the run", s.memory())
}

// memory is about how many bytes a run takes where it takes most: programs; the messages; ten arrays as large as the noise of the chains, seven of them
// in trajectories, which also take two matrices for each path; and in the warm-up eight visits and four times what visit returns of the widest
// level, then the draws, as lists, with what is not collected yet. TestMemory compares it with measured runs.
func (s *sampler[P]) memory() float64 {
	const programs, number, drawn = 220e6, 8., 25. // bytes
	rows, columns := s.packedSize()
	steps, edges, matrix, chains := float64(s.options.Steps), float64(len(s.order)), float64(s.n*s.n), float64(s.total)
	messages := float64(s.groups*len(monomials(len(s.options.Unknown)))*(rows*columns+s.n*s.d)) * steps * edges
	noise := chains * steps * edges * float64(s.k*s.d)
	widest := float64(s.groups*len(slices.MaxFunc(s.levels, func(a, b []int) int { return len(a) - len(b) }))) * steps * matrix
	draws := chains * float64(s.options.Draws*len(s.stands)*s.wide*s.d)
	return programs + number*(messages+10*noise+2*chains*edges*matrix+max(8*noise+4*widest, 2*widest+drawn/number*draws))
}

// assign checks the unknowns of the options and their priors: no two are one number.
func (s *sampler[P]) assign() {
	unknown := s.options.Unknown
	for j, u := range unknown {
		try.Do(u.Prior.check(u.Name))
		if k := slices.IndexFunc(unknown[:j], u.same); k >= 0 {
			try.Fail("the unknowns %d and %d, %s and %s, are one number: leave one out", k, j, unknown[k].Name, u.Name)
		}
		switch {
		case u.kind != param && u.Prior.family == normal:
			try.Fail("%s is positive, but its prior is Normal: take LogNormal or InverseGamma", u.Name)
		case u.kind == noise:
			s.noiseAt = j
		case u.kind == param && (u.param < 0 || u.param >= len(s.process.Params)):
			try.Fail("%s is parameter %d of a process that has %d", u.Name, u.param, len(s.process.Params))
		case u.kind == param && !number(s.process.Params[u.param]):
			try.Fail("%s is parameter %d of the process, %v, which is not one number: give numbers that are unknown a parameter each", u.Name, u.param, s.process.Params[u.param])
		}
	}
}

// number says whether a parameter is one number.
func number(param any) bool {
	switch param.(type) {
	case float64, float32, int:
		return true
	}
	return false
}

// free checks the priors of the root's state and makes a row of them.
func (s *sampler[P]) free() {
	n := len(s.options.RootParts)
	try.FailIf(n != 0 && n != len(s.process.Parts), "priors of %d parts of the root, want one for each of the %d parts of the process", n, len(s.process.Parts))
	for j, x := range append([]float64{s.options.Root}, s.options.RootParts...) {
		try.FailIf(!(x >= 0) || math.IsInf(x, 1), "prior of the root with the standard deviation %g, want a finite number from 0", x)
		rows := s.process.Space.M.Dim() / s.d
		if j > 0 {
			rows *= s.parts[j-1]
		}
		s.spread = append(s.spread, slices.Repeat([]float64{x}, rows)...)
	}
	if slices.Max(s.spread) == 0 {
		s.spread = nil
		return
	}
	s.spread = append(s.spread, make([]float64, s.n-len(s.spread))...) // of parts that are known
}

// rows are an observation as rows of states, with how many of its numbers were seen.
func (s *sampler[P]) rows(flat []float64, name string) (values [][]float64, count int) {
	for i, row := range engine.Unflatten(flat, s.d) {
		missing := 0
		for a, x := range row {
			try.FailIf(math.IsInf(x, 0), "number %d of %s is %g", i*s.d+a, name, x)
			if math.IsNaN(x) {
				missing++
			}
		}
		if missing == 0 {
			count += s.d
		} else if missing < s.d {
			try.Fail("row %d of %s is %v: the noise of this process is the same along all axes, so that all numbers of a landmark are seen or none", i, name, row)
		}
		values = append(values, row)
	}
	return values, count
}

// enter checks a set of observations and makes rows of them.
func (s *sampler[P]) enter(g int) {
	o := s.data[g]
	leaves := s.tree.Leaves()
	try.FailIf(len(o.Leaves) != len(leaves), "%d observations for a tree of %d leaves", len(o.Leaves), len(leaves))
	try.FailIf(!positive(o.Noise), "observations with errors of standard deviation %g, want a finite positive number", o.Noise)
	n, columns := geom.PointDim(s.process.Space.M), 1 // of points; the other rows of states are parts, which nobody sees
	if r, ok := s.process.Space.M.(geom.Rows); ok {
		n, columns, _ = r.Rows()
	}
	all := make([]seen, len(s.stands))
	for leaf, point := range o.Leaves {
		name := "the observation of " + s.tree.Label(leaves[leaf])
		inRows, _ := any(point).(geom.Shape)
		for i, row := range inRows {
			try.FailIf(len(row) != columns, "row %d of %s has %d numbers, want %d", i, name, len(row), columns)
		}
		flat := shape.Flat(point)
		try.FailIf(len(flat) != n*columns, "%s has %d numbers, want %d", name, len(flat), n*columns)
		values, count := s.rows(flat, name)
		at := &all[s.stands[leaves[leaf]]]
		m, residual := observation(values, s.wide), 0.0
		if at.b != nil {
			m, residual = fuse([]message{at.message, m})
		}
		*at = seen{m, at.residual + residual, at.count + float64(count)}
	}
	s.seen = append(s.seen, all)
}
