#include "step.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

// What of XLA's foreign function interface is used here, version 0.1: see xla/ffi/api/c_api.h.
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

// One path of one edge: where its operands and results stand.
typedef struct { const double *in[8]; double *out[5]; } Item;

enum { most = 8 }; // numbers in the longest vector

#define LANES 2
#define ROOT(v) ((vec){sqrt((v)[0]), sqrt((v)[1])})
#define VERSION(name) any_##name
#include "lanes.h"
#undef LANES
#undef ROOT
#undef VERSION

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 4
#define ROOT(v) ((vec)_mm256_sqrt_pd((__m256d)(v)))
#define VERSION(name) avx2_##name
#include "lanes.h"
#undef LANES
#undef ROOT
#undef VERSION
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,fma")
#define LANES 8
#define ROOT(v) ((vec)_mm512_sqrt_pd((__m512d)(v)))
#define VERSION(name) avx512_##name
#include "lanes.h"
#undef LANES
#undef ROOT
#undef VERSION
#pragma GCC pop_options
#endif

typedef void Unit(const Item *items, int count, int n, int d, int backwards, double *memory);

// The version is chosen here: Go's own linker, which links cells, knows no functions that the loader chooses (target_clones).
static Unit *fastest(int *lanes) {
#ifdef __x86_64__
	__builtin_cpu_init(); // Go's own linker leaves out the constructor that does it
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma")) return *lanes = 8, avx512_unit;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return *lanes = 4, avx2_unit;
#endif
	return *lanes = 2, any_unit;
}

// The items of a call, in units of as many as a vector has numbers. Threads take units; one that comes late finds none left
// and touches nothing else.
typedef struct {
	Buffers in, out;
	int paths, n, d, lanes, units;
	Unit *unit;
	atomic_int next, done, users;
} Work;

static void help(void *data) {
	Work *w = data;
	int n = w->n, d = w->d, np = (n + 3) / 4 * 4;
	double *memory = NULL;
	for (int unit; (unit = atomic_fetch_add(&w->next, 1)) < w->units; atomic_fetch_add(&w->done, 1)) {
		if (memory == NULL && (memory = aligned_alloc(64, (size_t)(7 * np * np + 3 * np + 11 * np * d) * 8 * w->lanes)) == NULL) abort();
		Item item[most];
		int first = unit * w->lanes, count = w->paths - first < w->lanes ? w->paths - first : w->lanes;
		const int size[8] = {n * n, n * d, n * n, n * d, n * d, n * d, 1, 1}; // of A, x, B, f, ξ, and of x' and the logarithms
		int backwards = w->in.count == 8;
		for (int l = 0; l < w->lanes; l++) { // lanes without an item of their own repeat one
			int64_t i = first + (l < count ? l : 0);
			for (int k = 0; k < w->in.count; k++) item[l].in[k] = w->in.buffers[k]->data + i * size[k];
			for (int k = 0; k < w->out.count; k++) item[l].out[k] = w->out.buffers[k]->data + i * size[backwards ? k : 5 + k];
		}
		w->unit(item, count, n, d, backwards, memory);
	}
	free(memory);
	if (atomic_fetch_sub(&w->users, 1) == 1) free(w);
}

static int succeeded(const Frame *frame, void *error) {
	if (error == NULL) return 1;
	DestroyArgs args = {sizeof args, NULL, error};
	frame->api->errorDestroy(&args);
	return 0;
}

void *anatomyGuidedStep(void *data) {
	Frame *frame = data;
	for (Extension *e = frame->extensions; e != NULL; e = e->next) {
		if (e->type != 1) continue;
		Metadata *m = ((MetadataExtension *)e)->metadata;
		m->version = frame->api->version;
		m->traits = 0;
		return NULL;
	}
	Work *w = malloc(sizeof *w);
	if (w == NULL) abort();
	const int64_t *x = frame->in.buffers[1]->dims;
	*w = (Work){.in = frame->in, .out = frame->out, .paths = x[0], .n = x[1], .d = x[2]};
	w->unit = fastest(&w->lanes);
	w->units = (w->paths + w->lanes - 1) / w->lanes;
	atomic_init(&w->next, 0), atomic_init(&w->done, 0), atomic_init(&w->users, 2);
	// Threads of XLA help where there is work for some 50 µs. None is waited for that has not begun: all of them may be waiting here.
	int64_t threads = 1;
	ThreadsArgs count = {sizeof count, NULL, frame->context, &threads};
	double work = (double)w->n * w->n * (w->n + 8) * w->units;
	if (work < 2e4 || frame->api->size < sizeof(Api) || !succeeded(frame, frame->api->threads(&count))) threads = 1;
	for (int64_t t = 1; t < threads && t < w->units; t++) {
		ScheduleArgs args = {sizeof args, NULL, frame->context, help, w};
		atomic_fetch_add(&w->users, 1);
		if (!succeeded(frame, frame->api->schedule(&args))) atomic_fetch_sub(&w->users, 1);
	}
	help(w);
	while (atomic_load(&w->done) < w->units) sched_yield();
	if (atomic_fetch_sub(&w->users, 1) == 1) free(w);
	return NULL;
}
