// anatomyPairs is an XLA_FFI_Handler for sums over all pairs of points x_i and y_j in R^D with a radial kernel
// K = Σ_l k_l(s_ij), s_ij = Σ_a ((x_ia − y_ja) scale_a)². Its operands are a description of the kernel, as Describe of native.go
// makes it, and arrays [batch, points, columns] of
//
//	x, y, q                        to v_i = Σ_j K q_j,
//	x, p, y, q                     to v and f_i = −∂/∂x_i Σ_j (p_i·q_j) K; or, where it has three outputs, to f and
//	                               w_j = Σ_i K p_i and g_j = −∂/∂y_j Σ_i (p_i·q_j) K,
//	x, p, dx, dp, y, q, dy, dq     to the derivatives of v and f along (dx, dp, dy, dq).
//
// Where both sets are the same arrays, it takes each pair once.
void *anatomyPairs(void *frame);

// anatomyLanes is how many numbers the loop takes at a time on this processor.
int anatomyLanes(void);

enum { maxD = 3, maxC = 8, maxTerms = 16, powers = 40, tile = 8 };

enum { gaussian, cauchy, laplace, piece };
