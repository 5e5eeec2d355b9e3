package geom

// Relaxed returns velocities and lengths of relaxed curves.
func (s *space) Relaxed(curves [][]Vec) ([]Vec, []float64, error) {
	return shooting{s}.Relax(s.Begin("relaxed").Context(), curves, 1e-9)
}

// CheckKeys lets Call compare kept programs, until the returned function is called.
func CheckKeys() func() {
	checkKeys = true
	return func() { checkKeys = false }
}
