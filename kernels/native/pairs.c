#include "pairs.h"

#include <math.h>
#include <string.h>

#include "handler.h"

// Points whose tiles are listed together; targets that meet a tile together, in as many pairs; a tile is the longest vector; tiles of a
// cluster; see Share; points that a thread sorts or adds up at a time.
enum { targets = 64, group = 4, block = group * tile, lanes = tile, cluster = 64, shares = 16, chunk = 1024 };

static const double some = 2e5; // pairs, 100 µs or more: worth another thread

// A derivative of a term, as in native.go.
typedef struct { int divide, degree; const double *a; } Series;
typedef struct { int kind; double ratio; Series series[3]; } Term; // a function of ratio·s

typedef struct { double reach, scale[maxD]; int count; Term terms[maxTerms]; } Kernel;

// Boxes from low to high, up to a multiple of lanes; those beyond count lie nowhere.
typedef struct { int count; double *low[maxD], *high[maxD]; } Boxes;

// Points and what they carry: coordinates, weights, velocities and changes of the weights, the columns of a tile side by side, padded
// with points of weight zero. With a reach they are sorted, so that the points of a tile lie together, and the tiles of a cluster.
typedef struct {
	int64_t n, padded;
	int columns, *original;
	double *at;
	Boxes tiles, clusters;
} Set;

static double *entry(const Set *s, int64_t i, int column) { return s->at + (i / tile * s->columns + column) * tile + i % tile; }

// Near lists tiles with their boxes. A group of targets fills list with those that it needs.
typedef struct { Boxes boxes; int *tiles, *list; } Near;

// One sums over the sources of each target. Both adds to the sums of the sources as well, and Self takes each pair of one set once.
enum { one, both, self };

typedef struct { Kernel kernel; int D, C, order, sides; Set x, y; double *v, *f, *w, *g; int units; struct Share *share; } Job;

// Share is what some of the targets add to the sums w and g of the sources, laid out as a set, of which the tiles that were touched
// count. There are as many shares whatever the number of threads, so that the order of additions is always the same.
typedef struct Share { double *sum; unsigned char *touched; } Share;

// The second number where the first is none.
static double less(double a, double b) { return a < b ? a : b; }
static double more(double a, double b) { return a > b ? a : b; }

static int64_t tilesOf(const Set *s) { return s->padded / tile; }

static int64_t rounded(int64_t n) { return (n + lanes - 1) / lanes * lanes; }

// Room makes room for n boxes, from at on, and returns where it ends.
static double *room(Boxes *b, int64_t n, int D, double *at) {
	b->count = n;
	for (int a = 0; a < D; a++, at += 2 * rounded(n)) b->low[a] = at, b->high[a] = at + rounded(n);
	return at;
}

static void nowhere(Boxes *b, int D) {
	for (int64_t l = b->count; l < rounded(b->count); l++)
		for (int a = 0; a < D; a++) b->low[a][l] = b->high[a][l] = INFINITY;
}

// Nothing is 0, or not a number where the point is none: no box reaches such a point.
static double nothing(const Set *s, int64_t i, int D) {
	double none = 0;
	for (int a = 0; a < D; a++) none += 0 * *entry(s, i, a);
	return none;
}

static double *touch(const Share *share, int64_t t, int columns) {
	double *sum = share->sum + t * columns * tile;
	if (!share->touched[t]) memset(sum, 0, columns * tile * sizeof(double));
	share->touched[t] = 1;
	return sum;
}

// Columns of the sums of the sources.
static int summed(const Job *job) { return job->order > 0 ? job->C + job->D : job->C; }

#define LOOP "loop.h"
#include "versions.h"

typedef void Block(const Job *job, int64_t from, int64_t to, Near *near, const Share *share);

static Block *const loops[] = VERSIONS(block);

int anatomyLanes(void) { return 2 << version(); }

// One unit of a job: some of its blocks of targets.
static void unit(void *data, int u, double *unused) {
	const Job *job = data;
	int64_t blocks = (job->x.n + targets - 1) / targets, all = rounded(tilesOf(&job->y)) + lanes;
	double *memory = NULL;
	Near near;
	if (job->x.original != NULL) {
		memory = need((2 * job->D * sizeof(double) + 2 * sizeof(int)) * all);
		near.tiles = (int *)room(&near.boxes, all, job->D, memory), near.list = near.tiles + all;
	}
	for (int64_t b = blocks * u / job->units; b < blocks * (u + 1) / job->units; b++) {
		int64_t to = (b + 1) * targets < job->x.padded ? (b + 1) * targets : job->x.padded;
		loops[version()](job, b * targets, to, memory == NULL ? NULL : &near, job->sides == one ? NULL : &job->share[u]);
	}
	free(memory);
}

// Hilbert turns coordinates into the bits, transposed, of the place on a Hilbert curve (J. Skilling, 2004).
static void hilbert(uint32_t *x, int bits, int D) {
	for (uint32_t top = 1u << (bits - 1); top > 1; top >>= 1)
		for (int a = 0; a < D; a++) {
			uint32_t swap = (x[0] ^ x[a]) & (top - 1);
			if (x[a] & top) x[0] ^= top - 1;
			else x[0] ^= swap, x[a] ^= swap;
		}
	for (int a = 1; a < D; a++) x[a] ^= x[a - 1];
	uint32_t turn = 0;
	for (uint32_t top = 1u << (bits - 1); top > 1; top >>= 1)
		if (x[D - 1] & top) turn ^= top - 1;
	for (int a = 0; a < D; a++) x[a] ^= turn;
}

// Places are those of n points on a space-filling curve, through cells along each axis.
typedef struct { const double *x; int64_t n; int D, bits; double low[maxD], cell[maxD]; uint64_t *key; } Places;

// Encode finds the keys of a chunk of points: the place, and in the lower half the index.
static void encode(void *data, int u, double *unused) {
	const Places *p = data;
	const int top = (1 << p->bits) - 1;
	for (int64_t i = (int64_t)u * chunk; i < p->n && i < (u + 1ll) * chunk; i++) {
		uint32_t whole[maxD];
		uint64_t place = 0;
		for (int a = 0; a < p->D; a++) {
			double c = (p->x[i * p->D + a] - p->low[a]) / p->cell[a];
			whole[a] = c > 0 ? (c < top ? c : top) : 0; // also where c is not a number
		}
		hilbert(whole, p->bits, p->D);
		for (int a = 0; a < p->D; a++)
			for (int b = 0; b < p->bits; b++) place |= (uint64_t)(whole[a] >> b & 1) << (b * p->D + p->D - 1 - a);
		p->key[i] = place << 32 | i;
	}
}

typedef struct { const Frame *frame; Job job; int64_t n, m; int own; } Call; // own: threads share an item

// Chunks runs units of as many of n points, by threads where they share an item and it is long.
static void chunks(const Call *call, int64_t n, Unit *unit, void *data) {
	if (n <= chunk) unit(data, 0, NULL);
	else run(call->frame, (n + chunk - 1) / chunk, call->own && (double)call->n * call->m >= some, unit, data, 0);
}

// Neighbours sorts the indices of points along the curve, through cells of a 16th of the reach or larger.
static int *neighbours(const Call *call, const double *x, int64_t n) {
	const Job *job = &call->job;
	uint64_t *key = need(sizeof *key * n), *sorted = need(sizeof *sorted * n);
	Places places = {.x = x, .n = n, .D = job->D, .bits = 30 / job->D, .key = key};
	for (int a = 0; a < job->D; a++) {
		double low = x[a], high = low;
		for (int64_t i = 0; i < n; i++) low = less(x[i * job->D + a], low), high = more(x[i * job->D + a], high);
		places.low[a] = low, places.cell[a] = more((high - low) / ((1 << places.bits) - 1), sqrt(job->kernel.reach) / job->kernel.scale[a] / 16);
	}
	chunks(call, n, encode, &places);
	for (int shift = 32; shift < 62; shift += 10) {
		int64_t start[1025] = {0};
		for (int64_t i = 0; i < n; i++) start[(key[i] >> shift & 1023) + 1]++;
		for (int k = 0; k < 1024; k++) start[k + 1] += start[k];
		for (int64_t i = 0; i < n; i++) sorted[start[key[i] >> shift & 1023]++] = key[i];
		uint64_t *swap = key;
		key = sorted, sorted = swap;
	}
	int *index = need(sizeof *index * n);
	for (int64_t i = 0; i < n; i++) index[i] = (uint32_t)key[i];
	free(key), free(sorted);
	return index;
}

// Layout is a set to be filled from arrays that have a row a point.
typedef struct { const Job *job; Set *set; const double *const *arrays; } Layout;

static int widthOf(const Layout *l, int k) { return k % 2 == 0 ? l->job->D : l->job->C; }

// Fill fills a chunk of points, their tiles and clusters.
static void fill(void *data, int u, double *unused) {
	const Layout *l = data;
	Set *s = l->set;
	int64_t from = (int64_t)u * chunk, to = less(from + chunk, s->padded);
	for (int64_t i = from; i < to; i++) {
		int64_t last = i < s->n ? i : s->n - 1, row = s->original == NULL ? last : s->original[last];
		double *at = entry(s, i, 0);
		for (int k = 0; k < 4 && l->arrays[k] != NULL; k++)
			for (int c = 0, width = widthOf(l, k); c < width; c++, at += tile)
				*at = i < s->n || k == 0 ? l->arrays[k][row * width + c] * (k % 2 == 0 ? l->job->kernel.scale[c] : 1) : 0;
	}
	if (s->original == NULL) return;
	for (int a = 0; a < l->job->D; a++) {
		for (int64_t c = from / (cluster * tile); c * cluster * tile < to; c++) s->clusters.low[a][c] = INFINITY, s->clusters.high[a][c] = -INFINITY;
		for (int64_t t = from / tile; t < to / tile; t++) {
			double low = INFINITY, high = -INFINITY, *widest[2] = {&s->clusters.low[a][t / cluster], &s->clusters.high[a][t / cluster]};
			for (int64_t i = t * tile; i < (t + 1) * tile; i++) low = less(*entry(s, i, a), low), high = more(*entry(s, i, a), high);
			s->tiles.low[a][t] = low, s->tiles.high[a][t] = high;
			*widest[0] = less(low, *widest[0]), *widest[1] = more(high, *widest[1]);
		}
	}
}

// Lay lays out a set of n points in memory, from at on, and returns where it ends.
static double *lay(Set *s, const Call *call, int64_t n, const double *const arrays[4], double *at) {
	Layout layout = {&call->job, s, arrays};
	const int D = call->job.D;
	s->n = n, s->padded = rounded(n), s->at = at, s->columns = 0;
	s->original = call->job.kernel.reach < INFINITY ? neighbours(call, arrays[0], n) : NULL;
	for (int k = 0; k < 4 && arrays[k] != NULL; k++) s->columns += widthOf(&layout, k);
	at += s->padded * s->columns;
	if (s->original != NULL) {
		at = room(&s->tiles, tilesOf(s), D, at);
		at = room(&s->clusters, (tilesOf(s) + cluster - 1) / cluster, D, at);
		nowhere(&s->tiles, D), nowhere(&s->clusters, D);
	}
	chunks(call, n, fill, &layout);
	return at;
}

// Divide gives a job its shares, from at on.
static void divide(Job *job, double *at) {
	int64_t size = job->y.padded * (job->C + job->D), tiles = tilesOf(&job->y);
	unsigned char *touched = (unsigned char *)(at + job->units * size);
	memset(touched, 0, job->units * tiles);
	for (int u = 0; u < job->units; u++) job->share[u] = (Share){at + u * size, touched + u * tiles};
}

// Gather adds up the shares of a chunk of points.
static void gather(void *data, int i, double *unused) {
	const Job *job = data;
	const Set *y = &job->y;
	const int columns = summed(job);
	for (int64_t j = (int64_t)i * chunk; j < y->n && j < (i + 1ll) * chunk; j++) {
		int64_t to = y->original == NULL ? j : y->original[j];
		double none = nothing(y, j, job->D);
		for (int k = 0; k < columns; k++) {
			double sum = none;
			for (int u = 0; u < job->units; u++)
				if (job->share[u].touched[j / tile]) sum += job->share[u].sum[(j / tile * columns + k) * tile + j % tile];
			if (k < job->C) job->w[to * job->C + k] = sum;
			else job->g[to * job->D + k - job->C] = -2 * sum * job->kernel.scale[k - job->C];
		}
	}
}

// Item computes one item of the batch.
static void item(void *data, int i, double *unused) {
	const Call *call = data;
	const Buffers *in = &call->frame->in;
	Job job = call->job;
	const double *x[4] = {NULL}, *y[4] = {NULL};
	int sides = (in->count - 1) / 2; // operands a set, of sums without weights of the targets one less of these
#define ITEM(b) ((b)->data + i * (b)->dims[1] * (b)->dims[2])
	if (job.order == 0) {
		x[0] = ITEM(in->buffers[1]), y[0] = ITEM(in->buffers[2]), y[1] = ITEM(in->buffers[3]);
	} else {
		for (int k = 0; k < sides; k++) x[k] = ITEM(in->buffers[1 + k]), y[k] = ITEM(in->buffers[1 + sides + k]);
	}
	int same = x[0] == y[0] && (job.order == 0 || x[1] == y[1]) && x[2] == y[2] && x[3] == y[3];
	if (same) x[1] = y[1];
#define OUT(b) ITEM(call->frame->out.buffers[b])
	if (job.sides == both) job.f = OUT(0), job.w = OUT(1), job.g = OUT(2);
	else job.v = job.w = OUT(0), job.f = job.g = job.order > 0 ? OUT(1) : NULL;
	if (same && job.sides == one) job.sides = self;
	int64_t blocks = (call->n + targets - 1) / targets, boxes = (call->n + call->m) / tile * (cluster + 1) / cluster + 4 * (lanes + 2);
	job.units = job.sides == one ? blocks : (double)call->n * call->m < some ? 1 : blocks < shares ? blocks : shares;
	int64_t share = job.sides == one ? 0 : (job.C + job.D + 1) * (call->m + lanes) * job.units;
	double small[4096] __attribute__((aligned(64))), *memory = small;
	int64_t size = 2 * (job.D + job.C) * (call->n + call->m + 2 * lanes) + 2 * job.D * boxes + share + 2 * lanes;
	if (size > 4096) memory = need(size * sizeof *memory);
	double *end = lay(&job.x, call, call->n, x, memory);
	job.y = job.x;
	if (!same) end = lay(&job.y, call, call->m, y, end);
	Share all[shares];
	job.share = all;
	if (job.sides != one) divide(&job, end);
	run(call->frame, job.units, call->own && (double)call->n * call->m >= some, unit, &job, 0);
	if (job.sides != one) chunks(call, call->m, gather, &job);
	free(job.x.original);
	if (!same) free(job.y.original);
	if (memory != small) free(memory);
}

void *anatomyPairs(void *data) {
	Frame *frame = data;
	if (asked(frame)) return NULL;
	Buffer **in = frame->in.buffers;
	Call call = {.frame = frame};
	Job *job = &call.job;
	job->order = frame->in.count == 4 ? 0 : frame->in.count == 5 ? 1 : 2;
	job->sides = frame->out.count == 3 ? both : one;
	Buffer *y = in[job->order == 0 ? 2 : job->order == 1 ? 3 : 5], *q = in[job->order == 0 ? 3 : job->order == 1 ? 4 : 6];
	call.n = in[1]->dims[1], call.m = y->dims[1];
	job->D = y->dims[2], job->C = q->dims[2];
	const double *k = in[0]->data;
	job->kernel.reach = k[0];
	memcpy(job->kernel.scale, k + 1, sizeof job->kernel.scale);
	job->kernel.count = k[4];
	k += 5;
	for (int l = 0; l < job->kernel.count; l++) {
		Term *t = &job->kernel.terms[l];
		t->kind = *k++, t->ratio = *k++;
		for (int m = 0; m < 3; m++, k += t->kind == piece ? 2 + powers : 9) t->series[m] = (Series){.divide = k[0], .degree = k[1], .a = k + 2};
	}
	int batch = in[1]->dims[0];
	double pairs = (double)call.n * call.m;
	call.own = batch == 1 || pairs >= some; // threads share an item, or have one each
	run(frame, batch, !call.own && pairs * batch >= some, item, &call, 0);
	return NULL;
}
