package framebundle

// Smooth restricts a search to controls of the given number of polynomials.
func (p *Probable) Smooth(modes int) { p.modes = modes }
