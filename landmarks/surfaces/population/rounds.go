package population

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// Rounds estimates an atlas by parts that know nothing of each other, on many machines or on one that is switched off between. In a
// round, Match brings the momentum of each subject to its minimum for the template of the round. From these parts Reduce makes the
// next round, whose template is the next that a search tries for the minimum over T, and over free control points c, of
//
//	F(T, c) = Σ_i min_p [ Σ_o ‖φ_p(T_o) − S_io‖²/2σ_o² + ½ pᵀ K(c, c) p ],
//
// so that F has its minimum where the objective of Model.Atlas has its own. Derivatives of F are those of the objective with the momenta held (Golub
// and Pereyra, SIAM J. Numer. Anal. 10, 1973). Every round holds the state of the search, solve.LBFGS.
//
//	r, err := model.Rounds(template, controls, subjects)
//	round, err := r.First()
//	part, err := r.Match(round, i, nil)                           // of every subject; later with its part of round.From
//	round, err = r.Reduce(round, parts)                           // until round.Atlas is there
//
// A round and a part follow from those before and nothing else: on processors of one kind they are the same bit for bit, whoever
// computes them and in whatever company. encoding/json writes and reads both without loss.
type Rounds struct {
	model    Model
	fit      *fit // of all subjects, none of which is cut
	subjects [][]*mesh.Mesh
	limits   solve.Limits
	own      map[int]*fit // of single subjects
}

// AtlasRound is a template to which all subjects are matched, with the state of the search for the best one. The first round and each one that
// changes Sigma or Goal begin a stage.
type AtlasRound struct {
	Number   int
	Stage    int         // the first round of the search that it is part of: with this Sigma and Goal
	From     int         // the round from whose momenta those of this one set out; −1 is none: they start at 0
	Template [][]float64 // the vertices of all objects
	Controls [][]float64
	Sigma    []float64      // σ/ρ of every object: see Atlas.Reach
	Goal     float64        // the tolerance of each match: √(‖r_i‖²/2 Energy_i) is at most this; see Atlas.Unsettled
	Scale    []float64      // factors of the preconditioner: for the vertices of each object, the momenta, the control points; 1 in the first round of a stage
	Search   *solve.LBFGS   `json:",omitempty"` // of this stage: X is Template, and Controls if they are free
	Last     *Outcome       `json:",omitempty"` // of the round before
	Estimate *NoiseEstimate `json:",omitempty"` // of objects whose noise is not given
	Atlas    *Atlas         `json:",omitempty"` // the end: nothing is to be matched to this round
}

// Outcome is what the parts of a round come to.
type Outcome struct {
	Infinite             bool    // a part is Infinite: the search steps back, and Value, Energy, Imbalance and Unsettled are 0
	Value                float64 // F at the template
	Energy               float64 // the mean energy of the subjects
	Imbalance, Unsettled float64 // see Atlas
	Evaluations          int     // Part.Evaluations of all subjects in all rounds so far
}

// NoiseEstimate is the noise as estimated so far: fields as in Atlas.
type NoiseEstimate struct {
	annealing
	Noise []float64 // see Atlas
	Reach float64
	Parts []float64 `json:",omitempty"`
}

// Part is the match of one subject to the template of a round.
type Part struct {
	Round, Subject      int
	Infinite            bool // the objective is no finite number at the momentum to set out from, and nothing below is known
	Momentum            [][]float64
	Before              []float64 // ‖T_o − S_o‖² for the first template
	Mismatch            []float64
	Energy              float64
	Pull                []float64 // the derivatives of Mismatch/2σ² by the vertices
	ByControls          []float64 `json:",omitempty"` // the derivatives of the objective by free control points
	Apart               []float64 // ‖Pull‖² of every object, of a hypertemplate of all together: see Atlas.Imbalance
	Missed              float64   // ‖r‖²: see Atlas.Unsettled
	Square              []float64 // ‖S_o‖²
	Scale               float64   // of the steps of the momentum
	Expected, Curvature []float64 `json:",omitempty"` // in the first round of a stage: second derivatives by the model and as measured, for AtlasRound.Scale
	Evaluations         int       // of the objective and its gradient
	Status              string    // of the momentum's search: how close it came is in Missed
}

// Rounds prepares the rounds of an atlas. It has converged when Imbalance and Unsettled are at most solve.Tolerance (default 0.03), and
// ends after solve.MaxIterations rounds (300) in any case. Arguments are otherwise those of Model.Atlas. Call Close at the end.
func (m Model) Rounds(template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, opts ...solve.Option) (_ *Rounds, err error) {
	defer try.Named(&err, "rounds")
	text.RefuseIf(len(subjects) < 2, "give two or more", "%d subjects", len(subjects))
	limits := try.Get(solve.Limits{Tolerance: 0.03, MaxIterations: 300}.With(opts...))
	m.check(template, controls, subjects)
	f := compileFit(m, template, controls, subjects, lists.Identity(len(subjects)))
	return &Rounds{model: m, fit: f, subjects: subjects, limits: limits, own: map[int]*fit{}}, nil
}

// Close frees what was compiled.
func (r *Rounds) Close() { r.fit.free() }

// First returns the first round: its template is the one given, and all momenta are 0.
func (r *Rounds) First() (_ *AtlasRound, err error) {
	defer try.Named(&err, "rounds")
	start := mesh.Vertices(r.fit.start)
	first := &AtlasRound{From: -1, Template: start, Controls: r.fit.controls, Sigma: slices.Clone(r.fit.sigma)}
	stage := annealing{}
	if r.model.estimatesNoise() {
		first.Sigma = r.fit.initialNoise(shape.Flat(start))
		stage = annealing{Loose: true, Rough: 0.3}
		first.Estimate = &NoiseEstimate{annealing: stage, Noise: first.Sigma, Reach: 1}
	}
	first.Goal = momentaGoal * stage.tolerance(r.limits.Tolerance)
	first.Scale = r.model.noScales()
	first.Search = &solve.LBFGS{X: r.variables(first)}
	return first, nil
}

// variables are those of the search: the template of a round, and its control points if they are free.
func (r *Rounds) variables(now *AtlasRound) []float64 {
	x := shape.Flat(now.Template)
	if r.fit.Free {
		x = slices.Concat(x, shape.Flat(now.Controls))
	}
	return x
}

// place sets template and control points of a round to variables.
func (r *Rounds) place(now *AtlasRound, x []float64) {
	n := r.fit.blocks()[0][1]
	now.Template = r.fit.Space.FromFlat(x[:n])
	if r.fit.Free {
		now.Controls = r.fit.Space.FromFlat(x[n:])
	}
}

// momentaGoal is how much closer momenta come to their minimum than the template.
const momentaGoal = 0.1

// fitOf is the fit of one subject, at the noise of a round.
func (r *Rounds) fitOf(i int, now *AtlasRound) *fit {
	f := r.own[i]
	if f == nil {
		own := *r.fit
		own.measureSubjects(r.subjects, 1, i)
		own.design, own.chunks[0].subjects, own.frozen = lists.Identity(1), []int{0}, true
		f = &own
		r.own[i] = f
	}
	f.sigma, f.scale, f.last, f.evaluations = now.Sigma, slices.Clone(now.Scale), nil, 0
	return f
}

// Match matches the template of a round to subject i, counted from 0. before is the subject's part of the round now.From, whose momentum it sets
// out from, and nil if From is −1. It is an error if these do not belong together, if the atlas has ended, or if the context of the space ends.
func (r *Rounds) Match(now *AtlasRound, i int, before *Part) (_ *Part, err error) {
	defer try.Named(&err, "round %d, subject %d", now.Number, i)
	text.RefuseIf(now.Atlas != nil || i < 0 || i >= len(r.subjects) || (before == nil) != (now.From < 0), "match the round that Reduce returned last, with its parts",
		"the atlas has ended, there is no such subject, or this is not its part of the round to set out from")
	f := r.fitOf(i, now)
	part := &Part{Round: now.Number, Subject: i, Scale: 1, Square: f.squares}
	p := make([]float64, f.Space.Manifold.Dim())
	if before != nil {
		p, part.Scale, part.Before = shape.Flat(before.Momentum), before.Scale, before.Before
	}
	x := slices.Concat(shape.Flat(now.Template), p)
	if f.Free {
		x = append(x, shape.Flat(now.Controls)...)
	}
	first := f.at(x)
	if before == nil {
		part.Before = first.mismatch[0]
	}
	if math.IsNaN(first.value) || math.IsInf(first.value, 0) {
		text.RefuseIf(before == nil, "see whether coordinates and kernels are in one unit", "the objective at the start is %g", first.value)
		return &Part{Round: now.Number, Subject: i, Infinite: true, Evaluations: f.evaluations}, nil
	}
	momenta := len(f.Objects)
	f.scale[momenta] = part.Scale
	if now.Number == now.Stage {
		f.rescale(f.curvatures(first, func(kind int) bool { return kind == momenta }))
		part.Scale = f.scale[momenta]
	}
	momentum := f.blocks()[1]
	missed := func(e *evaluation) float64 { return f.squaredNorm(e.gradient[momentum[0]:momentum[1]]) }
	// A subject that is the template has no energy that its derivatives could be small against, and sums have errors: what others have
	// counts, once it is known.
	energy := 1e-4 * floats.Dot(f.precision(), f.squares)
	if now.Last != nil && !now.Last.Infinite {
		energy = now.Last.Energy
	}
	o := f.objective()
	o.Residual = func(x []float64) (float64, error) {
		e := f.at(x)
		return rootRatio(missed(e), 2*math.Max(e.energy[0], energy)), nil
	}
	found := try.Get(o.Run("match", f.Space, x, limits(now.Goal)))
	e := f.at(found.X)
	text.RefuseIf(found.Status == geom.Cancelled, "match it again", "the search was stopped")
	if now.Number == now.Stage {
		part.Expected, part.Curvature = f.curvatures(e, func(kind int) bool { return kind != momenta })
	}
	part.Apart = f.squaredNorms(x[:momentum[0]], e.pulls[0])
	part.Momentum, part.Mismatch, part.Energy, part.Pull = f.Space.FromFlat(found.X[momentum[0]:momentum[1]]), e.mismatch[0], e.energy[0], e.pulls[0]
	part.Missed, part.Evaluations, part.Status = missed(e), f.evaluations, found.Status.String()
	if f.Free {
		part.ByControls = e.gradient[momentum[1]:]
	}
	return part, nil
}

// total returns what parts come to, in the order of the subjects, and the gradient of F.
func (r *Rounds) total(now *AtlasRound, parts []*Part) (*Outcome, []float64) {
	f := r.fit
	for i := range r.subjects {
		text.RefuseIf(i >= len(parts) || parts[i] == nil || parts[i].Round != now.Number || parts[i].Subject != i, "match it first",
			"there is no part of subject %d in round %d", i, now.Number)
	}
	out := &Outcome{Infinite: slices.ContainsFunc(parts, func(p *Part) bool { return p.Infinite })}
	if now.Last != nil {
		out.Evaluations = now.Last.Evaluations
	}
	for _, p := range parts {
		out.Evaluations += p.Evaluations
	}
	if out.Infinite {
		return out, nil
	}
	z := shape.Flat(now.Template)
	gradient := make([]float64, len(r.variables(now)))
	apart, mismatch, missed, energy := make([]float64, len(parts[0].Apart)), make([]float64, len(f.Objects)), 0.0, 0.0
	clear(f.squares)
	for _, p := range parts {
		floats.Add(gradient[:len(z)], p.Pull)
		floats.Add(gradient[len(z):], p.ByControls)
		floats.Add(apart, p.Apart)
		floats.Add(mismatch, p.Mismatch)
		floats.Add(f.squares, p.Square)
		missed += p.Missed
		energy += p.Energy
	}
	total := f.squaredNorms(z, gradient[:len(z)])
	out.Value = floats.Dot(f.precision(), mismatch) + energy
	out.Energy = energy / float64(len(parts))
	out.Imbalance, out.Unsettled = f.imbalance(total, apart, mismatch, missed, energy)
	return out, gradient
}

// Reduce returns the round that follows a round. parts returns all parts of this or an earlier round by its number, in the order of the
// subjects. The last round has the Atlas; to reduce that is an error, and so is a missing part.
func (r *Rounds) Reduce(now *AtlasRound, parts func(round int) ([]*Part, error)) (_ *AtlasRound, err error) {
	defer try.Named(&err, "after round %d", now.Number)
	text.RefuseIf(now.Atlas != nil, "take its Atlas", "the atlas has ended")
	f := r.fit
	f.sigma, f.last, f.squares = slices.Clone(now.Sigma), nil, make([]float64, len(f.Objects))
	own := try.Get(parts(now.Number))
	last, gradient := r.total(now, own)
	next := *now
	next.Number, next.Last = now.Number+1, last
	if now.Number == now.Stage && !last.Infinite {
		next.Scale = f.scaleOf(own)
	}
	f.scale = next.Scale
	if f.stiffens() && (f.stiff == nil || !slices.Equal(f.stiff.sigma, f.sigma)) {
		f.stiffen(f.selfResistance())
	}
	stage := annealing{}
	if now.Estimate != nil {
		stage = now.Estimate.annealing
	}

	search := r.step(now, last, gradient, stage.tolerance(r.limits.Tolerance))
	best := *now
	best.Number = now.Stage + search.At
	r.place(&best, search.Best)
	next.From, next.Search = best.Number, search
	r.place(&next, search.X)
	if !search.Done && next.Number < r.limits.MaxIterations {
		return &next, nil
	}

	// The search has ended, at one of the rounds.
	if best.Number != now.Number {
		own = try.Get(parts(best.Number))
		r.total(&best, own)
	}
	status, done := search.Status, true
	switch {
	case !search.Done:
		status = geom.IterationLimit
	case status == geom.Stalled && now.Goal > 2e-3*r.limits.Tolerance:
		done, next.Goal = false, now.Goal/10 // what the momenta miss may hide that a step leads down
	case status == geom.Converged && next.Estimate != nil:
		e := &evaluation{x: shape.Flat(best.Template)}
		for _, p := range own {
			e.mismatch, e.energy = append(e.mismatch, p.Mismatch), append(e.energy, p.Energy)
		}
		a := &Atlas{Noise: slices.Clone(next.Estimate.Noise)}
		f.hessian = nil // that of another process is not known
		done = f.anneal(&stage, e, a, search.Iterations)
		if stage.Renewals > maxRenewals {
			status = geom.IterationLimit
		}
		next.Estimate = &NoiseEstimate{annealing: stage, Noise: a.Noise, Reach: a.Reach, Parts: a.Parts}
		next.Sigma, next.Goal = f.sigma, math.Min(now.Goal, momentaGoal*stage.tolerance(r.limits.Tolerance))
	}
	r.place(&next, search.Best)
	if !done && next.Number < r.limits.MaxIterations {
		next.Stage, next.Search = next.Number, &solve.LBFGS{X: search.Best}
		next.Scale = r.model.noScales()
		return &next, nil
	}
	if !done {
		status = geom.IterationLimit
	}
	next.Search = nil
	next.Atlas = r.end(&best, &next, own, status)
	return &next, nil
}

// scaleOf returns the scales of the steps by the curvatures of all parts.
func (f *fit) scaleOf(parts []*Part) []float64 {
	curvature := make([]float64, len(f.scale))
	for _, p := range parts {
		floats.Add(curvature, p.Curvature)
	}
	f.scale = f.noScales()
	f.rescale(parts[0].Expected, curvature)
	return f.scale
}

// errTooShort ends a search whose steps are too short for a round.
var errTooShort = errors.New("a step that is too short for a round")

// step returns the search of a round after it has learned what came of the round.
func (r *Rounds) step(now *AtlasRound, last *Outcome, gradient []float64, tolerance float64) *solve.LBFGS {
	value := last.Value
	if last.Infinite {
		value = math.Inf(1)
	}
	search := *now.Search
	objective := solve.Objective{
		Retract: func(x, step []float64) ([]float64, error) {
			if floats.Norm(step, 2) < floats.Norm(search.Direction, 2)/1000 {
				return nil, errTooShort
			}
			return floats.AddTo(make([]float64, len(x)), x, step), nil
		},
		Residual: func([]float64) (float64, error) {
			if now.Stage+search.At < now.Number { // this round was tried in vain
				return search.Decrement, nil
			}
			return max(last.Imbalance, last.Unsettled), nil
		},
		Precondition: func(g []float64) ([]float64, error) { return r.fit.preconditionTemplate(g), nil },
		FirstStep:    1,
	}
	try.Do(search.Learn(context.Background(), objective, value, gradient, solve.Limits{Tolerance: tolerance, MaxIterations: math.MaxInt}))
	return &search
}

// end returns the atlas of the best round and its parts.
func (r *Rounds) end(best, next *AtlasRound, parts []*Part, status geom.Status) *Atlas {
	f := *r.fit
	f.sigma, f.last, f.evaluations = best.Sigma, nil, 0
	f.measureSubjects(r.subjects, 1)
	x := slices.Clone(shape.Flat(best.Template))
	a := &Atlas{Noise: best.Sigma, Reach: 1, Iterations: next.Number, Status: status}
	for _, p := range parts {
		x = append(x, shape.Flat(p.Momentum)...)
		a.Before = append(a.Before, p.Before)
	}
	if f.Free {
		x = append(x, shape.Flat(best.Controls)...)
	}
	if next.Estimate != nil {
		a.Noise, a.Reach, a.Parts = next.Estimate.Noise, next.Estimate.Reach, next.Estimate.Parts
	}
	f.finish(a, f.evaluate(x), r.subjects)
	a.Evaluations = next.Last.Evaluations/len(parts) + f.evaluations
	return a
}
