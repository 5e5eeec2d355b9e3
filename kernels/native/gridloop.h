// Sums with a kernel on a grid, for versions.h. See grid.h for what they compute.

typedef double vec __attribute__((vector_size(8 * LANES)));

// Bumps evaluates the bumps of a point and their derivatives, as many as said, at the cells that they cover along each axis. The
// polynomials, one a cell, are functions of the point's place z between two cells, from -1 to 1.
INLINE void VERSION(bumps)(const Grid *grid, const Placed *p, int derivatives, double out[3][3][maxWidth]) {
	for (int a = 0; a < 3; a++) {
		double (*w)[maxWidth] = out[a];
		if (a < 3 - grid->D) {
			w[0][0] = 1, w[1][0] = w[2][0] = 0;
			continue;
		}
		for (int v = 0; v < grid->width; v += LANES) {
			vec f = AT(grid->bump[grid->degree], v), g = {0}, h = {0};
			for (int j = grid->degree - 1; j >= 0; j--) {
				if (derivatives > 1) h = h * p->z[a] + g;
				if (derivatives > 0) g = g * p->z[a] + f;
				f = f * p->z[a] + AT(grid->bump[j], v);
			}
			AT(w[0], v) = f;
			if (derivatives > 0) AT(w[1], v) = g * 2; // z has two units a cell
			if (derivatives > 1) AT(w[2], v) = h * 8; // h is half of the second derivative
		}
	}
}

// Moves are the changes of a point, in cells.
INLINE void VERSION(moves)(const Job *job, const Set *set, const Placed *p, double move[3]) {
	const int D = job->grid->D;
	for (int a = 0; a < 3; a++) move[a] = a < 3 - D ? 0 : set->velocity[p->original * D + a - 3 + D] * job->grid->axis[a].perLength;
}

// Row is the vector in which the bump of a point begins in row (k, l) of those that it covers. A cell has its columns one after the
// other. Vectors that lie across two lines of the cache take twice the time.
INLINE double *VERSION(row)(const Job *job, const Set *set, double *grid, const Placed *p, int k, int l) {
	return grid + set->row[(p->cell[0] + k) * job->grid->axis[1].cells + p->cell[1] + l] * job->stride + p->cell[2] * job->K / LANES * LANES;
}

// Skipped are the numbers of that vector before the bump.
INLINE int VERSION(skipped)(const Job *job, const Placed *p) { return p->cell[2] * job->K % LANES; }

// The loops over the rows of a bump are unrolled for the usual numbers of vectors, of the plane and of space, if UNROLL says so.
#if LANES == 8
#define USUAL(PART) case 3: PART(3); break; case 4: PART(4); break; case 5: PART(5); break; case 6: PART(6); break;
#else
#define USUAL(PART) \
	case 5: PART(5); break; case 6: PART(6); break; case 7: PART(7); break; \
	case 8: PART(8); break; case 9: PART(9); break; case 10: PART(10); break;
#endif
#define ROWS(PART, unroll, vectors) \
	switch (UNROLL && unroll ? vectors : 0) { \
	USUAL(PART) \
	default: PART(vectors); \
	}

// Put adds to each row of a bump the product of the bumps along the other axes times still, and its derivative along the move times moving.
INLINE void VERSION(put)(const Job *job, const Placed *p, double w[3][3][maxWidth], const double *move, const double *still, const double *moving, const int changes, const int vectors) {
	for (int k = 0; k < job->grid->axis[0].width; k++)
		for (int l = 0; l < job->grid->axis[1].width; l++) {
			double *row = VERSION(row)(job, job->from, job->in, p, k, l), s = w[0][0][k] * w[1][0][l];
			double along = changes ? move[0] * w[0][1][k] * w[1][0][l] + move[1] * w[0][0][k] * w[1][1][l] : 0;
			for (int v = 0; v < vectors; v++) {
				vec more = s * AT(still, v * LANES);
				if (changes) more += along * AT(moving, v * LANES);
				AT(row, v * LANES) += more;
			}
		}
}

// Add spreads the weights of a point, and with changes the derivative of that along changes of weights and point.
INLINE void VERSION(add)(const Job *job, const Placed *p, const int changes, const int vectors) {
	const Grid *grid = job->grid;
	const int C = job->C, K = job->K;
	double w[3][3][maxWidth] __attribute__((aligned(64))), move[3];
	double still[reached] __attribute__((aligned(64))), moving[reached] __attribute__((aligned(64)));
	VERSION(bumps)(grid, p, changes, w);
	const double *q = job->from->weight + p->original * C;
	for (int v = 0; v < vectors; v++) AT(still, v * LANES) = AT(moving, v * LANES) = (vec){0};
	double *first = still + VERSION(skipped)(job, p), *other = moving + VERSION(skipped)(job, p);
	for (int i = 0; i < grid->axis[2].width; i++)
		for (int c = 0; c < C; c++) first[i * K + c] = q[c] * w[2][0][i];
	if (changes) {
		const double *dq = job->from->change + p->original * C;
		VERSION(moves)(job, job->from, p, move);
		for (int i = 0; i < grid->axis[2].width; i++)
			for (int c = 0; c < C; c++) first[i * K + C + c] = dq[c] * w[2][0][i] + q[c] * move[2] * w[2][1][i], other[i * K + C + c] = q[c] * w[2][0][i];
	}
#define PUT(vectors) VERSION(put)(job, p, w, move, still, moving, changes, vectors)
	ROWS(PUT, !changes, vectors)
#undef PUT
}

// Collect sums the rows of a bump along the first two axes: with the bumps, and with their derivatives 0, 1, 00, 11, 01.
INLINE void VERSION(collect)(const Job *job, const Placed *p, double w[3][3][maxWidth], vec sum[6][reached / LANES], const int derivatives, const int vectors) {
	const Grid *grid = job->grid;
	for (int m = 0; m < (derivatives == 0 ? 1 : 3 * derivatives); m++)
		for (int v = 0; v < vectors; v++) sum[m][v] = (vec){0};
	for (int k = 0; k < grid->axis[0].width; k++) {
		vec line[3][reached / LANES];
		for (int m = 0; m <= derivatives; m++)
			for (int v = 0; v < vectors; v++) line[m][v] = (vec){0};
		for (int l = 0; l < grid->axis[1].width; l++) {
			const double *row = VERSION(row)(job, job->to, job->out, p, k, l);
			for (int v = 0; v < vectors; v++) {
				vec g = AT(row, v * LANES);
				for (int m = 0; m <= derivatives; m++) line[m][v] += g * w[1][m][l];
			}
		}
		for (int v = 0; v < vectors; v++) {
			sum[0][v] += line[0][v] * w[0][0][k];
			if (derivatives > 0) sum[1][v] += line[0][v] * w[0][1][k], sum[2][v] += line[1][v] * w[0][0][k];
			if (derivatives > 1) sum[3][v] += line[0][v] * w[0][2][k], sum[4][v] += line[2][v] * w[0][0][k], sum[5][v] += line[1][v] * w[0][1][k];
		}
	}
}

// Read is Σ φ(x)·G of each column of the grid at a point, its gradient, and its second derivatives 00, 11, 22, 01, 02, 12, in cells.
INLINE void VERSION(read)(const Job *job, const Placed *p, double w[3][3][maxWidth], double out[10][columns], const int derivatives, const int vectors) {
	const Grid *grid = job->grid;
	const int K = job->K;
	vec sum[6][reached / LANES];
#define COLLECT(vectors) VERSION(collect)(job, p, w, sum, derivatives, vectors)
	ROWS(COLLECT, derivatives < 2, vectors)
#undef COLLECT
	// What each result is a sum of along the last axis: a row of sum, times a derivative of the bump.
	static const int source[10] = {0, 1, 2, 0, 3, 4, 0, 5, 1, 2}, order[10] = {0, 0, 0, 1, 0, 0, 2, 0, 1, 1};
	for (int m = 0; m < (derivatives == 0 ? 1 : derivatives == 1 ? 4 : 10); m++) {
		for (int c = 0; c < K; c++) out[m][c] = 0;
		for (int i = 0; i < grid->axis[2].width; i++)
			for (int c = 0; c < K; c++) out[m][c] += ((double *)sum[source[m]])[VERSION(skipped)(job, p) + i * K + c] * w[2][order[m]][i];
	}
}

// Get reads what a point is to get.
INLINE void VERSION(get)(const Job *job, const Placed *p, const int derivatives, const int vectors) {
	const Set *to = job->to;
	const int C = job->C, D = job->grid->D;
	double w[3][3][maxWidth] __attribute__((aligned(64))), g[10][columns], pull[3] = {0}, move[3];
	VERSION(bumps)(job->grid, p, derivatives, w);
	VERSION(read)(job, p, w, g, derivatives, vectors);
	if (derivatives > 1) VERSION(moves)(job, to, p, move);
	for (int c = 0; c < C; c++) {
		double v = g[0][c], weight = derivatives > 0 ? to->weight[p->original * C + c] : 0;
		if (derivatives > 1) {
			double change = to->change[p->original * C + c];
			v = g[0][C + c];
			for (int a = 0; a < 3; a++) {
				v += move[a] * g[1 + a][c];
				pull[a] += change * g[1 + a][c] + weight * g[1 + a][C + c];
				for (int b = 0; b < 3; b++) pull[a] += weight * move[b] * g[a == b ? 4 + a : 6 + a + b][c];
			}
		} else if (derivatives > 0) {
			for (int a = 0; a < 3; a++) pull[a] += weight * g[1 + a][c];
		}
		if (job->v != NULL) job->v[p->original * C + c] = v;
	}
	for (int a = 0; a < D && derivatives > 0; a++) job->f[p->original * D + a] = -pull[3 - D + a] * job->grid->axis[3 - D + a].perLength;
}

// Vectors are as many as a bump may cover of a row.
INLINE int VERSION(vectors)(const Job *job) { return (job->grid->axis[2].width * job->K + 2 * LANES - 2) / LANES; }

// Spread adds the points of a block to the grid. Blocks of one color meet no cell of each other.
TARGET static void VERSION(spread)(void *data, int unit, double *unused) {
	const Job *job = data;
	const int across = (job->from->blocks[1] + 1) / 2, b0 = 2 * (unit / across) + job->color / 2, b1 = 2 * (unit % across) + job->color % 2;
	if (b0 >= job->from->blocks[0] || b1 >= job->from->blocks[1]) return;
	const int64_t *start = job->from->start + b0 * job->from->blocks[1] + b1;
	const int vectors = VERSION(vectors)(job);
	for (int64_t i = start[0]; i < start[1]; i++)
		if (job->changes) VERSION(add)(job, job->points + i, 1, vectors);
		else VERSION(add)(job, job->points + i, 0, vectors);
}

// Gather reads a chunk of points off the grid.
TARGET static void VERSION(gather)(void *data, int unit, double *unused) {
	const Job *job = data;
	int64_t from = (int64_t)unit * chunk, to = from + chunk < job->to->inside ? from + chunk : job->to->inside;
	const int vectors = VERSION(vectors)(job);
	for (int64_t i = from; i < to; i++)
		if (job->changes) VERSION(get)(job, job->points + i, 2, vectors);
		else if (job->f != NULL) VERSION(get)(job, job->points + i, 1, vectors);
		else VERSION(get)(job, job->points + i, 0, vectors);
}

typedef struct { vec *re, *im; } VERSION(Lines);

// Pass is one factor r of transform, of n numbers with a stride between them.
INLINE void VERSION(pass)(const Axis *axis, VERSION(Lines) x, VERSION(Lines) y, int n, int stride, const int r) {
	const int m = n / r;
	const double *turns = axis->turns;
	for (int p = 0; p < m; p++)
		for (int q = 0; q < stride; q++) {
			vec a[5], b[5], u[5], w[5]; // real and imaginary parts before and after
			for (int j = 0; j < r; j++) a[j] = x.re[q + stride * (p + m * j)], b[j] = x.im[q + stride * (p + m * j)];
			if (r == 4) {
				vec even = a[0] + a[2], evenI = b[0] + b[2], odd = a[1] + a[3], oddI = b[1] + b[3];
				u[0] = even + odd, w[0] = evenI + oddI, u[2] = even - odd, w[2] = evenI - oddI;
				even = a[0] - a[2], evenI = b[0] - b[2], odd = a[1] - a[3], oddI = b[1] - b[3];
				u[1] = even + oddI, w[1] = evenI - odd, u[3] = even - oddI, w[3] = evenI + odd;
			} else {
				u[0] = a[0], w[0] = b[0];
				for (int j = 1; j < r; j++) u[0] += a[j], w[0] += b[j];
				if (r == 2) u[1] = a[0] - a[1], w[1] = b[0] - b[1];
				for (int k = 1; 2 * k < r; k++) { // with the sums and the differences of x_j and x_(r−j)
					vec ac = a[0], bc = b[0], as = {0}, bs = {0};
					for (int j = 1; 2 * j < r; j++) {
						const double *turn = turns + 2 * (j * k % r) * (axis->cells / r);
						ac += (a[j] + a[r - j]) * turn[0], bc += (b[j] + b[r - j]) * turn[0];
						as += (a[j] - a[r - j]) * turn[1], bs += (b[j] - b[r - j]) * turn[1];
					}
					u[k] = ac - bs, w[k] = bc + as, u[r - k] = ac + bs, w[r - k] = bc - as;
				}
			}
			y.re[q + stride * r * p] = u[0], y.im[q + stride * r * p] = w[0];
			for (int k = 1; k < r; k++) {
				const double *turn = turns + 2 * p * k * stride;
				y.re[q + stride * (r * p + k)] = u[k] * turn[0] - w[k] * turn[1], y.im[q + stride * (r * p + k)] = u[k] * turn[1] + w[k] * turn[0];
			}
		}
}

// Transform is Σ_j x_j e^(−2πi jk/n) of LANES lines at a time, by factors of 4, 2, 3 and 5 (Stockham). It uses the memory of x and y, and
// returns where the result is.
TARGET static VERSION(Lines) VERSION(transform)(const Axis *axis, VERSION(Lines) x, VERSION(Lines) y) {
	int n = axis->cells, stride = 1;
	for (int k = 0; k < axis->passes; k++) {
		const int r = axis->factors[k];
		switch (r) {
		case 2: VERSION(pass)(axis, x, y, n, stride, 2); break;
		case 3: VERSION(pass)(axis, x, y, n, stride, 3); break;
		case 4: VERSION(pass)(axis, x, y, n, stride, 4); break;
		case 5: VERSION(pass)(axis, x, y, n, stride, 5); break;
		}
		VERSION(Lines) swap = x;
		x = y, y = swap, n /= r, stride *= r;
	}
	return x;
}

// Real lines A and B go through a transform as A + iB. Part is twice the coefficient j of both.
INLINE void VERSION(part)(VERSION(Lines) z, int n, int j, vec out[4]) {
	int k = j == 0 ? 0 : n - j;
	out[0] = z.re[j] + z.re[k], out[1] = z.im[j] - z.im[k], out[2] = z.im[j] + z.im[k], out[3] = z.re[k] - z.re[j];
}

// Whole puts the coefficient j of both where the inverse transform takes it, which is the transform with both parts exchanged.
INLINE void VERSION(whole)(VERSION(Lines) z, int n, int j, const vec in[4]) {
	int k = j == 0 ? 0 : n - j;
	z.im[j] = in[0] - in[3], z.re[j] = in[1] + in[2];
	z.im[k] = in[0] + in[3], z.re[k] = in[2] - in[1];
}

INLINE void VERSION(gap)(VERSION(Lines) z, const Axis *axis) {
	for (int j = axis->modes + 1; j < axis->cells - axis->modes; j++) z.re[j] = z.im[j] = (vec){0};
}

INLINE void VERSION(scratch)(const Grid *grid, double *memory, VERSION(Lines) lines[2], double **rest) {
	for (int k = 0; k < 4; k++, memory += longest(grid) * lanes) *(k % 2 == 0 ? &lines[k / 2].re : &lines[k / 2].im) = (vec *)memory;
	*rest = memory;
}

// Forward transforms a plane of a grid along the last two axes. Of a line it keeps (c_0, Re c_1, Im c_1, …).
TARGET static void VERSION(forward)(void *data, int unit, double *memory) {
	const Job *job = data;
	const Axis *axis = job->grid->axis;
	const int c = unit / axis[0].cells, i = unit % axis[0].cells;
	const Set *from = job->from;
	if (from->plane[i] == from->plane[i + 1]) return;
	VERSION(Lines) lines[2], z;
	double *plane;
	VERSION(scratch)(job->grid, memory, lines, &plane);
	vec part[4];
	for (int r = from->plane[i]; r < from->plane[i + 1]; r += 2 * LANES) {
		for (int l = 0; l < 2 * LANES; l++) {
			double *to = (double *)(l < LANES ? lines[0].re : lines[0].im) + l % LANES;
			const double *row = job->in + (r + l) * job->stride + c;
			if (r + l < from->plane[i + 1]) for (int k = 0; k < axis[2].cells; k++) to[k * LANES] = row[k * job->K];
			else for (int k = 0; k < axis[2].cells; k++) to[k * LANES] = 0;
		}
		z = VERSION(transform)(&axis[2], lines[0], lines[1]);
		for (int j = 0; j <= axis[2].modes; j++) {
			VERSION(part)(z, axis[2].cells, j, part);
			for (int l = 0; l < 2 * LANES && r + l < from->plane[i + 1]; l++) {
				double *to = plane + from->where[r + l] % axis[1].cells * job->across;
				if (j > 0) to[2 * j - 1] = part[l < LANES ? 0 : 2][l % LANES], to[2 * j] = part[l < LANES ? 1 : 3][l % LANES];
				else to[0] = part[l < LANES ? 0 : 2][l % LANES];
			}
		}
		for (int l = 0; l < 2 * LANES && r + l < from->plane[i + 1]; l++)
			for (int j = axis[2].kept; j < job->across; j++) plane[from->where[r + l] % axis[1].cells * job->across + j] = 0;
	}
	double *out = job->spectrum + ((int64_t)c * axis[0].cells + i) * axis[1].kept * job->across;
	for (int g = 0; g < job->across; g += 2 * LANES) {
		for (int k = 0; k < axis[1].cells; k++) {
			int covered = from->row[i * axis[1].cells + k] >= 0;
			const double *at = plane + k * job->across + g;
			lines[0].re[k] = covered ? AT(at, 0) : (vec){0}, lines[0].im[k] = covered ? AT(at, LANES) : (vec){0};
		}
		z = VERSION(transform)(&axis[1], lines[0], lines[1]);
		for (int j = 0; j <= axis[1].modes; j++) {
			VERSION(part)(z, axis[1].cells, j, part);
			double *at = out + (j == 0 ? 0 : 2 * j - 1) * job->across + g;
			AT(at, 0) = part[0], AT(at, LANES) = part[2];
			if (j > 0) AT(at, job->across) = part[1], AT(at, job->across + LANES) = part[3];
		}
	}
}

// Multiply transforms some lines of the spectrum along the first axis, multiplies them with the coefficients and transforms them back.
TARGET static void VERSION(multiply)(void *data, int unit, double *memory) {
	const Job *job = data;
	const Axis *axis = job->grid->axis;
	VERSION(Lines) lines[2], z, back;
	double *factors;
	VERSION(scratch)(job->grid, memory, lines, &factors);
	const int64_t g = (int64_t)unit * 2 * LANES, plane = (int64_t)axis[1].kept * job->across;
	const int inner = (axis[1].modes + 1) * (axis[2].modes + 1);
	for (int l = 0; l < 2 * LANES; l++) {
		const int j1 = (g + l) / job->across, j2 = (g + l) % job->across;
		const double *core = job->grid->core + (j1 + 1) / 2 * (axis[2].modes + 1) + (j2 + 1) / 2;
		for (int j = 0; j <= axis[0].modes; j++) factors[j * 2 * LANES + l] = j2 < axis[2].kept ? core[j * inner] * job->norm : 0;
	}
	for (int c = 0; c < job->K; c++) {
		double *column = job->spectrum + c * axis[0].cells * plane + g;
		for (int k = 0; k < axis[0].cells; k++) {
			int covered = job->from->plane[k] < job->from->plane[k + 1];
			const double *at = column + k * plane;
			lines[0].re[k] = covered ? AT(at, 0) : (vec){0}, lines[0].im[k] = covered ? AT(at, LANES) : (vec){0};
		}
		z = VERSION(transform)(&axis[0], lines[0], lines[1]);
		back = z.re == lines[0].re ? lines[1] : lines[0];
		for (int j = 0; j <= axis[0].modes; j++) {
			vec part[4];
			VERSION(part)(z, axis[0].cells, j, part);
			for (int m = 0; m < 4; m++) part[m] *= AT(factors, j * 2 * LANES + m / 2 * LANES);
			VERSION(whole)(back, axis[0].cells, j, part);
		}
		VERSION(gap)(back, &axis[0]);
		z = VERSION(transform)(&axis[0], back, z);
		for (int k = 0; k < axis[0].cells; k++) {
			if (job->to->plane[k] == job->to->plane[k + 1]) continue;
			double *at = column + k * plane;
			AT(at, 0) = z.im[k], AT(at, LANES) = z.re[k];
		}
	}
}

// Backward is the inverse of forward, for the rows that are read.
TARGET static void VERSION(backward)(void *data, int unit, double *memory) {
	const Job *job = data;
	const Axis *axis = job->grid->axis;
	const int c = unit / axis[0].cells, i = unit % axis[0].cells;
	const Set *to = job->to;
	if (to->plane[i] == to->plane[i + 1]) return;
	VERSION(Lines) lines[2], z;
	double *plane;
	VERSION(scratch)(job->grid, memory, lines, &plane);
	const double *in = job->spectrum + ((int64_t)c * axis[0].cells + i) * axis[1].kept * job->across;
	vec part[4] = {0};
	for (int g = 0; g < job->across; g += 2 * LANES) {
		for (int j = 0; j <= axis[1].modes; j++) {
			const double *at = in + (j == 0 ? 0 : 2 * j - 1) * job->across + g;
			part[0] = AT(at, 0), part[2] = AT(at, LANES);
			part[1] = j > 0 ? AT(at, job->across) : (vec){0}, part[3] = j > 0 ? AT(at, job->across + LANES) : (vec){0};
			VERSION(whole)(lines[0], axis[1].cells, j, part);
		}
		VERSION(gap)(lines[0], &axis[1]);
		z = VERSION(transform)(&axis[1], lines[0], lines[1]);
		for (int k = 0; k < axis[1].cells; k++)
			if (to->row[i * axis[1].cells + k] >= 0) AT(plane, k * job->across + g) = z.im[k], AT(plane, k * job->across + g + LANES) = z.re[k];
	}
	for (int r = to->plane[i]; r < to->plane[i + 1]; r += 2 * LANES) {
		for (int j = 0; j <= axis[2].modes; j++) {
			for (int l = 0; l < 2 * LANES; l++) {
				int covered = r + l < to->plane[i + 1];
				const double *at = plane + (covered ? to->where[r + l] % axis[1].cells * job->across : 0) + (j == 0 ? 0 : 2 * j - 1);
				part[l < LANES ? 0 : 2][l % LANES] = covered ? at[0] : 0, part[l < LANES ? 1 : 3][l % LANES] = covered && j > 0 ? at[1] : 0;
			}
			VERSION(whole)(lines[0], axis[2].cells, j, part);
		}
		VERSION(gap)(lines[0], &axis[2]);
		z = VERSION(transform)(&axis[2], lines[0], lines[1]);
		for (int l = 0; l < 2 * LANES && r + l < to->plane[i + 1]; l++) {
			const double *at = (double *)(l < LANES ? z.im : z.re) + l % LANES;
			double *row = job->out + (r + l) * job->stride + c;
			for (int k = 0; k < axis[2].cells; k++) row[k * job->K] = at[k * LANES];
		}
	}
}

static const Loops VERSION(loops) = {VERSION(spread), VERSION(forward), VERSION(multiply), VERSION(backward), VERSION(gather)};

#undef USUAL
#undef ROWS
