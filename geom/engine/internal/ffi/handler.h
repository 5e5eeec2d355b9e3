// What handlers of XLA's foreign function interface share, version 0.1: see xla/ffi/api/c_api.h. Structs begin with their size and
// extensions. Packages with C functions include it; after a change here `go clean -cache` compiles them anew.

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static void *need(size_t size) {
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
	if (memory == NULL) {
		fputs("anatomy: no memory for a function in C\n", stderr);
		abort();
	}
	return memory;
}

// Asked says whether XLA only asks for the version of a handler, and answers.
static int asked(const Frame *frame) {
	for (Extension *e = frame->extensions; e != NULL; e = e->next) {
		if (e->type != 1) continue;
		Metadata *m = ((MetadataExtension *)e)->metadata;
		m->version = frame->api->version;
		m->traits = 0;
		return 1;
	}
	return 0;
}

static int succeeded(const Frame *frame, void *error) {
	if (error == NULL) return 1;
	DestroyArgs args = {sizeof args, NULL, error};
	frame->api->errorDestroy(&args);
	return 0;
}

// Work is shared by the threads, which take units of it. One that comes late finds none left and touches nothing else.
typedef void Unit(void *data, int i, double *memory);
typedef struct { Unit *unit; void *data; size_t memory; int units; atomic_int next, done, users; } Work;

static void help(void *data) {
	Work *w = data;
	double *memory = NULL;
	for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->units; atomic_fetch_add(&w->done, 1)) {
		if (memory == NULL && w->memory > 0) memory = need(w->memory);
		w->unit(w->data, i, memory);
	}
	free(memory);
	if (atomic_fetch_sub(&w->users, 1) == 1) free(w);
}

// Run does all units, with the threads of XLA if it is long. Each thread has bytes of memory of its own. It never waits for a thread
// that has not begun: all of them may be waiting here.
static void run(const Frame *frame, int units, int isLong, Unit *unit, void *data, size_t memory) {
	int64_t threads = 1;
	ThreadsArgs args = {sizeof args, NULL, frame->context, &threads};
	if (!isLong || units < 2 || frame->api->size < sizeof(Api) || !succeeded(frame, frame->api->threads(&args))) threads = 1;
	Work *w = need(sizeof *w);
	w->unit = unit, w->data = data, w->memory = memory, w->units = units;
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
