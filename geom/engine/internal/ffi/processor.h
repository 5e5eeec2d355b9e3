// Which vector registers a processor has.
#ifndef PROCESSOR_H
#define PROCESSOR_H

#ifdef __x86_64__
#include <cpuid.h>
#endif

// ask is 2 where the processor and its system have AVX-512 (F and DQ) and FMA, 1 where they have AVX2 and FMA, and otherwise 0. It asks the
// processor itself. The compiler's __builtin_cpu_supports wants libgcc, which Go's own linker would then search whenever a cell of a notebook is linked.
static int ask(void) {
#ifdef __x86_64__
	unsigned a, b, c, d, saved, high;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
	__asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0)); // the registers that the system saves
	const unsigned avx = 0x6, avx512 = 0xe6;
	if ((saved & avx512) == avx512 && (b & bit_AVX512F) && (b & bit_AVX512DQ)) return 2;
	if ((saved & avx) == avx && (b & bit_AVX2)) return 1;
#endif
	return 0;
}

// vectors is what ask returns. It asks once: in a virtual machine that takes 50 µs, more than a step of 39 landmarks.
static int vectors(void) {
	static int known = -1;
	int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (has < 0) __atomic_store_n(&known, has = ask(), __ATOMIC_RELAXED);
	return has;
}

#endif
