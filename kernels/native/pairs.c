#include "pairs.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { targets = 64, lanes = 8 }; // points in a block, numbers in the longest vector

// A derivative of a term: a_0 times the exponential, or a_0 times a power of the fraction, or Σ_j a_j r^j e^−r / r^divide.
typedef struct { int divide, degree; double a[7]; } Series;
typedef struct { int kind; double ratio; Series series[3]; } Term; // a function of ratio·s
typedef struct { double reach, scale[maxD]; int count; Term terms[maxTerms]; } Kernel;

// Points and what they carry, an array a column, padded with points of weight zero. With a reach they are sorted, so that the
// points of a tile lie together, in boxes from low to high.
typedef struct {
	int64_t n, padded;
	double *point[maxD], *weight[maxC], *velocity[maxD], *change[maxC], *low[maxD], *high[maxD];
	int *original;
} Set;

// Near lists tiles with their boxes, up to a multiple of lanes. A target fills list with those that it needs.
typedef struct { int count, *tiles, *list; double *low[maxD], *high[maxD]; } Near;

typedef struct { Kernel kernel; int D, C, order; Set x, y; double *v, *f; } Job;

#define LANES 2
#define TARGET
#define ROOT(v) ((vec){sqrt((v)[0]), sqrt((v)[1])})
#define LARGER(v, w) ((vec){(v)[0] > (w)[0] ? (v)[0] : (w)[0], (v)[1] > (w)[1] ? (v)[1] : (w)[1]})
#define VERSION(name) name##_any
#include "loop.h"

#ifdef __x86_64__
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define ROOT(v) ((vec)_mm256_sqrt_pd((__m256d)(v)))
#define LARGER(v, w) ((vec)_mm256_max_pd((__m256d)(v), (__m256d)(w)))
#define VERSION(name) name##_avx2
#include "loop.h"

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define ROOT(v) ((vec)_mm512_sqrt_pd((__m512d)(v)))
#define LARGER(v, w) ((vec)_mm512_max_pd((__m512d)(v), (__m512d)(w)))
#define VERSION(name) name##_avx512
#include "loop.h"
#endif

typedef void Block(const Job *job, int64_t from, int64_t to, const Near *near);

static Block *fastest(void) {
#ifdef __x86_64__
	__builtin_cpu_init(); // Go's own linker leaves out the constructor that does it
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma")) return block_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return block_avx2;
#endif
	return block_any;
}

int anatomyLanes(void) {
#ifdef __x86_64__
	if (fastest() != block_any) return fastest() == block_avx2 ? 4 : 8;
#endif
	return 2;
}

static void *need(size_t size) {
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
	if (memory == NULL) {
		fputs("anatomy: no memory for sums over pairs of points\n", stderr);
		abort();
	}
	return memory;
}

static int64_t tilesOf(const Set *s) { return (s->padded + tile - 1) / tile; }

// One block of targets, against the tiles of sources that any of it may reach.
static void block(void *data, int b) {
	const Job *job = data;
	const Set *x = &job->x, *y = &job->y;
	int64_t from = (int64_t)b * targets, to = from + targets < x->n ? from + targets : x->n, all = (tilesOf(y) + lanes) / lanes * lanes;
	if (x->original == NULL) {
		fastest()(job, from, to, NULL);
		return;
	}
	double *memory = need((2 * job->D * sizeof(double) + 2 * sizeof(int)) * all), *at = memory;
	Near near = {0};
	for (int a = 0; a < job->D; a++, at += 2 * all) near.low[a] = at, near.high[a] = at + all;
	near.tiles = (int *)at, near.list = near.tiles + all;
	double low[maxD], high[maxD];
	for (int a = 0; a < job->D; a++) {
		low[a] = INFINITY, high[a] = -INFINITY;
		for (int64_t i = from; i < to; i++) low[a] = fmin(low[a], x->point[a][i]), high[a] = fmax(high[a], x->point[a][i]);
	}
	for (int t = 0; t < tilesOf(y); t++) {
		double gap = 0;
		for (int a = 0; a < job->D; a++) {
			double g = low[a] - y->high[a][t], h = y->low[a][t] - high[a];
			g = g > h ? g : h, g = g > 0 ? g : 0, gap += g * g;
			near.low[a][near.count] = y->low[a][t], near.high[a][near.count] = y->high[a][t];
		}
		near.tiles[near.count] = t, near.count += !(gap > job->kernel.reach);
	}
	for (; near.count % lanes != 0; near.count++) {
		near.tiles[near.count] = 0;
		for (int a = 0; a < job->D; a++) near.low[a][near.count] = near.high[a][near.count] = INFINITY;
	}
	fastest()(job, from, to, &near);
	free(memory);
}

// Neighbours sorts the indices of points along a space-filling curve through cells of a 16th of the reach or larger.
static int *neighbours(const double *x, int64_t n, const Job *job) {
	double low[maxD], cell[maxD];
	int bits = 30 / job->D;
	for (int a = 0; a < job->D; a++) {
		double high = low[a] = x[a];
		for (int64_t i = 0; i < n; i++) low[a] = fmin(low[a], x[i * job->D + a]), high = fmax(high, x[i * job->D + a]);
		cell[a] = fmax((high - low[a]) / ((1 << bits) - 1), sqrt(job->kernel.reach) / job->kernel.scale[a] / 16);
	}
	uint32_t *key = need(sizeof *key * n), *code = need(sizeof *code * n);
	int *index = need(sizeof *index * n), *sorted = need(sizeof *sorted * n);
	for (int64_t i = 0; i < n; i++) {
		code[i] = 0, index[i] = i;
		for (int a = 0; a < job->D; a++) {
			double c = (x[i * job->D + a] - low[a]) / cell[a];
			uint32_t whole = c > 0 ? (c < (1 << bits) - 1 ? c : (1 << bits) - 1) : 0; // also where c is not a number
			for (int b = 0; b < bits; b++) code[i] |= (whole >> b & 1) << (b * job->D + a);
		}
	}
	for (int shift = 0; shift < 30; shift += 10) {
		int64_t start[1025] = {0};
		for (int64_t i = 0; i < n; i++) start[(code[index[i]] >> shift & 1023) + 1]++;
		for (int k = 0; k < 1024; k++) start[k + 1] += start[k];
		for (int64_t i = 0; i < n; i++) sorted[start[code[index[i]] >> shift & 1023]++] = index[i];
		int *swap = index;
		index = sorted, sorted = swap;
	}
	free(key), free(code), free(sorted);
	return index;
}

// Fill lays out a set in memory, from at on, and returns where it ends. The arrays have a row a point.
static double *fill(Set *s, const Job *job, int64_t n, const double *const arrays[4], double *at) {
	s->n = n, s->padded = (n + lanes - 1) / lanes * lanes;
	s->original = job->kernel.reach < INFINITY ? neighbours(arrays[0], n, job) : NULL;
	for (int k = 0; k < 4 && arrays[k] != NULL; k++) {
		double **columns = k == 0 ? s->point : k == 1 ? s->weight : k == 2 ? s->velocity : s->change;
		int width = k % 2 == 0 ? job->D : job->C;
		for (int c = 0; c < width; c++, at += s->padded) {
			double scale = k % 2 == 0 ? job->kernel.scale[c] : 1;
			columns[c] = at;
			for (int64_t i = 0; i < s->padded; i++) {
				int64_t from = i < n ? (s->original == NULL ? i : s->original[i]) : (s->original == NULL ? n - 1 : s->original[n - 1]);
				at[i] = i < n || k == 0 ? arrays[k][from * width + c] * scale : 0;
			}
		}
	}
	if (s->original == NULL) return at;
	for (int a = 0; a < job->D; a++) {
		s->low[a] = at, s->high[a] = at + tilesOf(s), at += 2 * tilesOf(s);
		for (int64_t t = 0; t < tilesOf(s); t++) {
			double low = INFINITY, high = -INFINITY;
			for (int64_t i = t * tile; i < (t + 1) * tile && i < s->padded; i++) low = fmin(low, s->point[a][i]), high = fmax(high, s->point[a][i]);
			s->low[a][t] = low, s->high[a][t] = high;
		}
	}
	return at;
}

// The parts of XLA's foreign function interface that a handler takes. Structs begin with their size and extensions.

typedef struct Extension { size_t size; int type; struct Extension *next; } Extension;
typedef struct { size_t size; void *extensions; int major, minor; } Version;
typedef struct { size_t size; Version version; uint32_t traits; } Metadata;
typedef struct { Extension base; Metadata *metadata; } MetadataExtension;
typedef struct { size_t size; void *extensions; int type; double *data; int64_t rank, *dims; } Buffer;
typedef struct { size_t size; void *extensions; int64_t count; int *types; Buffer **buffers; } Buffers;
typedef struct { size_t size; void *extensions; void *error; } DestroyArgs;
typedef struct { size_t size; void *extensions; void *context; void (*task)(void *); void *data; } ScheduleArgs;
typedef struct { size_t size; void *extensions; void *context; int64_t *count; } ThreadsArgs;
typedef struct {
	size_t size;
	void *extensions;
	Version version;
	void *internal, *errorCreate, *errorMessage;
	void (*errorDestroy)(DestroyArgs *);
	void *others[8];
	void *(*schedule)(ScheduleArgs *);
	void *(*threads)(ThreadsArgs *);
} Api;
typedef struct { size_t size; Extension *extensions; const Api *api; void *context; int stage; Buffers in, out; } Frame;

static int succeeded(const Frame *frame, void *error) {
	if (error == NULL) return 1;
	DestroyArgs args = {sizeof args, NULL, error};
	frame->api->errorDestroy(&args);
	return 0;
}

// Work is shared by the threads, which take units of it. One that comes late finds none left and touches nothing else.
typedef struct { void (*unit)(void *data, int i); void *data; int units; atomic_int next, done, users; } Work;

static void help(void *data) {
	Work *w = data;
	for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->units; atomic_fetch_add(&w->done, 1)) w->unit(w->data, i);
	if (atomic_fetch_sub(&w->users, 1) == 1) free(w);
}

// Run does all units, with the threads of XLA where they take more than some 100 µs. It never waits for a thread that has not
// begun: all of them may be waiting here.
static void run(const Frame *frame, int units, double pairs, void (*unit)(void *data, int i), void *data) {
	int64_t threads = 1;
	ThreadsArgs args = {sizeof args, NULL, frame->context, &threads};
	if (pairs < 2e5 || units < 2 || frame->api->size < sizeof(Api) || !succeeded(frame, frame->api->threads(&args))) threads = 1;
	if (threads == 1) {
		for (int i = 0; i < units; i++) unit(data, i);
		return;
	}
	Work *w = need(sizeof *w);
	w->unit = unit, w->data = data, w->units = units;
	atomic_init(&w->next, 0), atomic_init(&w->done, 0), atomic_init(&w->users, 2);
	for (int64_t t = 1; t < threads && t < units; t++) {
		ScheduleArgs args = {sizeof args, NULL, frame->context, help, w};
		atomic_fetch_add(&w->users, 1);
		if (!succeeded(frame, frame->api->schedule(&args))) atomic_fetch_sub(&w->users, 1);
	}
	help(w);
	while (atomic_load(&w->done) < units) sched_yield();
	if (atomic_fetch_sub(&w->users, 1) == 1) free(w);
}

typedef struct { const Frame *frame; Job job; int64_t n, m; double *shared; int own; } Call;

static void single(void *data, int i) { block(data, i); }

// Item computes one item of the batch.
static void item(void *data, int i) {
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
	job.v = ITEM(call->frame->out.buffers[0]);
	if (job.order > 0) job.f = ITEM(call->frame->out.buffers[1]);
	int same = 1;
	for (int k = 0; k < 4; k++) same &= x[k] == y[k];
	double small[2048] __attribute__((aligned(64))), *memory = small;
	int64_t size = 2 * (job.D + job.C) * (call->n + call->m + 2 * lanes) + 2 * job.D * ((call->n + call->m) / tile + 4);
	if (size > 2048) memory = need(size * sizeof *memory);
	double *end = fill(&job.x, &job, call->n, x, memory);
	job.y = job.x;
	if (!same) fill(&job.y, &job, call->m, y, end + (-(end - memory) & (lanes - 1)));
	run(call->frame, (call->n + targets - 1) / targets, call->own ? (double)call->n * call->m : 0, single, &job);
	free(job.x.original);
	if (!same) free(job.y.original);
	if (memory != small) free(memory);
}

void *anatomyPairs(void *data) {
	Frame *frame = data;
	for (Extension *e = frame->extensions; e != NULL; e = e->next) {
		if (e->type != 1) continue;
		Metadata *m = ((MetadataExtension *)e)->metadata;
		m->version = frame->api->version;
		m->traits = 0;
		return NULL;
	}
	Buffer **in = frame->in.buffers;
	Call call = {.frame = frame};
	Job *job = &call.job;
	job->order = frame->in.count == 4 ? 0 : frame->in.count == 5 ? 1 : 2;
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
		for (int m = 0; m < 3; m++, k += 9) {
			t->series[m].divide = k[0], t->series[m].degree = k[1];
			memcpy(t->series[m].a, k + 2, sizeof t->series[m].a);
		}
	}
	int batch = in[1]->dims[0];
	double pairs = (double)call.n * call.m;
	call.own = batch == 1 || pairs >= 2e5; // threads share an item, or have one each
	run(frame, batch, call.own ? 0 : pairs * batch, item, &call);
	return NULL;
}
