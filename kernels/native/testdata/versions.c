// Prints, for each version of the pair loop that the processor can run, by how much its sums differ from those of the plainest
// one and its exponential from the C library's.
#include "../pairs.c"

enum { n = 203 };

static double numbers[2][4][8 * n], v[3][maxC * n], f[3][maxD * n], g[3][maxD * n];

static const double coefficients[11] = {1, 0.3, -0.2, 0.5, 0.4, -0.1, 0.2, 0.3, -0.5, 0.1, 0.2};

static double apart(const double *a, const double *b, int count) {
	double worst = 0, scale = 0;
	for (int i = 0; i < count; i++) worst = fmax(worst, fabs(a[i] - b[i])), scale = fmax(scale, fabs(b[i]));
	return scale > 0 ? worst / scale : INFINITY;
}

static double sums(int which) {
	double worst = 0;
	for (int kind = 0; kind < 4; kind++)
		for (int way = 0; way < 7; way++)
			for (int D = 1; D <= maxD; D++)
				for (int C = 1; C <= 4; C++) {
					int order = way % 3, sides = way / 3;
					if (way == 6) order = 1, sides = both;
					else if (sides > 0) sides = self;
					Job job = {.D = D, .C = C, .order = order, .sides = sides, .units = 1, .kernel = {.reach = INFINITY, .scale = {5, 4, 3}, .count = 1}};
					Term *t = &job.kernel.terms[0];
					t->kind = kind, t->ratio = kind == piece ? 0.3 : 1.1;
					for (int m = 0; m < 3; m++) t->series[m] = (Series){.divide = kind >= laplace ? m : 0, .degree = kind == laplace ? 1 : kind == piece ? 10 - m : 0, .a = coefficients};
					const double *x[4], *y[4];
					for (int k = 0; k < 4; k++) x[k] = order == 2 || k < 2 ? numbers[0][k] : NULL, y[k] = order == 2 || k < 2 ? numbers[1][k] : NULL;
					double *memory = need(sizeof(double) * 64 * (n + lanes)), *end;
					Call call = {.job = job};
					end = lay(&job.x, &call, n, x, memory);
					Share share;
					job.share = &share, job.y = job.x;
					if (sides != self) end = lay(&job.y, &call, n, y, end);
					divide(&job, end);
					for (int k = 0; k <= which; k += which) {
						job.v = job.w = v[k], job.f = f[k], job.g = sides == self ? f[k] : g[k];
						memset(share.touched, 0, tilesOf(&job.y));
						loops[k](&job, 0, job.x.padded, NULL, &share);
						if (sides != one) gather(&job, 0, NULL);
					}
					worst = fmax(worst, apart(v[which], v[0], C * n));
					if (sides == both) worst = fmax(worst, apart(g[which], g[0], D * n));
					if (order > 0) worst = fmax(worst, apart(f[which], f[0], D * n));
					free(memory);
				}
	return worst;
}

// The errors of exponentials, and of roots of numbers of all sizes, of which that of 0 is 0.
#define FUNCTIONS(name, target) \
	target static void functions_##name(double worst[2]) { \
		worst[0] = 0, worst[1] = fabs(root_##name(all_##name(0))[0]); \
		for (int i = 0; i < 200000; i++) { \
			double x = -708 * pow(i / 2e5, 3), y = pow(10, i / 400. - 250); \
			worst[0] = fmax(worst[0], fabs(exp_##name(all_##name(x))[0] / exp(x) - 1)); \
			worst[1] = fmax(worst[1], fabs(root_##name(all_##name(y))[0] / sqrt(y) - 1)); \
		} \
	}

FUNCTIONS(any, )
#ifdef __x86_64__
FUNCTIONS(avx2, __attribute__((target("avx2,fma"))))
FUNCTIONS(avx512, EIGHT)
#endif

int main(void) {
	for (int set = 0; set < 2; set++)
		for (int k = 0; k < 4; k++)
			for (int i = 0; i < 8 * n; i++) numbers[set][k][i] = drand48();
	double worst[2];
	functions_any(worst);
	printf("any 0 %g %g\n", worst[0], worst[1]);
#ifdef __x86_64__
	if (version() > 0) functions_avx2(worst), printf("avx2 %g %g %g\n", sums(1), worst[0], worst[1]);
	if (version() > 1) functions_avx512(worst), printf("avx512 %g %g %g\n", sums(2), worst[0], worst[1]);
#endif
}
