package main

/*
#cgo CFLAGS: -O3 -g0 -std=gnu11 -Wno-psabi
#include <time.h>

enum { chains = 12 };

// Products and sums that wait for nothing but those of their own chain.
#define CHAINS(name, lanes, abilities) \
	abilities static double name(long n) { \
		typedef double vec __attribute__((vector_size(8 * lanes))); \
		vec a[chains], factor = (vec){0} + 0.999999, term = (vec){0} + 1e-6, sum = {0}; \
		for (int i = 0; i < chains; i++) a[i] = (vec){0} + i; \
		for (long k = 0; k < n; k++) \
			for (int i = 0; i < chains; i++) a[i] = a[i] * factor + term; \
		for (int i = 0; i < chains; i++) sum += a[i]; \
		return sum[0]; \
	}

CHAINS(any, 2, )
#ifdef __x86_64__
CHAINS(avx2, 4, __attribute__((target("avx2,fma"))))
CHAINS(avx512, 8, __attribute__((target("avx512f,avx512dq,fma"))))
#endif

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static volatile double kept;

static double peak(void) {
	double (*run)(long) = any, best = 0;
	int lanes = 2;
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) run = avx2, lanes = 4;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma")) run = avx512, lanes = 8;
#endif
	for (int try = 0; try < 20; try++) {
		const long n = 200000;
		double start = now();
		kept = run(n);
		double rate = 2. * lanes * chains * n / (now() - start);
		if (rate > best) best = rate;
	}
	return best;
}
*/
import "C"

// peak is how many additions and multiplications of float64 a processor does in a second of its time, in fused pairs.
func peak() float64 { return float64(C.peak()) }

// pairFlops are those of two points, which meet once, in the loop of kernels/native for H with a Gaussian kernel in 3-D: 9 for the
// squared distance, 32 for the exponential and what scales it, 4 for k and k', 31 for the sums at both.
const pairFlops = 76
