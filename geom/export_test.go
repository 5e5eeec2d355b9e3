package geom

// Relaxed returns velocities and lengths of relaxed curves.
func (s *space) Relaxed(curves [][]Vec) ([]Vec, []float64, error) {
	return shooting{s}.Relax(s.Begin("relaxed").Context(), curves, 1e-9)
}
