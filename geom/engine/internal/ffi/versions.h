// Includes LOOP, code that is written once, for each kind of vector registers: with LANES numbers in a vector, TARGET the processor's
// abilities, ROOT(v) the square roots of a vector, ESTIMATE(v) their inverses to 14 bits where the processor has them, LARGER(v, w) the
// larger numbers of two, w where that is none, UNROLL whether loops are unrolled, and VERSION(name) a name of its own. The code has vectors
// vec and, of whole numbers, bits, AT(p, j) the numbers from p[j] on, which is aligned; INLINE for functions that are parts of others.

#ifdef LANES // it includes itself for each of them
#include LOOP
#undef LANES
#undef TARGET
#undef ROOT
#undef ESTIMATE
#undef LARGER
#undef VERSION
#undef UNROLL
#else

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define vec VERSION(vec)
#define bits VERSION(bits)
#define INLINE static inline __attribute__((always_inline)) TARGET
#define AT(p, j) (*(vec *)((p) + (j)))

#define LANES 2
#define TARGET
#define ROOT(v) ((vec){sqrt((v)[0]), sqrt((v)[1])})
#define LARGER(v, w) ((vec){(v)[0] > (w)[0] ? (v)[0] : (w)[0], (v)[1] > (w)[1] ? (v)[1] : (w)[1]})
#define VERSION(name) name##_any
#ifdef __x86_64__
#define UNROLL 0 // for the few processors without AVX2
#else
#define UNROLL 1
#endif
#include "versions.h"

#ifdef __x86_64__
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define ROOT(v) ((vec)_mm256_sqrt_pd((__m256d)(v)))
#define LARGER(v, w) ((vec)_mm256_max_pd((__m256d)(v), (__m256d)(w)))
#define VERSION(name) name##_avx2
#define UNROLL 1
#include "versions.h"

#define LANES 8
#ifndef EIGHT_ON_AVX2
#define EIGHT __attribute__((target("avx512f,avx512dq,fma")))
#define ROOT(v) ((vec)_mm512_sqrt_pd((__m512d)(v)))
#define ESTIMATE(v) ((vec)_mm512_rsqrt14_pd((__m512d)(v)))
#define LARGER(v, w) ((vec)_mm512_max_pd((__m512d)(v), (__m512d)(w)))
#else // tests run the loops of eight lanes on processors without AVX-512, too
#define EIGHT __attribute__((target("avx2,fma")))
#define OF_EIGHT(f, v, w) ((vec){f(v, w, 0), f(v, w, 1), f(v, w, 2), f(v, w, 3), f(v, w, 4), f(v, w, 5), f(v, w, 6), f(v, w, 7)})
#define ROOT_OF(v, w, i) sqrt((v)[i])
#define LARGER_OF(v, w, i) ((v)[i] > (w)[i] ? (v)[i] : (w)[i])
#define ROOT(v) OF_EIGHT(ROOT_OF, v, )
#define LARGER(v, w) OF_EIGHT(LARGER_OF, v, w)
#endif
#define TARGET EIGHT
#define VERSION(name) name##_avx512
#define UNROLL 1
#include "versions.h"
#endif

#undef vec
#undef bits
#undef INLINE
#undef AT

#include "processor.h"

// Version is the index of the fastest version that the processor has.
static int version(void) {
	int has = vectors();
#ifdef EIGHT_ON_AVX2
	if (has == 1) has = 2;
#endif
	return has;
}
#ifdef __x86_64__
#define VERSIONS(name) {name##_any, name##_avx2, name##_avx512}
#else
#define VERSIONS(name) {name##_any}
#endif
#endif
