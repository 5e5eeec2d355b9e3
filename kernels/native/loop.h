// The pair loop, written once and included for each kind of vector registers, with LANES numbers in a vector, TARGET the
// processor's abilities, ROOT(v) the square roots of a vector,
// LARGER(v, w) the larger numbers of two, w where that is none, and VERSION(name) a name of its own. See pairs.h for what it computes.

typedef double VERSION(vec) __attribute__((vector_size(8 * LANES)));
typedef int64_t VERSION(bits) __attribute__((vector_size(8 * LANES)));
#define vec VERSION(vec)
#define bits VERSION(bits)
#define INLINE static inline __attribute__((always_inline)) TARGET

#define AT(row, j) (*(const vec *)((row) + (j)))

INLINE vec VERSION(all)(double x) { return x - (vec){0}; }

// e^x for x ≤ 0, to 1 part in 10^15: 2^k e^r with |r| ≤ ln 2/2 and a polynomial that differs from e^r by 3e-18. Adding 1.5·2^52
// rounds to whole numbers, and leaves k in the last bits.
INLINE vec VERSION(exp)(vec x) {
	x = LARGER(VERSION(all)(-708), x);
	const double shift = 0x1.8p52;
	vec t = x * 0x1.71547652b82fep0 + shift, k = t - shift;
	vec r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33; // ln 2 in two parts, the first of which k multiplies exactly
	vec p = VERSION(all)(2.5110037605963777e-08);
	p = p * r + 2.763263963904103e-07;
	p = p * r + 2.755724091857897e-06;
	p = p * r + 2.4801485482328494e-05;
	p = p * r + 0.00019841269890047113;
	p = p * r + 0.0013888888952314775;
	p = p * r + 0.008333333333319601;
	p = p * r + 0.0416666666664881;
	p = p * r + 0.1666666666666668;
	p = p * r + 0.5000000000000019;
	p = p * r + 1;
	p = p * r + 1;
	return (vec)((bits)p + ((bits)t << 52));
}

// k(s) and its first derivatives, as many as derivatives says, summed over the terms.
INLINE void VERSION(profile)(const Kernel *kernel, vec s, int derivatives, vec k[3]) {
	for (int m = 0; m <= derivatives; m++) k[m] = VERSION(all)(0);
	for (int l = 0; l < kernel->count; l++) {
		const Term *t = &kernel->terms[l];
		vec z = s * t->ratio;
		if (t->kind == gaussian) {
			vec e = VERSION(exp)(z * -0.5);
			for (int m = 0; m <= derivatives; m++) k[m] += e * t->series[m].a[0];
		} else if (t->kind == cauchy) {
			vec e = 1 / (1 + z), power = e;
			for (int m = 0; m <= derivatives; m++, power *= e) k[m] += power * t->series[m].a[0];
		} else {
			vec r = ROOT(z), e = VERSION(exp)(-r);
			for (int m = 0; m <= derivatives; m++) {
				const Series *c = &t->series[m];
				vec v = VERSION(all)(c->a[c->degree]);
				for (int j = c->degree - 1; j >= 0; j--) v = v * r + c->a[j];
				// What does not exist at 0 counts as 0 there.
				for (int j = 0; j < c->divide; j++) v = (vec)((bits)(v / r) & (r > 0));
				k[m] += v * e;
			}
		}
	}
}

INLINE double VERSION(total)(vec v) {
	double sum = 0;
	for (int i = 0; i < LANES; i++) sum += v[i];
	return sum;
}

// One target i against all sources, or those of the tiles near it.
INLINE void VERSION(target)(const Job *job, int64_t i, const Near *near, const int D, const int C, const int order) {
	const Set *x = &job->x, *y = &job->y;
	vec v[maxC], f[maxD];
	for (int c = 0; c < C; c++) v[c] = VERSION(all)(0);
	for (int a = 0; a < D; a++) f[a] = VERSION(all)(0);
	int count = near == NULL;
	for (int l = 0; near != NULL && l < near->count; l += LANES) {
		vec gap = VERSION(all)(0);
		for (int a = 0; a < D; a++) {
			vec g = LARGER(AT(near->low[a], l) - x->point[a][i], x->point[a][i] - AT(near->high[a], l));
			g = LARGER(VERSION(all)(0), g);
			gap += g * g;
		}
		bits far = gap > job->kernel.reach;
		for (int k = 0; k < LANES; k++) near->list[count] = near->tiles[l + k], count += 1 + far[k];
	}
	for (int l = 0; l < count; l++) {
		int64_t from = near == NULL ? 0 : (int64_t)near->list[l] * tile, to = near == NULL || from + tile > y->padded ? y->padded : from + tile;
		for (int64_t j = from; j < to; j += LANES) {
			vec d[maxD], s = VERSION(all)(0), k[3];
			for (int a = 0; a < D; a++) d[a] = x->point[a][i] - AT(y->point[a], j), s += d[a] * d[a];
			VERSION(profile)(&job->kernel, s, order, k);
			for (int c = 0; c < C; c++) v[c] += k[0] * AT(y->weight[c], j);
			if (order == 0) continue;
			vec dot = VERSION(all)(0), along = VERSION(all)(0);
			for (int c = 0; c < C; c++) dot += x->weight[c][i] * AT(y->weight[c], j);
			vec pull = k[1] * dot;
			if (order == 1) {
				for (int a = 0; a < D; a++) f[a] += pull * d[a];
				continue;
			}
			// v and f above become their own changes with the points and weights.
			vec change = VERSION(all)(0), moved[maxD];
			for (int a = 0; a < D; a++) moved[a] = x->velocity[a][i] - AT(y->velocity[a], j), along += 2 * d[a] * moved[a];
			for (int c = 0; c < C; c++) {
				vec q = AT(y->weight[c], j), dq = AT(y->change[c], j);
				change += x->change[c][i] * q + x->weight[c][i] * dq;
				v[c] += k[0] * dq + k[1] * along * q - k[0] * q;
			}
			vec w = k[2] * along * dot + k[1] * change;
			for (int a = 0; a < D; a++) f[a] += w * d[a] + pull * moved[a];
		}
	}
	int64_t to = x->original == NULL ? i : x->original[i];
	for (int c = 0; c < C; c++) job->v[to * C + c] = VERSION(total)(v[c]);
	if (order > 0)
		for (int a = 0; a < D; a++) job->f[to * D + a] = -2 * VERSION(total)(f[a]) * job->kernel.scale[a];
}

#define CASE(D, C, order) \
	for (int64_t i = from; i < to; i++) VERSION(target)(job, i, near, D, C, order)
#define ORDERS(D, C) \
	if (job->order == 0) CASE(D, C, 0); \
	else if (job->order == 1) CASE(D, C, 1); \
	else CASE(D, C, 2)

TARGET static void VERSION(block)(const Job *job, int64_t from, int64_t to, const Near *near) {
	if (job->D == 2 && job->C == 2) { ORDERS(2, 2); }
	else if (job->D == 3 && job->C == 3) { ORDERS(3, 3); }
	else { ORDERS(job->D, job->C); }
}

#undef vec
#undef bits
#undef INLINE
#undef AT
#undef CASE
#undef ORDERS
#undef LANES
#undef ROOT
#undef LARGER
#undef TARGET
#undef VERSION
