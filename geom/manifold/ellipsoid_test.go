package manifold_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestEllipsoid(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Ellipsoid(1, 1.5, 2), []float64{1, 0, 0}, []float64{0, 0.9, 1.6})
}

// The half axes are those at the call: a change of the slice that held them is no other ellipsoid.
func TestEllipsoidKeepsItsAxes(t *testing.T) {
	t.Parallel()
	axes := []float64{1, 1.5, 2}
	s := geom.On(manifold.Ellipsoid(axes...))
	axes[0] = 5
	if err := s.Check("point", []float64{1, 0, 0}); err != nil {
		t.Error(err)
	}
}

// Gauss's curvature at a point of Σ (z_i/a_i)² = 1 is 1/(Π a_i² (Σ z_i²/a_i⁴)²), which is c²/(a²b²) at the end of the
// axis c.
func TestEllipsoidCurvature(t *testing.T) {
	t.Parallel()
	axes := []float64{1, 1.5, 2}
	m := manifold.Ellipsoid(axes...)
	poles := [][]float64{{1, 0, 0}, {0, 1.5, 0}, {0, 0, 2}}
	centres := append(append([][]float64{}, poles...), poles...)
	x := [][]float64{{0, 0}, {0, 0}, {0, 0}, {0.2, -0.1}, {0.2, -0.1}, {0.2, -0.1}}
	out, err := engine.Run(func(in []*Node) []*Node {
		c := m.Chart(in[0])
		return []*Node{geom.ScalarCurvature(c, in[1]), c.Point(in[1])}
	}, centres, x)
	out = expect.Must(out, err)
	for i, scalar := range out.Vector(0) {
		sum, product := 0.0, 1.0
		for k, a := range axes {
			sum += math.Pow(out.Matrix(1)[i][k], 2) / math.Pow(a, 4)
			product *= a * a
		}
		expect.Abs(t, "Gauss's curvature", scalar/2, 1/(product*sum*sum), 1e-9)
	}
}

// Geodesics of ellipsoids of revolution, a = 1, from longitude 0: latitude, azimuth and length, to latitude, longitude,
// azimuth and reduced length (degrees). Made with geographiclib 2.1 (C. Karney, Algorithms for geodesics, 2013):
// Geodesic(1, f).Direct(lat1, 0, azi1, s12, Geodesic.ALL), accurate to 1e-12 for these f.
var geographic = map[float64][][7]float64{ // by flattening
	1 / 298.257223563: {
		{0, 30, 0.7, 34.09615939837385, 22.85775132212816, 37.09640118630541, 0.6439265396078642},
		{40, 75, 1.6, 10.245739215080185, 100.97597945870024, 131.15823888577614, 0.998310212122102},
		{-63.4, -110, 2.4, 34.06822665851024, -130.24512001806295, -30.581349174604537, 0.6721129606052135},
		{80, -5, 1.1, 37.01451173787813, -174.41907237193197, -178.91173108855145, 0.8920595020368007},
	},
	-0.1: {
		{0, 30, 0.7, 28.856452110993093, 22.33096483250868, 35.780471395943124, 0.652300857985766},
		{40, 75, 1.6, 12.538232670507446, 103.48576905447206, 133.05322386116129, 1.0301847349922502},
		{-63.4, -110, 2.4, 25.627235817565627, -129.8088058333197, -26.117814211441026, 0.7604990169606574},
		{80, -5, 1.1, 34.74267835077994, -174.54816333670013, -179.00583027140183, 0.8667020463467024},
	},
}

// geodetic returns the point at a latitude and a longitude, and the unit vectors north and east of it.
func geodetic(f, latitude, longitude float64) (z, north, east []float64) {
	sinP, cosP := math.Sincos(latitude * math.Pi / 180)
	sinL, cosL := math.Sincos(longitude * math.Pi / 180)
	b := 1 - f
	n := 1 / math.Sqrt(cosP*cosP+b*b*sinP*sinP)
	return []float64{n * cosP * cosL, n * cosP * sinL, b * b * n * sinP},
		[]float64{-sinP * cosL, -sinP * sinL, cosP}, []float64{-sinL, cosL, 0}
}

func combined(a float64, x []float64, b float64, y []float64) []float64 {
	z := floats.ScaleTo(make([]float64, len(x)), a, x)
	floats.AddScaled(z, b, y)
	return z
}

// Exp, Log and the reduced length m12, the length of the Jacobi field that starts perpendicular with slope 1, to 1e-9:
// that is about the error of RK4 with 300 steps on the longest of the geodesics.
func TestEllipsoidAgainstGeographiclib(t *testing.T) {
	t.Parallel()
	for f, rows := range geographic {
		s := geom.On(manifold.Ellipsoid(1, 1, 1-f), geom.Integrator(ode.RK4, 300))
		var starts, velocities, ends [][]float64
		for i, row := range rows {
			z, north, east := geodetic(f, row[0], 0)
			end, north2, east2 := geodetic(f, row[3], row[4])
			sin, cos := math.Sincos(row[1] * math.Pi / 180)
			unit, across := combined(cos, north, sin, east), combined(-sin, north, cos, east)
			velocity := floats.ScaleTo(make([]float64, 3), row[2], unit)
			starts, velocities, ends = append(starts, z), append(velocities, velocity), append(ends, end)

			g := expect.Must(s.Exp(z, velocity))
			expect.Abs(t, "end", g.Path[300], end, 5e-10)
			moved, err := s.Transport(g, velocity)
			sin, cos = math.Sincos(row[5] * math.Pi / 180)
			expect.Abs(t, "velocity at the end", expect.Must(moved, err)[0][300], combined(cos*row[2], north2, sin*row[2], east2), 5e-10)

			if i%2 == 1 {
				continue
			}
			// s12 times the derivative of the end by the angle: the Jacobi field, by differences of order 4.
			at := func(angle float64) []float64 {
				return expect.Must(s.Exp(z, combined(row[2]*math.Cos(angle), unit, row[2]*math.Sin(angle), across))).Path[300]
			}
			const h = 3e-3
			jacobi := combined(8/(12*h), floats.SubTo(make([]float64, 3), at(h), at(-h)),
				-1/(12*h), floats.SubTo(make([]float64, 3), at(2*h), at(-2*h)))
			expect.Abs(t, "reduced length", floats.Norm(jacobi, 2), row[6], 1e-9)
		}
		for i, g := range expect.Must(s.LogAll(starts, ends)) {
			expect.Rel(t, "Log", g.Velocity, velocities[i], 5e-10)
		}
	}
}
