package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
)

// iris are R. Fisher's measurements of three species (The use of multiple measurements in taxonomic problems, Ann. Eugenics 7, 1936).
func iris(t *testing.T) (columns [][]float64, species []string) {
	lines := strings.Split(strings.TrimSpace(string(expect.Must(os.ReadFile("testdata/iris.csv")))), "\n")[1:]
	columns = make([][]float64, 4)
	for _, line := range lines {
		cells := strings.Split(line, ",")
		for k := range columns {
			columns[k] = append(columns[k], number(cells[k]))
		}
		species = append(species, cells[4])
	}
	for _, c := range columns {
		floats.AddConst(-stat.Mean(c, nil), c)
	}
	return columns, species
}

// Of Fisher's irises the canonical variates have the known eigenvalues 32.192 and 0.285, 147 of 150 are told right, cross-validated and
// not, and Pillai's trace is 1.1919 (all as R's lda and summary.manova print them).
func TestCanonicalVariatesOfIrises(t *testing.T) {
	columns, species := iris(t)
	s := separate("irises", columns, species, true, draws(19, 1))
	expect.Abs(t, "share of the first", s.Shares[0], 32.19192920/(32.19192920+0.28539104), 1e-9)
	expect.Abs(t, "told right, cross-validated", s.Right, 0.98, 1e-12)
	expect.Abs(t, "told right", s.RightAgain, 0.98, 1e-12)
	for k, scores := range s.Scores {
		within, between := 0.0, 0.0
		for g := range 3 {
			of := scores[50*g : 50*g+50]
			within, between = within+49*stat.Variance(of, nil)/147, between+50*math.Pow(stat.Mean(of, nil), 2)
		}
		expect.Abs(t, "variance within groups", within, 1, 1e-10)
		expect.Abs(t, "eigenvalue", between/147, []float64{32.19192920, 0.28539104}[k], 1e-7)
	}
	z := s.Scores[0]
	for j, c := range columns { // change of the numbers by the unit of the score: their regression within groups
		sum, squares := 0.0, 0.0
		for g := range 3 {
			sum, squares = sum+49*stat.Covariance(c[50*g:50*g+50], z[50*g:50*g+50], nil), squares+49*stat.Variance(z[50*g:50*g+50], nil)
		}
		expect.Abs(t, "change by the unit of the score", s.Axes[0][j], sum/squares, 1e-10)
	}
	rows := standardise(mat.DenseCopyOf(transposed(columns)))
	table := oneWay(rows, species, draws(19, 1))
	expect.Abs(t, "Pillai's trace", table.Rows[0].SS, 1.1919, 5e-5)
}

func transposed(columns [][]float64) mat.Matrix {
	out := mat.NewDense(len(columns[0]), len(columns), nil)
	for k, c := range columns {
		out.SetCol(k, c)
	}
	return out
}

// Cross-validation is what it is by hand: without each specimen the group with the least Mahalanobis distance, or the least distance between the means.
func TestSeparationWithoutEach(t *testing.T) {
	d := morpho.GreatApes()
	mean := expect.Must(Fit(d))
	pca := expect.Must(mean.Components())
	for _, whiten := range []bool{true, false} {
		s, r := expect.Must(BetweenGroupComponents(d, draws(99, 1))), len(pca.Axes)
		if whiten {
			s = expect.Must(CanonicalVariates(d, draws(99, 1)))
			r = s.Components
		}
		wrong := 0
		for i, own := range d.Specimens {
			means, count, rows := map[string][]float64{}, map[string]float64{}, make([][]float64, len(d.Specimens))
			for j, other := range d.Specimens {
				for k := range r {
					rows[j] = append(rows[j], pca.Scores[k][j])
				}
				if j != i {
					if means[other.Group] == nil {
						means[other.Group] = make([]float64, r)
					}
					floats.Add(means[other.Group], rows[j])
					count[other.Group]++
				}
			}
			for g, m := range means {
				floats.Scale(1/count[g], m)
			}
			metric := mat.NewSymDense(r, nil)
			if whiten {
				for j, other := range d.Specimens {
					if j != i {
						off := floats.SubTo(make([]float64, r), rows[j], means[other.Group])
						metric.SymRankOne(metric, 1, mat.NewVecDense(r, off))
					}
				}
				var inverse mat.Dense
				if err := inverse.Inverse(metric); err != nil {
					t.Fatal(err)
				}
				for a := range r {
					for b := a; b < r; b++ {
						metric.SetSym(a, b, inverse.At(a, b))
					}
				}
			} else { // the projection to the differences of the means
				basis := mat.NewDense(len(means)-1, r, nil)
				for k, g := range d.Groups()[1:] {
					basis.SetRow(k, floats.SubTo(make([]float64, r), means[g], means[d.Groups()[0]]))
				}
				var svd mat.SVD
				svd.Factorize(basis, mat.SVDThin)
				var v mat.Dense
				svd.VTo(&v)
				metric.SymOuterK(1, &v)
			}
			best, least := "", math.Inf(1)
			for g, m := range means {
				off := mat.NewVecDense(r, floats.SubTo(make([]float64, r), rows[i], m))
				if far := mat.Inner(off, metric, off); far < least {
					best, least = g, far
				}
			}
			if best != own.Group {
				wrong++
			}
		}
		expect.Abs(t, "specimens told right", s.Right, 1-float64(wrong)/float64(len(d.Specimens)), 1e-12)
		if s.Right < 0.6 || s.P != 0.01 || len(s.Axes) != 5 {
			t.Errorf("%v", s)
		}
		for k, axis := range s.Axes { // the score of the shape that the axis leads to is the score
			moved := floats.SubTo(make([]float64, len(axis)), axisRow(s, k), axisRow(s, -1))
			floats.Sub(moved, axis)
			expect.Abs(t, "shape along the axis", floats.Norm(moved, 2), 0, 1e-14)
		}
	}
}

func axisRow(s *Separation, k int) []float64 {
	var out []float64
	for _, p := range s.At(max(k, 0), indicator(k >= 0)) {
		out = append(out, p...)
	}
	return out
}

// Groups that do not differ are told apart by axes that they had a part in, and no better than by chance by others.
func TestSeparationWithoutGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	again, right, p := [2]float64{}, [2]float64{}, [2]float64{}
	const samples = 40
	for range samples {
		d := &morpho.Dataset{Name: "noise"}
		for i := range 30 {
			s := morpho.Specimen{Name: fmt.Sprint(i), Group: fmt.Sprint(i % 3)}
			for k := range 40 {
				sin, cos := math.Sincos(2 * math.Pi * float64(k) / 40)
				s.Points = append(s.Points, []float64{cos + 0.05*rng.NormFloat64(), sin + 0.05*rng.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
		}
		for k, separate := range []func() (*Separation, error){
			func() (*Separation, error) { return CanonicalVariates(d, draws(39, rng.Uint64())) },
			func() (*Separation, error) { return BetweenGroupComponents(d, draws(39, rng.Uint64())) },
		} {
			s := expect.Must(separate())
			again[k], right[k], p[k] = again[k]+s.RightAgain/samples, right[k]+s.Right/samples, p[k]+s.P/samples
		}
	}
	for k := range again {
		if again[k] < right[k]+0.2 || right[k] > 1./3+0.02 {
			t.Errorf("told right %.3f, cross-validated %.3f", again[k], right[k])
		}
		expect.Abs(t, "mean p", p[k], 0.5, 3*math.Sqrt(1./12/samples))
	}
	if again[1] < 0.9 {
		t.Errorf("between-group components tell %.3f of the specimens right that do not differ", again[1])
	}
	alone := morpho.GorillaSkulls()
	alone.Specimens[3].Group = "calf"
	_, err := CanonicalVariates(alone, draws(9, 1))
	expect.Refused(t, err, "the group calf has 1 specimen, want at least 2")
}
