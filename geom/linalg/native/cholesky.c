#include "cholesky.h"

#include <math.h>
#include <string.h>

#include "handler.h"

typedef struct { const Frame *frame; int n; } Call;

static void subtract(int n, double f, const double *restrict x, double *restrict y) {
	for (int k = 0; k < n; k++) y[k] -= f * x[k];
}

// One matrix: row operations take A to Lᵀ, in u, and the identity to L⁻¹.
static void factor(void *data, int i, double *u) {
	const Call *call = data;
	int n = call->n;
	size_t at = (size_t)i * n * n;
	double *l = call->frame->out.buffers[0]->data + at, *inverse = call->frame->out.buffers[1]->data + at;
	memcpy(u, call->frame->in.buffers[0]->data + at, sizeof *u * n * n);
	memset(inverse, 0, sizeof *u * n * n);
	for (int j = 0; j < n; j++) inverse[j * n + j] = 1;
	for (int j = 0; j < n; j++) {
		double *row = u + j * n, *done = inverse + j * n, pivot = row[j] > 0 ? row[j] : NAN, root = sqrt(pivot);
		for (int k = j + 1; k < n; k++) {
			double f = row[k] / pivot;
			subtract(n - k, f, row + k, u + k * n + k);
			subtract(j + 1, f, done, inverse + k * n);
		}
		for (int k = 0; k < j; k++) l[j * n + k] = u[k * n + j];
		for (int k = j; k < n; k++) row[k] /= root;
		l[j * n + j] = row[j];
		memset(l + j * n + j + 1, 0, sizeof *l * (n - 1 - j));
		for (int k = 0; k <= j; k++) done[k] /= root;
	}
}

void *anatomyCholesky(void *data) {
	Frame *frame = data;
	if (asked(frame)) return NULL;
	const Buffer *a = frame->in.buffers[0];
	int64_t batch = 1;
	for (int i = 0; i + 2 < a->rank; i++) batch *= a->dims[i];
	Call call = {frame, a->dims[a->rank - 1]};
	double n = call.n;
	run(frame, batch, n * n * n * batch > 2e5, factor, &call, sizeof(double) * call.n * call.n);
	return NULL;
}
