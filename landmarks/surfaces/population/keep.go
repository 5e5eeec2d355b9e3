package population

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/replace"
)

// kept is a search in a file of Save. At its end only the end is kept.
type kept struct {
	*solve.LBFGS
	Evaluations int // of the fit
}

// run minimises an objective about chunks from x, as solve.Objective.Run does. With Save it goes on where the same search was interrupted. The
// name of its file is a checksum of what it depends on. Names of kernels, which are part of that, are rounded: what a file says is taken if it has
// the value there that it says.
func (f *fit) run(name string, about []chunk, o solve.Objective, x []float64, limits solve.Limits, opts []solve.Option) *solve.Minimum {
	if f.Save != "" {
		sum := sha256.New()
		fmt.Fprintln(sum, name, f.Space, f.Space.Method().Name, f.Space.Steps(), f.Objects, f.Free, f.Hypertemplate, f.controls, f.design, f.sigma,
			f.scale, o.Residual != nil, try.Get(limits.With(opts...)), x)
		for _, m := range f.start {
			fmt.Fprintln(sum, m.Vertices, m.Cells)
		}
		for _, c := range about {
			for i := range c.measures {
				fmt.Fprintln(sum, c.measures.Flat(i))
			}
		}
		o.Keep = f.keep(filepath.Join(f.Save, fmt.Sprintf("search_%x.json", sum.Sum(nil)[:16])), o.Value)
	}
	if f.on != nil {
		return try.Get(o.Run(name, f.on, x, limits, opts...))
	}
	return try.Get(o.Run(name, f.Space, x, limits, opts...))
}

// keep returns a solve.Objective.Keep by a file. Writing takes at most a twentieth of the time.
func (f *fit) keep(file string, value func(x []float64) (float64, []float64, error)) func(s *solve.LBFGS) error {
	var written time.Time
	var took time.Duration
	return func(s *solve.LBFGS) (err error) {
		defer try.Catch(&err)
		switch {
		case s.Values == 0:
			old := kept{LBFGS: &solve.LBFGS{}}
			text, err := input.ReadFile(file)
			if err != nil || json.Unmarshal(text, &old) != nil || len(old.Best) != len(s.X) || len(old.X) != len(s.X) {
				return nil
			}
			if old.Done {
				old.X = old.Best
			}
			if v, _ := try.Get2(value(old.Best)); !(math.Abs(v-old.Value) <= 1e-9*math.Abs(old.Value)) {
				return nil
			}
			*s, f.evaluations = *old.LBFGS, old.Evaluations
			return nil
		case s.Done && s.Status == geom.Cancelled, !s.Done && time.Since(written) < 20*took:
			return nil
		}
		now := *s
		if s.Done {
			try.Get2(value(s.Best)) // which is wanted next, and counted
			now = solve.LBFGS{X: s.Best, Best: s.Best, Value: s.Value, Decrement: s.Decrement, Iterations: s.Iterations, Values: s.Values, Done: true, Status: s.Status}
		}
		start := time.Now()
		try.Do(os.MkdirAll(f.Save, 0o777))
		try.Do(replace.File(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(kept{&now, f.evaluations}) }))
		written = time.Now()
		took = written.Sub(start)
		return nil
	}
}
