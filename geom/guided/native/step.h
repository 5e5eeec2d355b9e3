// anatomyGuidedStep is an XLA_FFI_Handler for one step of N paths of guided processes:
//
//	A [N, n, n], x [N, n, D], B [N, ⌈n/2⌉, n + 1], f [N, n, D], ξ as x, to x' as x and logarithms [N] of the mean and of the value,
//
// see geom/guided; with the cotangents of these behind the operands, to those of the operands. D is at most 3, and of A and B
// the lower triangles count. Threads share the paths; what is computed for one does not depend on the others.
void *anatomyGuidedStep(void *frame);
