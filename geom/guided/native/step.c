#include "step.h"

#include <math.h>
#include <string.h>

#include "handler.h"

// One path of one edge: where its operands and results stand.
typedef struct { const double *in[8]; double *out[5]; } Item;

// Where row i and column j of the lower B of an item stand, and how many numbers it has: see model.packed in geom/guided.
static int packed(int n, int i, int j) { return n == 1 ? 0 : 2 * i > n - 1 ? (n - 1 - i) * (n + 1) + j : i * (n + 1) + n - j; }
static int packedSize(int n) { return n == 1 ? 1 : (n + 1) / 2 * (n + 1); }

enum { all, lowerTriangle, packedTriangle }; // what is gathered of an operand
enum { most = 8 }; // numbers in the longest vector

#define LOOP "lanes.h"
#include "versions.h"

typedef void Step(const Item *items, int count, int n, int d, int backwards, double *memory);

// The items of a call, in units of as many as a vector has numbers.
typedef struct { const Frame *frame; int paths, n, d, lanes; Step *step; } Call;

static void unit(void *data, int i, double *memory) {
	const Call *c = data;
	const Buffers *in = &c->frame->in, *out = &c->frame->out;
	int n = c->n, d = c->d, first = i * c->lanes, count = c->paths - first < c->lanes ? c->paths - first : c->lanes;
	const int size[8] = {n * n, n * d, packedSize(n), n * d, n * d, n * d, 1, 1}; // of A, x, B, f, ξ, and of x' and the logarithms
	int backwards = in->count == 8;
	Item item[most];
	for (int l = 0; l < c->lanes; l++) { // lanes without an item of their own repeat one
		int64_t at = first + (l < count ? l : 0);
		for (int k = 0; k < in->count; k++) item[l].in[k] = in->buffers[k]->data + at * size[k];
		for (int k = 0; k < out->count; k++) item[l].out[k] = out->buffers[k]->data + at * size[backwards ? k : 5 + k];
	}
	c->step(item, count, n, d, backwards, memory);
}

void *anatomyGuidedStep(void *data) {
	Frame *frame = data;
	if (asked(frame)) return NULL;
	const int64_t *x = frame->in.buffers[1]->dims;
	Call c = {.frame = frame, .paths = x[0], .n = x[1], .d = x[2]};
	// The version is chosen here: Go's own linker, which links cells, knows no functions that the loader chooses (target_clones).
	static Step *const steps[] = VERSIONS(steps);
	c.step = steps[version()], c.lanes = 2 << version();
	int units = (c.paths + c.lanes - 1) / c.lanes, np = (c.n + 3) / 4 * 4;
	int isLong = (double)c.n * c.n * (c.n + 8) * units >= 2e4; // some 50 µs
	run(frame, units, isLong, unit, &c, (size_t)(7 * np * np + 3 * np + 11 * np * c.d) * 8 * c.lanes);
	return NULL;
}
