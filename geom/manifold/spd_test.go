package manifold_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

func TestSPD(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.SPD(2), []float64{2, 1, 1, 3}, []float64{0.05, -0.01, -0.01, 0.01})
}

// d(P, Q)² = Σ log² λ_i, λ the eigenvalues of P⁻¹Q, here of gonum; invariance under P ↦ A P Aᵀ; the geometric mean of
// commuting matrices is the midpoint.
func TestSPDDistance(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.SPD(3))
	p := mat.NewDense(3, 3, []float64{4, 1, 0.5, 1, 3, -0.2, 0.5, -0.2, 2})
	q := mat.NewDense(3, 3, []float64{1, -0.3, 0.1, -0.3, 5, 0.7, 0.1, 0.7, 0.4})
	var ratio mat.Dense
	if err := ratio.Solve(p, q); err != nil {
		t.Fatal(err)
	}
	var eigen mat.Eigen
	if !eigen.Factorize(&ratio, mat.EigenNone) {
		t.Fatal("no eigenvalues")
	}
	sum := 0.0
	for _, l := range eigen.Values(nil) {
		sum += math.Pow(math.Log(real(l)), 2)
	}
	expect.Abs(t, "distance", expect.Must(s.Log(p.RawMatrix().Data, q.RawMatrix().Data)).Length, math.Sqrt(sum), 1e-12)

	a := mat.NewDense(3, 3, []float64{1, 2, 0, 0, 1, 0.5, 3, 0, 1})
	moved := func(p *mat.Dense) []float64 {
		var ap, out mat.Dense
		ap.Mul(a, p)
		out.Mul(&ap, a.T())
		for i := range 3 {
			for j := range i {
				out.Set(i, j, out.At(j, i))
			}
		}
		return out.RawMatrix().Data
	}
	expect.Abs(t, "distance after a congruence", expect.Must(s.Log(moved(p), moved(q))).Length, math.Sqrt(sum), 1e-11)

	one, two := []float64{1, 0, 0, 0, 2, 0, 0, 0, 3}, []float64{4, 0, 0, 0, 2, 0, 0, 0, 0.12}
	half := append([]float64{}, expect.Must(s.Log(one, two)).Velocity...)
	for i := range half {
		half[i] /= 2
	}
	g := expect.Must(s.Exp(one, half))
	expect.Abs(t, "midpoint", g.End, []float64{2, 0, 0, 0, 2, 0, 0, 0, 0.6}, 5e-13)

	expect.Refused(t, expect.Error(s.Log(one, []float64{1, 0, 0, 0, 1, 0, 0, 0, -1})), "the end is not on the manifold") // an indefinite matrix
	expect.Refused(t, expect.Error(s.Log(one, []float64{1, 0.1, 0, 0, 1, 0, 0, 0, 1})), "Space.Project")                 // a matrix that is not symmetric
	expect.Refused(t, expect.Error(s.Exp(one, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0})), "not tangent")                     // a vector that is not symmetric
}

// Where numbers underflow or overflow on the way, matrices would be singular: that is said, and no cut locus.
func TestSPDOutOfRange(t *testing.T) {
	s := geom.On(manifold.SPD(2))
	one := []float64{1, 0, 0, 1}
	for v, fine := range map[float64]bool{-800: false, -745: false, -720: false, 720: false, 800: false, -600: true, 600: true, -300: true, 300: true} {
		g, err := s.Exp(one, []float64{v, 0, 0, 0})
		if (err == nil) != fine {
			t.Errorf("Exp(%g): %v, %v", v, g, err)
		}
		if err == nil && math.Abs(math.Log(g.End[0])-v) > 1e-10 {
			t.Errorf("Exp(%g): %v", v, g.End)
		}
	}
	for _, large := range [][]float64{{1e200, 0, 0, 1}, {1e300, 0, 0, 1}} {
		_, err := s.Log(one, large)
		expect.Refused(t, err, "too large, for double precision")
	}
}
