// anatomyGuidedStep is an XLA_FFI_Handler for one step of guided processes, for chains C and edges E:
//
//	A [C, E, n, n], x [C, E, n, D], B₀ [G, E, n, n], f₀ [G, E, n, D], B, f as these, ξ as x, to x' [C, E, n, D] and a logarithm [C, E],
//
// see geom/guided; with the cotangents of both behind the operands, to those of A, x and ξ.
void *anatomyGuidedStep(void *frame);
