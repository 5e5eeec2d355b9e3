package geom

import . "github.com/gomlx/gomlx/core/graph"

// CurveEnergy returns the energy ½ ∫ ‖γ'‖² dt, [...], of a curve. The curve is given by its samples at the times 0, 1/n, …, 1,
// [n + 1, ..., d], n ≥ 1, in the coordinates of one chart. The metric is taken in the middle of each chord; the error is O(n⁻²).
func CurveEnergy(m Manifold, path *Node) *Node {
	squares, n := chords(m, "CurveEnergy", path)
	return MulScalar(ReduceSum(squares, 0), 0.5*float64(n))
}

// CurveLength returns the length ∫ ‖γ'‖ dt, [...], of a curve given as for CurveEnergy, with the same order of error. It does not
// depend on the times of the samples.
func CurveLength(m Manifold, path *Node) *Node {
	squares, _ := chords(m, "CurveLength", path)
	return ReduceSum(Sqrt(squares), 0)
}

// chords returns ‖x_{i+1} − x_i‖² in the metric half-way, [n, ...].
func chords(m Manifold, what string, path *Node) (squares *Node, n int) {
	n = checkCurve(what, path)
	from, to := SliceAxis(path, 0, AxisRange(0, n)), SliceAxis(path, 0, AxisRange(1, n+1))
	chord := Sub(to, from)
	return Inner(m, MulScalar(Add(from, to), 0.5), chord, chord), n
}
