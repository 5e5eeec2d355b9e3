// anatomyCholesky is an XLA_FFI_Handler: of symmetric matrices A, [..., n, n], it returns L and L⁻¹ with A = L Lᵀ. Both are NaN from
// the column on in which a pivot is not positive. It reads the upper triangles.
void *anatomyCholesky(void *frame);
