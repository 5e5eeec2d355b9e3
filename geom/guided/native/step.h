// anatomyGuidedStep is an XLA_FFI_Handler for one step of guided processes, for chains C and edges E:
//
//	A [C, E, n, n], x [C, E, n, D], B [G, E, n, n], f [G, E, n, D], B₀, f₀ as these, ξ as x, to x' [C, E, n, D] and a logarithm [C, E],
//
// see geom/guided; with the cotangents of both behind the operands, to those of A, x and ξ. D is at most 3, and of A, B and B₀
// the lower triangles count. Threads share the paths; what is computed for one does not depend on the others.
void *anatomyGuidedStep(void *frame);
