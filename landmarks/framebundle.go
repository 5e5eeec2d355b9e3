package landmarks

import (
	"fmt"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/stats"
)

// FrameBundle is the frame bundle of the manifold, on coordinate vectors, with the space's integrator.
func (s *Space) FrameBundle() *framebundle.Space {
	return framebundle.Over(s.Geometry, framebundle.Integrator(s.method, s.steps))
}

// Development is a path of shapes with its anti-development.
type Development struct {
	Curve  [][]float64     // w in R^m at the times 0, 1/n, …, 1
	Path   [][][]float64   // shapes
	Frames [][][][]float64 // Frames[k][α] is vector α of the frame at time k, one row a landmark
	// Residual is the largest root mean square over the coordinates of what Path is off the path that was anti-developed.
	Residual float64
}

// Develop returns the path of shapes, from q, that is the development of a curve in R^m: frame is m tangent vectors at q,
// one row a landmark, and the curve is given by its corners. See framebundle.Space.Develop.
func (s *Space) Develop(q [][]float64, frame [][][]float64, curve [][]float64) (*Development, error) {
	u, err := s.framePoint("Develop", q, frame)
	if err != nil {
		return nil, err
	}
	d, err := s.FrameBundle().Develop(u, curve)
	if err != nil {
		return nil, err
	}
	return s.development(d), nil
}

// AntiDevelop returns the curve in R^m whose development with a frame at the first shape follows a path of shapes at even
// times as closely as the frame lets it. See framebundle.Space.AntiDevelop.
func (s *Space) AntiDevelop(frame [][][]float64, path [][][]float64) (*Development, error) {
	points, err := s.Vectors(path)
	if err != nil {
		return nil, fmt.Errorf("AntiDevelop: %w", err)
	}
	vectors, err := s.tangents("AntiDevelop", frame)
	if err != nil {
		return nil, err
	}
	d, err := s.FrameBundle().AntiDevelop(vectors, points)
	if err != nil {
		return nil, err
	}
	return s.development(d), nil
}

func (s *Space) framePoint(what string, q [][]float64, frame [][][]float64) (u framebundle.Point, err error) {
	if u.X, err = s.Vector(q); err != nil {
		return u, fmt.Errorf("%s: %w", what, err)
	}
	u.Frame, err = s.tangents(what, frame)
	return u, err
}

func (s *Space) development(d *framebundle.Development) *Development {
	out := &Development{Curve: d.Curve, Path: s.Shapes(d.Points), Residual: d.Residual}
	for _, f := range d.Frames {
		out.Frames = append(out.Frames, s.Shapes(f))
	}
	return out
}

// FrameMean is a mean shape with the covariance around it.
type FrameMean struct {
	Shape     [][]float64
	Frame     [][][]float64 // the covariance is Σ ν_α ν_αᵀ; one row a landmark, the vectors orthogonal in the metric
	Variances []float64     // ‖ν_α‖²_g, falling
	Sigma     float64       // standard deviation of a coordinate's noise

	Paths    [][][][]float64 // the most probable path to every shape
	Mismatch []float64       // |x_i(1) − y_i|, over all coordinates

	Iterations int
	Status     geom.Status
}

// FrameBundleMean returns the Fréchet mean on the frame bundle: mean shape and covariance of a given rank. Options are those
// of stats.FrameBundleMean.
func (s *Space) FrameBundleMean(shapes [][][]float64, rank int, opts ...stats.Option) (*FrameMean, error) {
	return s.frameMean("frame bundle mean", stats.FrameBundleMean, shapes, rank, opts)
}

// FrameBundlePCA is FrameBundleMean with the noise as a part of the model, and estimated; see stats.FrameBundlePCA.
func (s *Space) FrameBundlePCA(shapes [][][]float64, rank int, opts ...stats.Option) (*FrameMean, error) {
	return s.frameMean("frame bundle PCA", stats.FrameBundlePCA, shapes, rank, opts)
}

type fit func(*framebundle.Space, [][]float64, int, ...stats.Option) (*stats.FrameMean, error)

func (s *Space) frameMean(what string, f fit, shapes [][][]float64, rank int, opts []stats.Option) (*FrameMean, error) {
	x, err := s.Vectors(shapes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	m, err := f(s.FrameBundle(), x, rank, opts...)
	if err != nil {
		return nil, err
	}
	out := &FrameMean{Shape: s.Shape(m.X), Frame: s.Shapes(m.Frame), Variances: m.Variances, Sigma: m.Sigma, Iterations: m.Iterations, Status: m.Status}
	for _, g := range m.Paths {
		out.Paths = append(out.Paths, s.Shapes(g.Points))
		out.Mismatch = append(out.Mismatch, g.Mismatch)
	}
	return out, nil
}
