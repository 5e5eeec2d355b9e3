#include "pairs.h"

#include "grid.h"

#include <math.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "handler.h"

// Points have one to three coordinates; grids have three axes, the first ones of a cell where points have fewer.
enum { lanes = 8, chunk = 256, columns = 2 * maxC, reached = maxWidth * columns + lanes };

// Of the waves along an axis the coefficients of e^(2πi jk/cells), |j| ≤ modes, are kept. Turns are cos, sin of −2πk/cells.
typedef struct { int cells, modes, kept, width, factors[32], passes; double perLength, *turns; } Axis;
typedef struct { int D, width, degree; Axis axis[3]; double bump[maxDegree + 1][maxWidth] __attribute__((aligned(64))); const double *core; } Grid;

// A bump covers width cells from cell on along each axis. Its point lies z, −1 to 1, on the way from the cell before.
typedef struct { double z[3]; int cell[3], original; } Placed;

// Points of an item of the batch and what they carry, a row a point; placed, block by block of the first two axes, the ones on the grid
// first; and the rows of the grid that bumps cover, by planes.
typedef struct {
	int64_t n, inside;
	const double *point, *weight, *velocity, *change;
	Placed *placed;
	int64_t *start;
	int blocks[2], *row, *where, *plane; // of a row (i, j) its index or −1, and the other way; the first row of each plane
} Set;

// A job spreads the weights of a set, C columns, and with changes as many for their changes, and answers another one.
typedef struct {
	const Grid *grid;
	const Set *from, *to;
	const Placed *points;
	int version, C, K, changes, color, across; // across is kept of the last axis, for whole vectors
	int64_t stride;                            // of a row
	double norm, *in, *out, *spectrum, *v, *f;
} Job;

static int longest(const Grid *g) {
	int n = g->axis[0].cells;
	for (int a = 1; a < 3; a++) n = g->axis[a].cells > n ? g->axis[a].cells : n;
	return n;
}

typedef struct { Unit *spread, *forward, *multiply, *backward, *gather; } Loops;

#define LOOP "gridloop.h"
#include "versions.h"

static const Loops *const loops[] = VERSIONS(&loops);

// Large is memory in large pages, where the system has them: most of it is touched once.
static double *large(int64_t numbers) {
	int64_t size = (numbers * sizeof(double) + (2 << 20) - 1) >> 21 << 21;
	double *memory = aligned_alloc(2 << 20, size);
	if (memory == NULL) return need(size);
#ifdef MADV_HUGEPAGE
	madvise(memory, size, MADV_HUGEPAGE);
#endif
	return memory;
}

// Clear empties the rows of a plane.
static void clear(void *data, int i, double *unused) {
	const Job *job = data;
	int64_t first = job->from->plane[i];
	memset(job->in + first * job->stride, 0, (job->from->plane[i + 1] - first) * job->stride * sizeof(double));
}

// Place finds the cells of points and sorts them by blocks, so that the points of a block lie together.
static void place(Set *s, const Grid *grid, const double low[3]) {
	const Axis *axis = grid->axis;
	const int lead = 3 - grid->D, N = axis[1].cells;
	for (int a = 0; a < 2; a++) s->blocks[a] = axis[a].cells / axis[a].width + 1;
	const int64_t deep = axis[2].cells / 16 + 1, keys = s->blocks[0] * s->blocks[1] * deep;
	int64_t *count = need(sizeof *count * (keys + 2));
	memset(count, 0, sizeof *count * (keys + 2));
	Placed *all = need(sizeof *all * s->n);
	int64_t *key = need(sizeof *key * s->n);
	char *seen = need((int64_t)axis[0].cells * N);
	memset(seen, 0, (int64_t)axis[0].cells * N);
	for (int64_t i = 0; i < s->n; i++) {
		Placed p = {.original = i};
		int inside = 1;
		for (int a = lead; a < 3; a++) {
			double at = (s->point[i * grid->D + a - lead] - low[a]) * axis[a].perLength, whole = floor(at);
			inside = inside && at >= 0 && whole + 1 + axis[a].width <= axis[a].cells; // false where it is not a number
			if (inside) p.z[a] = 2 * (at - whole) - 1, p.cell[a] = whole + 1;
		}
		key[i] = inside ? (p.cell[0] / axis[0].width * s->blocks[1] + p.cell[1] / axis[1].width) * deep + p.cell[2] / 16 : keys;
		if (inside) seen[p.cell[0] * N + p.cell[1]] = 1;
		count[key[i] + 1]++;
		all[i] = p;
	}
	for (int64_t k = 0; k <= keys; k++) count[k + 1] += count[k];
	s->inside = count[keys];
	s->start = need(sizeof *s->start * (s->blocks[0] * s->blocks[1] + 1));
	for (int64_t b = 0; b <= s->blocks[0] * s->blocks[1]; b++) s->start[b] = count[b * deep];
	s->placed = need(sizeof *s->placed * s->n);
	for (int64_t i = 0; i < s->n; i++) s->placed[count[key[i]]++] = all[i];
	free(key), free(all), free(count);

	// A row is covered where a bump begins at most a width before it.
	const int64_t rows = (int64_t)axis[0].cells * N;
	s->row = need(sizeof(int) * rows), s->where = need(sizeof(int) * rows), s->plane = need(sizeof(int) * (axis[0].cells + 1));
	int found = 0, *last = need(sizeof(int) * N);
	for (int j = 0; j < N; j++) last[j] = -axis[0].cells;
	for (int i = 0; i < axis[0].cells; i++) {
		s->plane[i] = found;
		for (int j = 0, before = -N; j < N; j++) {
			if (seen[i * N + j]) before = j;
			if (j - before < axis[1].width) last[j] = i;
			int covered = i - last[j] < axis[0].width;
			s->row[i * N + j] = covered ? found : -1;
			if (covered) s->where[found++] = i * N + j;
		}
	}
	s->plane[axis[0].cells] = found;
	free(last), free(seen);
}

static void release(Set *s) { free(s->placed), free(s->start), free(s->row), free(s->where), free(s->plane); }

// Answer spreads the weights of one set and reads off what the other gets.
static void answer(const Frame *frame, Job *job, const Set *from, const Set *to, double *v, double *f) {
	const Grid *grid = job->grid;
	const Axis *axis = grid->axis;
	const Loops *loop = loops[job->version];
	job->from = from, job->to = to, job->v = v, job->f = f;
	job->K = job->changes ? 2 * job->C : job->C;
	job->across = (axis[2].kept + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
	// Vectors may reach beyond the last cell. An odd number of them lets the rows of a bump lie everywhere in the cache.
	job->stride = ((axis[2].cells * job->K + 3 * lanes - 1) / lanes | 1) * lanes;
	int64_t spectrum = (int64_t)axis[1].kept * job->across, rest = axis[1].cells * job->across;
	if (rest < 2 * lanes * (axis[0].modes + 1)) rest = 2 * lanes * (axis[0].modes + 1);
	int64_t memory = (4 * longest(grid) * lanes + rest) * sizeof(double);
	job->in = large(from->plane[axis[0].cells] * job->stride);
	job->spectrum = large(job->K * axis[0].cells * spectrum);
	run(frame, axis[0].cells, 1, clear, job, 0);
	job->points = from->placed;
	for (job->color = 0; job->color < 4; job->color++) run(frame, ((from->blocks[0] + 1) / 2) * ((from->blocks[1] + 1) / 2), 1, loop->spread, job, 0);
	run(frame, job->K * axis[0].cells, 1, loop->forward, job, memory);
	job->out = job->in;
	if (to->placed != from->placed) free(job->in), job->out = large(to->plane[axis[0].cells] * job->stride);
	run(frame, spectrum / (4 << job->version), 1, loop->multiply, job, memory);
	run(frame, job->K * axis[0].cells, 1, loop->backward, job, memory);
	free(job->spectrum);
	job->points = to->placed;
	run(frame, (to->inside + chunk - 1) / chunk, 1, loop->gather, job, 0);
	free(job->out);
	for (int64_t i = to->inside; i < to->n; i++) {
		const int64_t at = to->placed[i].original;
		double none = 0;
		for (int a = 0; a < grid->D; a++) none += 0 * to->point[at * grid->D + a]; // not a number where the point is none
		for (int c = 0; v != NULL && c < job->C; c++) v[at * job->C + c] = none;
		for (int a = 0; f != NULL && a < grid->D; a++) f[at * grid->D + a] = none;
	}
}

static void describe(Grid *grid, const double *told) {
	grid->D = told[0], grid->width = told[1], grid->degree = told[2];
	told += 3;
	for (int a = 0; a < 3; a++) {
		Axis *x = &grid->axis[a];
		*x = (Axis){.cells = 1, .kept = 1, .width = 1, .perLength = 0};
		if (a >= 3 - grid->D) {
			x->cells = told[0], x->modes = told[1], x->perLength = told[2], x->kept = 2 * x->modes + 1, x->width = grid->width;
			told += 3;
		}
		int rest = x->cells;
		for (int k = 0; k < 4; k++)
			for (int r = (int[]){4, 2, 3, 5}[k]; rest % r == 0; rest /= r) x->factors[x->passes++] = r;
		x->turns = need(2 * sizeof(double) * x->cells);
		for (int k = 0; k < x->cells; k++) x->turns[2 * k] = cos(-2 * M_PI * k / x->cells), x->turns[2 * k + 1] = sin(-2 * M_PI * k / x->cells);
	}
	memset(grid->bump, 0, sizeof grid->bump);
	for (int j = 0; j <= grid->degree; j++, told += grid->width) memcpy(grid->bump[j], told, grid->width * sizeof(double));
	grid->core = told;
}

// Sums answers a call with a version of the loops.
static void sums(const Frame *frame, int version) {
	Buffer **in = frame->in.buffers, **out = frame->out.buffers;
	Grid *grid = need(sizeof *grid);
	describe(grid, in[0]->data);
	// The operands of a set, and how many: x | y, q; x, p | y, q; or x, p, dx, dp | y, q, dy, dq.
	int count = frame->in.count - 1, sides = count / 2, own = count == 3 ? 1 : sides;
	Buffer **x = in + 1, **y = x + own;
	const int64_t n = x[0]->dims[1], m = y[0]->dims[1];
	Job job = {.version = version, .grid = grid, .C = y[1]->dims[2], .changes = count == 8, .norm = 0.125};
	for (int a = 0; a < 3; a++) job.norm /= grid->axis[a].cells;
#define ITEM(b) ((b)->data + i * (b)->dims[1] * (b)->dims[2])
	for (int64_t i = 0; i < x[0]->dims[0]; i++) {
		Set one = {.n = n, .point = ITEM(x[0])}, other = {.n = m, .point = ITEM(y[0]), .weight = ITEM(y[1])};
		if (own > 1) one.weight = ITEM(x[1]);
		if (job.changes) one.velocity = ITEM(x[2]), one.change = ITEM(x[3]), other.velocity = ITEM(y[2]), other.change = ITEM(y[3]);
		double low[3] = {INFINITY, INFINITY, INFINITY};
		for (int a = 0; a < grid->D; a++) {
			double *at = &low[3 - grid->D + a];
			for (int64_t k = 0; k < n; k++) *at = one.point[k * grid->D + a] < *at ? one.point[k * grid->D + a] : *at;
			for (int64_t k = 0; k < m; k++) *at = other.point[k * grid->D + a] < *at ? other.point[k * grid->D + a] : *at;
		}
		place(&one, grid, low);
		Set *from = &other, same = one;
		if (one.point == other.point) same.weight = other.weight, same.velocity = other.velocity, same.change = other.change, from = &same;
		else place(&other, grid, low);
		if (frame->out.count == 3) {
			answer(frame, &job, from, &one, NULL, ITEM(out[0]));
			answer(frame, &job, &one, from, ITEM(out[1]), ITEM(out[2]));
		} else {
			answer(frame, &job, from, &one, ITEM(out[0]), frame->out.count > 1 ? ITEM(out[1]) : NULL);
		}
		release(&one);
		if (from == &other) release(&other);
	}
	for (int a = 0; a < 3; a++) free(grid->axis[a].turns);
	free(grid);
}

void *anatomyGrid(void *data) {
	if (!asked(data)) sums(data, version());
	return NULL;
}
