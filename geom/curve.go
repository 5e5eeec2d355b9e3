package geom

import . "github.com/gomlx/gomlx/core/graph"

// CurveEnergy returns ½ ∫ ‖γ'‖² dt, [...], of the curve through samples at the times 0, 1/n, …, 1, [n + 1, ..., d]: the
// metric in the middle of every chord, error O(n⁻²).
func CurveEnergy(m Manifold, path *Node) *Node {
	squares, n := chords(m, "CurveEnergy", path)
	return MulScalar(ReduceSum(squares, 0), 0.5*float64(n))
}

// CurveLength returns ∫ ‖γ'‖ dt, [...], as CurveEnergy does; it does not depend on the times.
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
