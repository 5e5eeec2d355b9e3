// One step of LANES items at once, for versions.h: item l is lane l of every number, so that the code below is that of one item, and all
// sizes of matrices run at full width.
//
// Matrices are rows of np numbers, np = n rounded up to whole tiles of 4 × 4: lower ones have zeros above the diagonal in their
// diagonal tiles, the tiles above are never read. What is added to n is the identity for A, and zero for the rest. Vectors are
// [np][d].

typedef double VERSION(vec) __attribute__((vector_size(8 * LANES)));

// acc ±= Σ_k x_ik y_kj over count indices k, for four i and the columns j of a tile or a vector; each operand has two strides.
INLINE void VERSION(dot)(vec acc[4][4], const int columns, const int sign, const vec *x, const int xi, const int xk, const vec *y, const int yk, const int yj, int count) {
	for (int k = 0; k < count; k++, x += xk, y += yk)
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
			for (int j = 0; j < columns; j++) {
				if (sign > 0) acc[i][j] += x[i * xi] * y[j * yj];
				else acc[i][j] -= x[i * xi] * y[j * yj];
			}
}
#define DOT VERSION(dot)

INLINE void VERSION(load)(vec acc[4][4], const vec *m, int stride, const int columns) {
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (int j = 0; j < columns; j++) acc[i][j] = m == NULL ? (vec){0} : m[i * stride + j];
}
#define LOAD VERSION(load)

INLINE void VERSION(store)(vec *m, int stride, vec acc[4][4], const int columns) {
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (int j = 0; j < columns; j++) m[i * stride + j] = acc[i][j];
}
#define STORE VERSION(store)

INLINE void VERSION(scale)(vec acc[4][4], double factor, const int columns) {
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (int j = 0; j < columns; j++) acc[i][j] *= factor;
}
#define SCALE VERSION(scale)

// The tile of m in row i and column j, both multiples of 4.
#define TILE(m, i, j) ((m) + (i) * np + (j))

// The lower factor of a symmetric matrix in place, and the reciprocals of its diagonal; not finite where it is not positive.
static TARGET void VERSION(factor)(vec *restrict a, vec *restrict inverse, int np) {
	for (int j = 0; j < np; j += 4) for (int i = j; i < np; i += 4) {
		vec t[4][4];
		LOAD(t, TILE(a, i, j), np, 4);
		DOT(t, 4, -1, TILE(a, i, 0), np, 1, TILE(a, j, 0), 1, np, j);
		const vec *d = TILE(a, j, j);
		for (int c = 0; c < 4; c++) {
			if (i == j) {
				for (int m = 0; m < c; m++) t[c][c] -= t[c][m] * t[c][m];
				t[c][c] = ROOT(t[c][c]);
				inverse[j + c] = 1 / t[c][c];
				for (int r = 0; r < c; r++) t[r][c] = (vec){0};
				for (int r = c + 1; r < 4; r++) {
					for (int m = 0; m < c; m++) t[r][c] -= t[r][m] * t[c][m];
					t[r][c] *= inverse[j + c];
				}
			} else for (int r = 0; r < 4; r++) {
				for (int m = 0; m < c; m++) t[r][c] -= t[r][m] * d[c * np + m];
				t[r][c] *= inverse[j + c];
			}
		}
		STORE(TILE(a, i, j), np, t, 4);
	}
}

// From the cotangent of the factor l, in its lower triangle, in place to that of the matrix: its lower triangle is half of what
// stands here, and so is the upper one. (I. Murray, Differentiation of the Cholesky decomposition, 2016.)
static TARGET void VERSION(unfactor)(vec *restrict a, const vec *restrict l, const vec *restrict inverse, int np) {
	for (int j = np - 4; j >= 0; j -= 4) {
		vec diagonal[4][4];
		LOAD(diagonal, TILE(a, j, j), np, 4);
		const vec *d = TILE(l, j, j);
		for (int i = j + 4; i < np; i += 4) {
			vec t[4][4];
			LOAD(t, TILE(a, i, j), np, 4);
			DOT(t, 4, -1, TILE(a, i, j + 4), np, 1, TILE(l, j + 4, j), np, 1, i - j);
			DOT(t, 4, -1, TILE(a, i, i) + 4 * np, 1, np, TILE(l, i, j) + 4 * np, np, 1, np - i - 4);
			for (int c = 3; c >= 0; c--) for (int r = 0; r < 4; r++) {
				for (int m = c + 1; m < 4; m++) t[r][c] -= t[r][m] * d[m * np + c];
				t[r][c] *= inverse[j + c];
			}
			STORE(TILE(a, i, j), np, t, 4);
			DOT(diagonal, 4, -1, TILE(a, i, j), 1, np, TILE(l, i, j), np, 1, 4);
		}
		vec p[4][4];
		for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) {
			p[r][c] = (vec){0};
			if (c > r) continue;
			for (int k = r; k < 4; k++) p[r][c] += d[k * np + r] * diagonal[k][c];
			if (r == c) p[r][c] *= 0.5;
		}
		for (int r = 3; r >= 0; r--) for (int c = 0; c < 4; c++) {
			for (int m = r + 1; m < 4; m++) p[r][c] -= d[m * np + r] * p[m][c];
			p[r][c] *= inverse[j + r];
		}
		for (int c = 3; c >= 0; c--) for (int r = 0; r < 4; r++) {
			for (int m = c + 1; m < 4; m++) p[r][c] -= p[r][m] * d[m * np + c];
			p[r][c] *= inverse[j + c];
		}
		for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) diagonal[r][c] = p[r][c] + p[c][r];
		STORE(TILE(a, j, j), np, diagonal, 4);
	}
}

// A function by its code for d axes, whose loops are short as the compiler knows their number.
#define AXES(name, ...) (d == 1 ? VERSION(name)(__VA_ARGS__, 1) : d == 2 ? VERSION(name)(__VA_ARGS__, 2) : VERSION(name)(__VA_ARGS__, 3))

// b = (l + shift)⁻¹ b; inverse are the reciprocals of the diagonal of l + shift.
INLINE void VERSION(lowerIn)(const vec *restrict l, const vec *restrict inverse, vec *restrict b, int np, const int d) {
	for (int i = 0; i < np; i += 4) {
		vec t[4][4];
		LOAD(t, b + i * d, d, d);
		DOT(t, d, -1, TILE(l, i, 0), np, 1, b, d, 1, i);
		for (int r = 0; r < 4; r++) for (int c = 0; c < d; c++) {
			for (int m = 0; m < r; m++) t[r][c] -= TILE(l, i, i)[r * np + m] * t[m][c];
			t[r][c] *= inverse[i + r];
		}
		STORE(b + i * d, d, t, d);
	}
}

// b = (l + shift)⁻ᵀ b.
INLINE void VERSION(upperIn)(const vec *restrict l, const vec *restrict inverse, vec *restrict b, int np, const int d) {
	for (int i = np - 4; i >= 0; i -= 4) {
		vec t[4][4];
		LOAD(t, b + i * d, d, d);
		DOT(t, d, -1, TILE(l, i, i) + 4 * np, 1, np, b + (i + 4) * d, d, 1, np - i - 4);
		for (int r = 3; r >= 0; r--) for (int c = 0; c < d; c++) {
			for (int m = r + 1; m < 4; m++) t[r][c] -= TILE(l, i, i)[m * np + r] * t[m][c];
			t[r][c] *= inverse[i + r];
		}
		STORE(b + i * d, d, t, d);
	}
}

// y = x ± l b for a lower l; x may be NULL for 0, or y.
INLINE void VERSION(timesIn)(vec *y, const vec *x, double sign, const vec *l, const vec *b, int np, const int d) {
	for (int i = np - 4; i >= 0; i -= 4) {
		vec t[4][4];
		LOAD(t, x == NULL ? NULL : x + i * d, d, d);
		SCALE(t, sign, d);
		DOT(t, d, 1, TILE(l, i, 0), np, 1, b, d, 1, i + 4);
		SCALE(t, sign, d);
		STORE(y + i * d, d, t, d);
	}
}

// y = x ± lᵀ b.
INLINE void VERSION(transposedIn)(vec *y, const vec *x, double sign, const vec *l, const vec *b, int np, const int d) {
	for (int i = 0; i < np; i += 4) {
		vec t[4][4];
		LOAD(t, x == NULL ? NULL : x + i * d, d, d);
		SCALE(t, sign, d);
		DOT(t, d, 1, TILE(l, i, i), 1, np, b + i * d, d, 1, np - i);
		SCALE(t, sign, d);
		STORE(y + i * d, d, t, d);
	}
}

static TARGET void VERSION(lower)(const vec *l, const vec *inverse, vec *b, int np, int d) { AXES(lowerIn, l, inverse, b, np); }
static TARGET void VERSION(upper)(const vec *l, const vec *inverse, vec *b, int np, int d) { AXES(upperIn, l, inverse, b, np); }
static TARGET void VERSION(times)(vec *y, const vec *x, int sign, const vec *l, const vec *b, int np, int d) { AXES(timesIn, y, x, sign, l, b, np); }
static TARGET void VERSION(transposed)(vec *y, const vec *x, int sign, const vec *l, const vec *b, int np, int d) { AXES(transposedIn, y, x, sign, l, b, np); }

// Numbers of the items, rows of from columns of each, to rows of to: all of them, or of lower matrices the triangles.
static TARGET void VERSION(gather)(vec *m, int np, int to, const Item *items, int operand, int n, int from, int part) {
	memset(m, 0, (size_t)np * to * sizeof *m);
	for (int i = 0; i < n; i++) for (int j = 0; j < (part == all ? from : i + 1); j++)
		for (int l = 0; l < LANES; l++) m[i * to + j][l] = items[l].in[operand][part == packedTriangle ? packed(n, i, j) : i * from + j];
}

// See stepFrom in geom/guided for the formulas: with A = LLᵀ and W = BL, S = 1 + WWᵀ = PPᵀ, u = f − Bx, y = P⁻¹u, q = (P + 1)⁻¹Wξ and
// v = P⁻ᵀ(y − q) it is x' = x + L(ξ + Wᵀv), and the logarithms are −½‖y‖² − D log det P and −½‖v − q‖².
static TARGET void VERSION(steps)(const Item *items, int count, int n, int d, int backwards, double *memory) {
	int np = (n + 3) / 4 * 4, nn = np * np, nd = np * d;
	vec *B = (vec *)memory, *L = B + nn, *W = L + nn, *P = W + nn, *inverseL = P + nn, *inverseP = inverseL + np, *inverseQ = inverseP + np;
	vec *x = inverseQ + np, *xi = x + nd, *y = xi + nd, *v = y + nd, *q = v + nd, *z = q + nd;
	VERSION(gather)(x, np, d, items, 1, n, d, all);
	VERSION(gather)(L, np, np, items, 0, n, n, lowerTriangle);
	for (int i = n; i < np; i++) L[i * np + i] += 1;
	VERSION(factor)(L, inverseL, np);
	VERSION(gather)(B, np, np, items, 2, n, n, packedTriangle);
	VERSION(gather)(y, np, d, items, 3, n, d, all);
	VERSION(gather)(xi, np, d, items, 4, n, d, all);
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, 1, TILE(B, i, j), np, 1, TILE(L, j, j), np, 1, i - j + 4);
		STORE(TILE(W, i, j), np, t, 4);
	}
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, 1, TILE(W, i, 0), np, 1, TILE(W, j, 0), 1, np, j + 4);
		if (i == j) for (int r = 0; r < 4; r++) t[r][r] += 1;
		STORE(TILE(P, i, j), np, t, 4);
	}
	VERSION(factor)(P, inverseP, np);
	for (int i = 0; i < np; i++) inverseQ[i] = 1 / (P[i * np + i] + 1);
	VERSION(times)(y, y, -1, B, x, np, d);
	VERSION(lower)(P, inverseP, y, np, d);
	VERSION(times)(q, NULL, 1, W, xi, np, d);
	VERSION(lower)(P, inverseQ, q, np, d);
	for (int i = 0; i < nd; i++) v[i] = y[i] - q[i];
	VERSION(upper)(P, inverseP, v, np, d);
	VERSION(transposed)(z, xi, 1, W, v, np, d);
	if (!backwards) {
		vec before = {0}, after = {0}, determinant = {0};
		for (int i = 0; i < nd; i++) before += y[i] * y[i], after += (v[i] - q[i]) * (v[i] - q[i]);
		for (int i = 0; i < np; i += 4) {
			vec product = P[i * np + i] * P[(i + 1) * np + i + 1] * P[(i + 2) * np + i + 2] * P[(i + 3) * np + i + 3];
			for (int l = 0; l < LANES; l++) determinant[l] += log(product[l]);
		}
		VERSION(times)(x, x, 1, L, z, np, d);
		for (int l = 0; l < count; l++) {
			for (int i = 0; i < n * d; i++) items[l].out[0][i] = x[i][l];
			*items[l].out[1] = -0.5 * before[l] - d * determinant[l];
			*items[l].out[2] = -0.5 * after[l];
		}
		return;
	}
	vec *nextBar = z + nd, *zBar = nextBar + nd, *g = zBar + nd, *h = g + nd, *u = h + nd, *PBar = u + nd, *WBar = PBar + nn, *LBar = WBar + nn;
	vec meanBar, valueBar;
	for (int l = 0; l < LANES; l++) meanBar[l] = *items[l].in[6], valueBar[l] = *items[l].in[7];
	VERSION(gather)(nextBar, np, d, items, 5, n, d, all);
	VERSION(transposed)(zBar, NULL, 1, L, nextBar, np, d);
	VERSION(times)(g, NULL, 1, W, zBar, np, d);
	for (int i = 0; i < nd; i++) g[i] -= valueBar * (v[i] - q[i]); // of v
	VERSION(lower)(P, inverseP, g, np, d);                       // of y − q
	for (int i = 0; i < nd; i++) h[i] = g[i] - valueBar * (v[i] - q[i]);
	VERSION(upper)(P, inverseQ, h, np, d); // of −Wξ
	for (int i = 0; i < nd; i++) u[i] = g[i] - meanBar * y[i];
	VERSION(upper)(P, inverseP, u, np, d);
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, -1, v + i * d, d, 1, g + j * d, 1, d, d);
		DOT(t, 4, 1, h + i * d, d, 1, q + j * d, 1, d, d);
		DOT(t, 4, -1, u + i * d, d, 1, y + j * d, 1, d, d);
		if (i == j) for (int r = 0; r < 4; r++) t[r][r] -= d * meanBar * inverseP[i + r];
		STORE(TILE(PBar, i, j), np, t, 4);
	}
	VERSION(unfactor)(PBar, P, inverseP, np); // twice that of S
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, 1, v + i * d, d, 1, zBar + j * d, 1, d, d);
		DOT(t, 4, -1, h + i * d, d, 1, xi + j * d, 1, d, d);
		DOT(t, 4, 1, TILE(PBar, i, j), np, 1, TILE(W, j, j), np, 1, i - j + 4);
		DOT(t, 4, 1, TILE(PBar, i, i) + 4 * np, 1, np, TILE(W, i, j) + 4 * np, np, 1, np - i - 4);
		STORE(TILE(WBar, i, j), np, t, 4);
	}
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, 1, nextBar + i * d, d, 1, z + j * d, 1, d, d);
		DOT(t, 4, 1, TILE(B, i, i), 1, np, TILE(WBar, i, j), np, 1, np - i);
		STORE(TILE(LBar, i, j), np, t, 4);
	}
	vec *BBar = PBar;
	for (int i = 0; i < np; i += 4) for (int j = 0; j <= i; j += 4) {
		vec t[4][4];
		LOAD(t, NULL, 0, 4);
		DOT(t, 4, -1, u + i * d, d, 1, x + j * d, 1, d, d);
		DOT(t, 4, 1, TILE(WBar, i, 0), np, 1, TILE(L, j, 0), 1, np, j + 4);
		STORE(TILE(BBar, i, j), np, t, 4);
	}
	VERSION(unfactor)(LBar, L, inverseL, np);
	VERSION(transposed)(nextBar, nextBar, -1, B, u, np, d);
	VERSION(transposed)(zBar, zBar, -1, W, h, np, d);
	for (int l = 0; l < count; l++) {
		for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) {
			double half = 0.5 * LBar[i * np + j][l];
			items[l].out[0][i * n + j] = half, items[l].out[0][j * n + i] = half;
			if (2 * i == n - 1) items[l].out[2][i * (n + 1) + j] = 0; // the middle row stands there twice
			items[l].out[2][packed(n, i, j)] = BBar[i * np + j][l];
		}
		for (int i = 0; i < n * d; i++) items[l].out[1][i] = nextBar[i][l], items[l].out[3][i] = u[i][l], items[l].out[4][i] = zBar[i][l];
	}
}

#undef AXES
#undef DOT
#undef LOAD
#undef STORE
#undef SCALE
#undef TILE
