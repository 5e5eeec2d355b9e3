package morpho

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Symmetry parts shapes that are their own mirror images but for some asymmetry (object symmetry), such as skulls or faces. In the tangent
// space of the symmetric mean shape μ the aligned shape of specimen i is
//
//	μ + s_i + a_i,   s_i = (x_i + x̄_i)/2 − μ,   a_i = (x_i − x̄_i)/2,
//
// with its mirror image x̄_i, in which left and right landmarks have changed places (C. Klingenberg, M. Barluenga and A. Meyer,
// Evolution 56, 2002; K. Mardia, F. Bookstein and I. Moreton, Biometrika 87, 2000). All s_i are symmetric, all a_i change their sign in
// the mirror.
type Symmetry struct {
	Mean [][]float64 // [n][d], μ, of size 1
	// Symmetric and Asymmetric have the shapes μ + s_i and μ + a_i, with the covariates of the specimens. They are data like others: differences
	// between groups are ProcrustesANOVA of Symmetric, and where individuals were measured several times, their fluctuating asymmetry
	// is told from the error of measurement by
	//
	//	ProcrustesANOVA(s.Asymmetric, 999, 1, Factor("individual"))
	Symmetric, Asymmetric *Dataset
	// Directional is the asymmetry that all share, [n][d]: the mean of a over individuals, each the mean of its measurements.
	Directional [][]float64
	// Sums of squares over the specimens: Σ|s_i|², N |Directional|² and Σ|a_i − Directional|², the last one with the error of measurement.
	// They add up to the variation of the specimens where all individuals were measured as often.
	SymmetricSS, DirectionalSS, FluctuatingSS float64
	// P is the p-value of the directional asymmetry, (1 + #{as large or larger})/(1 + Permutations): under the null hypothesis each individual's
	// asymmetry may as well be the opposite, and signs are drawn at random. What is compared is |Directional|² by Σ|a_i|².
	P            float64
	Permutations int
}

// String is the shares of the sums of squares in one line.
func (s *Symmetry) String() string {
	total := (s.SymmetricSS + s.DirectionalSS + s.FluctuatingSS) / 100
	return fmt.Sprintf("symmetric variation %.2f %%, directional asymmetry %.2f %% (p %.3g of %d changes of signs), fluctuating asymmetry %.2f %%",
		s.SymmetricSS/total, s.DirectionalSS/total, s.P, s.Permutations, s.FluctuatingSS/total)
}

// ObjectSymmetry parts the shapes of a data set. Pairs are landmarks on the left and on the right that are each other's mirror images; the
// others lie on the midline. The specimens and their mirror images are brought to size 1 and aligned together. Specimens with the same
// covariate "individual", if they have one, are measurements of one. The seed fixes the changes of signs.
//
// It is an error if there are no pairs, a landmark of a pair does not exist or is in two pairs, landmarks are missing, all shapes are
// the same or have no mean, there are fewer than three individuals, or some specimens have an individual and others none.
func ObjectSymmetry(d *Dataset, pairs [][2]int, permutations int, seed uint64) (*Symmetry, error) {
	fail := func(err error) (*Symmetry, error) { return nil, fmt.Errorf("symmetry of %s: %w", d.Name, err) }
	if permutations < 1 {
		return fail(fmt.Errorf("%d permutations, want at least 1", permutations))
	}
	both, err := d.withMirrorImages(pairs)
	if err != nil {
		return fail(err)
	}
	x, mean, err := both.tangentCoordinates()
	if err != nil {
		return fail(err)
	}
	dim := len(d.Specimens[0].Points[0])
	out := &Symmetry{Mean: points(mean, dim), Permutations: permutations}
	symmetric, asymmetric := *d, *d
	symmetric.Unit, asymmetric.Unit = "", ""
	symmetric.Specimens, asymmetric.Specimens = slices.Clone(d.Specimens), slices.Clone(d.Specimens)
	out.Symmetric, out.Asymmetric = &symmetric, &asymmetric
	var individuals []string
	sums, counts := map[string][]float64{}, map[string]float64{}
	for i, s := range d.Specimens {
		half := func(sign float64) []float64 {
			v := slices.Clone(x.RawRowView(2 * i))
			floats.AddScaled(v, sign, x.RawRowView(2*i+1))
			floats.Scale(0.5, v)
			return v
		}
		even, odd := half(1), half(-1)
		out.SymmetricSS += floats.Dot(even, even)
		name := s.Covariates["individual"]
		if (name == "") != (d.Specimens[0].Covariates["individual"] == "") {
			return fail(fmt.Errorf("specimen %q and the first one: one has an individual, the other none", s.Name))
		}
		if name == "" {
			name = fmt.Sprint(i) // those of specimens may be alike
		}
		if sums[name] == nil {
			individuals, sums[name] = append(individuals, name), make([]float64, len(odd))
		}
		floats.Add(sums[name], odd)
		counts[name]++
		symmetric.Specimens[i].Points = points(floats.AddTo(even, even, mean), dim)
		asymmetric.Specimens[i].Points = points(floats.AddTo(odd, odd, mean), dim)
	}
	if len(individuals) < 3 {
		return fail(fmt.Errorf("%d individuals, want at least 3", len(individuals)))
	}
	directional := make([]float64, len(mean))
	for _, name := range individuals {
		floats.Scale(1/counts[name], sums[name])
		floats.AddScaled(directional, 1/float64(len(individuals)), sums[name])
	}
	out.Directional = points(directional, dim)
	n := float64(len(d.Specimens))
	out.DirectionalSS = n * floats.Dot(directional, directional)
	for i := range d.Specimens {
		for l, p := range asymmetric.Specimens[i].Points {
			for c, v := range p {
				off := v - out.Mean[l][c] - out.Directional[l][c]
				out.FluctuatingSS += off * off
			}
		}
	}
	// With the same |a_i| a larger mean leaves less around it: as a test, this is that of F.
	rng := rand.New(rand.NewPCG(seed, 0))
	extreme, sum := 1, make([]float64, len(mean))
	for range permutations {
		clear(sum)
		for _, name := range individuals {
			floats.AddScaled(sum, float64(1-2*rng.IntN(2))/float64(len(individuals)), sums[name])
		}
		if floats.Dot(sum, sum) >= floats.Dot(directional, directional)*(1-1e-10) {
			extreme++
		}
	}
	out.P = float64(extreme) / float64(1+permutations)
	return out, nil
}

// withMirrorImages returns two specimens of each: itself, and its mirror image.
func (d *Dataset) withMirrorImages(pairs [][2]int) (*Dataset, error) {
	if len(d.Specimens) == 0 {
		return nil, errors.New("no specimens")
	}
	if _, err := preshapes(d.Shapes(), d.specimen); err != nil { // an error that knows no mirror images
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, errors.New("no pairs of landmarks: what lies on the midline alone has no sides")
	}
	n := len(d.Specimens[0].Points)
	partner, seen := make([]int, n), make([]bool, n)
	for i := range partner {
		partner[i] = i
	}
	for _, p := range pairs {
		for k, i := range p {
			if i < 0 || i >= n {
				return nil, fmt.Errorf("pair %d has the landmark %d, want 0 to %d", p, i, n-1)
			}
			if seen[i] {
				return nil, fmt.Errorf("landmark %d is in two pairs, or twice in one", i)
			}
			seen[i], partner[i] = true, p[1-k]
		}
	}
	out := *d
	out.Specimens = nil
	for _, s := range d.Specimens {
		image := Specimen{Name: s.Name + " mirrored", Points: make([][]float64, n)}
		for i, p := range s.Points {
			image.Points[partner[i]] = slices.Clone(p)
			image.Points[partner[i]][0] *= -1
		}
		out.Specimens = append(out.Specimens, s, image)
	}
	return &out, nil
}
