package linalg

// QuaternionForms are the quadratic forms of unit quaternions q = (w, x, y, z) that the entries of their rotations R are, row by row, [9, 16]. The
// transpose takes R to 4 q qᵀ − 1.
func QuaternionForms() [][]float64 {
	rotation := func(w, x, y, z float64) [9]float64 {
		return [9]float64{
			w*w + x*x - y*y - z*z, 2 * (x*y - w*z), 2 * (x*z + w*y),
			2 * (x*y + w*z), w*w - x*x + y*y - z*z, 2 * (y*z - w*x),
			2 * (x*z - w*y), 2 * (y*z + w*x), w*w - x*x - y*y + z*z,
		}
	}
	out := make([][]float64, 9)
	for i := range 4 {
		for j := range 4 {
			var both, one, other [4]float64
			one[i]++
			other[j]++
			both[i]++
			both[j]++
			f, g, h := rotation(both[0], both[1], both[2], both[3]), rotation(one[0], one[1], one[2], one[3]),
				rotation(other[0], other[1], other[2], other[3])
			for e := range out {
				out[e] = append(out[e], (f[e]-g[e]-h[e])/2)
			}
		}
	}
	return out
}
