package guided

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom"
	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/lists"
	"anatomy/internal/replace"
)

// run is all that the next iteration depends on, and what was drawn before: gob writes it to Options.Save.
type run[P geom.Point] struct {
	Of         string // what it is a run of
	Iteration  int    // the next one
	Renewed    int    // how often the guides were made anew
	Random     []byte
	W, Xi      []float64
	Y          [][]float64
	Log        []float64 // of the weights of the chains where they are; nil before the first iteration
	Mean       [][]float64
	Scale      [][][]float64
	Guide      visits // of which the guides are made
	Seen       visits // of which the next ones will be
	Logs       [][][]float64
	Scores     [][][]float64
	Angles     [][]float64
	Pace       float64
	Steps      []*stepSize
	Posteriors []*Posterior[P]
}

// saving is how often a run is written.
const saving = time.Minute

// identity says which run a file is of: everything but the number of draws, so that a finished run can be made longer, and but the
// equation and the kernel, which the weights show.
func (s *sampler[P]) identity() string {
	o := s.options
	o.Draws, o.Save = 0, ""
	all := fmt.Sprint("one step size for the chains of a group, Log without the scale of unknowns", s.model.key(), s.process.Name, s.start, s.process.Params, s.tree.Parent, s.tree.Length, s.data, o)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(all)))
}

// save writes the run beside Options.Save and renames it.
func (s *sampler[P]) save(r *run[P]) (err error) {
	defer try.Catch(&err)
	if s.options.Save == "" {
		return nil
	}
	random := try.Get(s.source.MarshalBinary())
	r.Random, r.Y, r.Mean, r.Scale, r.Guide = random, s.y, s.mean, s.scale, s.learned
	r.W, r.Xi = tensors.MustCopyFlatData[float64](s.w), tensors.MustCopyFlatData[float64](s.xi)
	err = replace.File(s.options.Save, func(w io.Writer) error { return gob.NewEncoder(w).Encode(r) })
	return try.Name(err, "the run is not saved")
}

// resume takes the sampler to where a saved run was; nil where there is none.
func (s *sampler[P]) resume() *run[P] {
	if s.options.Save == "" {
		return nil
	}
	data, err := input.ReadFile(s.options.Save)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	try.Do(err)
	r := &run[P]{}
	err = gob.NewDecoder(bytes.NewReader(data)).Decode(r)
	try.FailIf(err != nil, "%s is not a saved run (%w): remove it, or give Options.Save another name", s.options.Save, err)
	try.FailIf(r.Of != s.identity(),
		"%s is of another run, with other observations or options, or of another version: remove it, or give Options.Save another name", s.options.Save)
	drawn := r.Iteration - s.options.Warmup
	try.FailIf(drawn > s.options.Draws, "%s has %d draws of each chain, %d are wanted: want at least as many, remove it, or give Options.Save another name", s.options.Save, drawn, s.options.Draws)
	s.source = &rand.PCG{}
	try.Do(try.Name(s.source.UnmarshalBinary(r.Random), "%s", s.options.Save))
	s.rng = rand.New(s.source)
	s.y, s.mean, s.scale = r.Y, r.Mean, r.Scale
	s.w = tensors.FromFlatDataAndDimensions(r.W, s.options.Steps, s.total, len(s.order), s.k*s.d)
	s.xi = tensors.FromFlatDataAndDimensions(r.Xi, s.total, s.n*s.d)
	s.guide(r.Guide)
	if r.Log != nil {
		s.same(r)
	}
	return r
}

// same is an error where the weights are not those of a saved run, since the equation or the kernel is another.
func (s *sampler[P]) same(r *run[P]) {
	m := s.move(r.Steps, 0, 1)
	for c, x := range r.Log {
		if !lists.Finite(x) {
			continue // the chain began anew
		}
		try.FailIf(!(math.Abs(x-m.log[c]) <= 1e-6*(1+math.Abs(x))),
			"%s is of another process: the weight of chain %d was exp(%g) there and is exp(%g)", s.options.Save, c+1, x, m.log[c])
	}
	try.Do(s.source.UnmarshalBinary(r.Random)) // the move took from it
}
