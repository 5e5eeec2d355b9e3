#include "step.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What of XLA's foreign function interface is used here, version 0.1: see xla/ffi/api/c_api.h.
typedef struct Extension { size_t size; int type; struct Extension *next; } Extension;
typedef struct { size_t size; void *extensions; int major, minor; } Version;
typedef struct { size_t size; Version version; uint32_t traits; } Metadata;
typedef struct { Extension base; Metadata *metadata; } MetadataExtension;
typedef struct { size_t size; void *extensions; int type; double *data; int64_t rank, *dims; } Buffer;
typedef struct { size_t size; void *extensions; int64_t count; int *types; Buffer **buffers; } Buffers;
typedef struct { size_t size; void *extensions; Version version; } Api;
typedef struct { size_t size; Extension *extensions; const Api *api; void *context; int stage; Buffers in, out; } Frame;

#define INLINE static inline __attribute__((always_inline))

// Matrices are rows one after the other. All products add to c.

// c += s a b, [n, m], [n, k], [k, m].
INLINE void product(double *restrict c, const double *restrict a, const double *restrict b, int n, int k, int m, double s) {
	for (int i = 0; i < n; i++) for (int l = 0; l < k; l++) {
		double v = s * a[i * k + l];
		for (int j = 0; j < m; j++) c[i * m + j] += v * b[l * m + j];
	}
}

// c += s aᵀ b, [n, m], [k, n], [k, m].
INLINE void transposed(double *restrict c, const double *restrict a, const double *restrict b, int n, int k, int m, double s) {
	for (int l = 0; l < k; l++) for (int i = 0; i < n; i++) {
		double v = s * a[l * n + i];
		for (int j = 0; j < m; j++) c[i * m + j] += v * b[l * m + j];
	}
}

INLINE void turn(double *restrict t, const double *restrict a, int n) {
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) t[j * n + i] = a[i * n + j];
}

// The lower factor of a symmetric matrix in place, zeros above; NaN where it is not positive. Rows of its transpose are formed.
INLINE void factor(double *restrict a, double *restrict t, int n) {
	memcpy(t, a, n * n * sizeof *t);
	for (int k = 0; k < n; k++) {
		double pivot = t[k * n + k] > 0 ? sqrt(t[k * n + k]) : NAN, scale = 1 / pivot;
		for (int j = k; j < n; j++) t[k * n + j] *= scale;
		t[k * n + k] = pivot;
		for (int i = k + 1; i < n; i++) {
			double v = t[k * n + i];
			for (int j = i; j < n; j++) t[i * n + j] -= v * t[k * n + j];
		}
	}
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = j <= i ? t[j * n + i] : 0;
}

// b = (l + shift)⁻¹ b, [n, m], for a lower l.
INLINE void lower(const double *restrict l, double shift, double *restrict b, int n, int m) {
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++) {
			double v = l[i * n + k];
			for (int j = 0; j < m; j++) b[i * m + j] -= v * b[k * m + j];
		}
		double scale = 1 / (l[i * n + i] + shift);
		for (int j = 0; j < m; j++) b[i * m + j] *= scale;
	}
}

// b = (l + shift)⁻ᵀ b.
INLINE void upper(const double *restrict l, double shift, double *restrict b, int n, int m) {
	for (int i = n - 1; i >= 0; i--) {
		double scale = 1 / (l[i * n + i] + shift);
		for (int j = 0; j < m; j++) b[i * m + j] *= scale;
		for (int k = 0; k < i; k++) {
			double v = l[i * n + k];
			for (int j = 0; j < m; j++) b[k * m + j] -= v * b[i * m + j];
		}
	}
}

// The cotangent of a symmetric matrix of that of its factor l, of which the lower triangle counts: added to a.
INLINE void unfactor(double *restrict a, const double *restrict l, const double *restrict ct, double *restrict p, double *restrict t, int n) {
	memset(p, 0, n * n * sizeof *p);
	for (int k = 0; k < n; k++) for (int i = 0; i <= k; i++) {
		double v = l[k * n + i];
		for (int j = 0; j <= i; j++) p[i * n + j] += v * ct[k * n + j];
	}
	for (int i = 0; i < n; i++) p[i * n + i] *= 0.5;
	upper(l, 0, p, n, n);
	turn(t, p, n);
	upper(l, 0, t, n, n);
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] += 0.5 * (t[i * n + j] + t[j * n + i]);
}

// a −= u vᵀ.
INLINE void outer(double *restrict a, const double *restrict u, const double *restrict v, int n, int d, double s) {
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
		double sum = 0;
		for (int c = 0; c < d; c++) sum += u[i * d + c] * v[j * d + c];
		a[i * n + j] += s * sum;
	}
}

typedef struct { double *A, *x, *B0, *f0, *B, *f, *xi; } In;

INLINE void one(const In *in, int n, int d, double *next, double *logarithm, const double *nextBar, double logBar, double *ABar, double *xBar, double *xiBar, double *memory) {
	int nn = n * n, nd = n * d;
	double *L = memory, *P = L + nn, *BA = P + nn, *t1 = BA + nn, *t2 = t1 + nn, *t3 = t2 + nn;
	double *eta = t3 + nn, *y = eta + nd, *m = y + nd, *q = m + nd, *t = q + nd, *v = t + nd, *miss = v + nd, *w1 = miss + nd, *w2 = w1 + nd;
	memcpy(L, in->A, nn * sizeof *L);
	factor(L, t1, n);
	memset(eta, 0, nd * sizeof *eta);
	product(eta, L, in->xi, n, n, d, 1);
	memset(BA, 0, nn * sizeof *BA);
	product(BA, in->B, in->A, n, n, n, 1);
	turn(t1, in->B, n);
	memset(P, 0, nn * sizeof *P);
	for (int i = 0; i < n; i++) { // its upper triangle, which factor reads
		P[i * n + i] = 1;
		for (int l = 0; l < n; l++) {
			double v = BA[i * n + l];
			for (int j = i; j < n; j++) P[i * n + j] += v * t1[l * n + j];
		}
	}
	factor(P, t1, n);
	memcpy(y, in->f, nd * sizeof *y);
	product(y, in->B, in->x, n, n, d, -1);
	lower(P, 0, y, n, d);
	memcpy(m, y, nd * sizeof *m);
	upper(P, 0, m, n, d);
	memset(q, 0, nd * sizeof *q);
	product(q, in->B, eta, n, n, d, 1);
	lower(P, 1, q, n, d);
	memcpy(t, q, nd * sizeof *t);
	upper(P, 0, t, n, d);
	for (int i = 0; i < nd; i++) v[i] = m[i] - t[i];
	memcpy(miss, in->f0, nd * sizeof *miss);
	product(miss, in->B0, in->x, n, n, d, -1);
	if (next != NULL) {
		for (int i = 0; i < nd; i++) next[i] = in->x[i] + eta[i];
		transposed(next, BA, v, n, n, d, 1);
		double sum = 0, det = 0;
		for (int i = 0; i < nd; i++) sum += miss[i] * miss[i] - y[i] * y[i];
		for (int i = 0; i < n; i++) det += log(P[i * n + i]);
		*logarithm = 0.5 * sum - d * det;
		return;
	}
	// Backwards. w1, w2 and t hold cotangents in turn; t1 that of P, t2 and t3 are free.
	double *PBar = t1, *etaBar = w1, *yBar = w2;
	memset(PBar, 0, nn * sizeof *PBar);
	memset(ABar, 0, nn * sizeof *ABar);
	memcpy(xBar, nextBar, nd * sizeof *xBar);
	memcpy(etaBar, nextBar, nd * sizeof *etaBar);
	double vBar[nd], z[nd], g[nd];
	memset(z, 0, sizeof z);
	transposed(z, in->B, v, n, n, d, 1);
	outer(ABar, nextBar, z, n, d, 0.5);
	outer(ABar, z, nextBar, n, d, 0.5);
	memset(vBar, 0, sizeof vBar);
	product(vBar, BA, nextBar, n, n, d, 1);
	for (int i = 0; i < nd; i++) g[i] = -vBar[i]; // t
	lower(P, 0, g, n, d);                         // q
	outer(PBar, t, g, n, d, -1);
	upper(P, 1, g, n, d); // Bη
	outer(PBar, g, q, n, d, -1);
	transposed(etaBar, in->B, g, n, n, d, 1);
	memcpy(yBar, vBar, nd * sizeof *yBar);
	lower(P, 0, yBar, n, d);
	outer(PBar, m, yBar, n, d, -1);
	for (int i = 0; i < nd; i++) yBar[i] -= logBar * y[i];
	upper(P, 0, yBar, n, d); // u
	outer(PBar, yBar, y, n, d, -1);
	for (int i = 0; i < n; i++) PBar[i * n + i] -= d * logBar / P[i * n + i];
	transposed(xBar, in->B, yBar, n, n, d, -1);
	transposed(xBar, in->B0, miss, n, n, d, -logBar);
	double *SBar = BA; // not needed any more
	memset(SBar, 0, nn * sizeof *SBar);
	unfactor(SBar, P, PBar, t2, t3, n);
	memset(t2, 0, nn * sizeof *t2);
	product(t2, SBar, in->B, n, n, n, 1);
	transposed(ABar, in->B, t2, n, n, n, 1);
	memset(PBar, 0, nn * sizeof *PBar); // now of L
	outer(PBar, etaBar, in->xi, n, d, 1);
	memset(xiBar, 0, nd * sizeof *xiBar);
	transposed(xiBar, L, etaBar, n, n, d, 1);
	unfactor(ABar, L, PBar, t2, t3, n);
}

typedef void Item(const In *in, int n, int d, double *next, double *logarithm, const double *nextBar, double logBar, double *ABar, double *xBar, double *xiBar, double *memory);

// With numbers of axes that the compiler knows its loops are short code.
#define ITEM(name) static void name(const In *in, int n, int d, double *next, double *logarithm, const double *nextBar, double logBar, double *ABar, double *xBar, double *xiBar, double *memory) { \
	if (d == 2) one(in, n, 2, next, logarithm, nextBar, logBar, ABar, xBar, xiBar, memory); \
	else if (d == 3) one(in, n, 3, next, logarithm, nextBar, logBar, ABar, xBar, xiBar, memory); \
	else one(in, n, d, next, logarithm, nextBar, logBar, ABar, xBar, xiBar, memory); \
}

ITEM(item_any)
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) ITEM(item_avx2)
__attribute__((target("avx512f,avx512dq,fma"))) ITEM(item_avx512)
#endif

// The version is chosen here: Go's own linker, which links cells, knows no functions that the loader chooses (target_clones).
static Item *fastest(void) {
#ifdef __x86_64__
	__builtin_cpu_init(); // Go's own linker leaves out the constructor that does it
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma")) return item_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return item_avx2;
#endif
	return item_any;
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
	Buffer **in = frame->in.buffers, **out = frame->out.buffers;
	const int64_t *x = in[1]->dims;
	int chains = x[0], edges = x[1], n = x[2], d = x[3], groups = in[2]->dims[0];
	Item *item = fastest();
	double *memory = malloc((6 * n * n + 9 * n * d) * sizeof *memory);
	if (memory == NULL) abort();
	for (int c = 0; c < chains; c++) for (int e = 0; e < edges; e++) {
		int64_t i = (int64_t)c * edges + e, b = (int64_t)(c / (chains / groups)) * edges + e, nn = n * n, nd = n * d;
		In operands = {in[0]->data + i * nn, in[1]->data + i * nd, in[2]->data + b * nn, in[3]->data + b * nd, in[4]->data + b * nn, in[5]->data + b * nd, in[6]->data + i * nd};
		if (frame->in.count == 7) {
			item(&operands, n, d, out[0]->data + i * nd, out[1]->data + i, NULL, 0, NULL, NULL, NULL, memory);
		} else {
			item(&operands, n, d, NULL, NULL, in[7]->data + i * nd, in[8]->data[i], out[0]->data + i * nn, out[1]->data + i * nd, out[2]->data + i * nd, memory);
		}
	}
	free(memory);
	return NULL;
}
