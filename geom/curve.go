package geom

import . "github.com/gomlx/gomlx/core/graph"

// CurveLength returns the length ∫ ‖γ'‖ dt, [...], of a curve. The curve is given by its samples at the times 0, 1/n, …, 1,
// [n + 1, ..., d], n ≥ 1, in the coordinates of one chart; the length does not depend on the times. The metric is taken in the middle
// of each chord; the error is O(n⁻²).
func CurveLength(m Manifold, path *Node) *Node {
	n := checkCurve("CurveLength", path)
	from, to := SliceAxis(path, 0, AxisRange(0, n)), SliceAxis(path, 0, AxisRange(1, n+1))
	chord := Sub(to, from)
	return ReduceSum(Norm(m, MulScalar(Add(from, to), 0.5), chord), 0)
}
