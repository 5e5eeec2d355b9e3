package landmarks

import (
	"context"
	"testing"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/kernels"
)

// A space with a context of its own, as of a request, has the compiled functions of the one that it comes from, also those for fewer
// landmarks.
func TestWithSharesWhatIsCompiled(t *testing.T) {
	s := New(3000, 2, kernels.Gaussian(1))
	if s.With(geom.Context(context.Background())).fewer() != s.fewer() {
		t.Error("a space with another context compiles for fewer landmarks anew")
	}
	if some := s.With(geom.Integrator(ode.Heun, 7)).fewer(); some.Method() != ode.Heun || some.Steps() != 7 {
		t.Errorf("%s with %d steps", some.Method().Name, some.Steps())
	}
}
