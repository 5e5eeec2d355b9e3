// The pair loop, for versions.h. See pairs.h for what it computes.

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef int64_t bits __attribute__((vector_size(8 * LANES)));

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
	if (kernel->edge == 0) return;
	vec u = s * (2 / kernel->edge) - 1, uu = u * u;
	bits within = (bits)(s - kernel->edge) >> 63; // all ones where the difference is negative
	for (int m = 0; m <= derivatives; m++) {
		const double *a = kernel->less[m];
		vec even = VERSION(all)(a[powers - 2]), odd = VERSION(all)(a[powers - 1]);
		for (int j = powers - 4; j >= 0; j -= 2) even = even * uu + a[j], odd = odd * uu + a[j + 1];
		k[m] = (vec)((bits)(k[m] - (even + odd * u)) & within);
	}
}

INLINE double VERSION(total)(vec v) {
	double sum = 0;
	for (int i = 0; i < LANES; i++) sum += v[i];
	return sum;
}

// A target i against the sources from j on, as many as a vector has, with the kernel times part. It adds to v and f, and to the
// sums of the sources unless sides is one.
INLINE void VERSION(meet)(const Job *job, const Share *share, double part, int64_t i, int64_t j, vec v[maxC], vec f[maxD], const int D, const int C, const int order, const int sides) {
	const Set *x = &job->x, *y = &job->y;
	vec d[maxD], s = VERSION(all)(0), k[3];
	for (int a = 0; a < D; a++) d[a] = x->point[a][i] - AT(y->point[a], j), s += d[a] * d[a];
	VERSION(profile)(&job->kernel, s, order, k);
	if (sides == self) for (int m = 0; m <= order; m++) k[m] *= part;
	if (order < 2) {
		for (int c = 0; c < C && sides != both; c++) v[c] += k[0] * AT(y->weight[c], j);
		for (int c = 0; c < C && sides != one; c++) AT(share->sum[c], j) += k[0] * x->weight[c][i];
	}
	if (order == 0) return;
	vec dot = VERSION(all)(0), along = VERSION(all)(0), change = VERSION(all)(0), moved[maxD];
	for (int c = 0; c < C; c++) dot += x->weight[c][i] * AT(y->weight[c], j);
	vec pull = k[1] * dot, turn = pull;
	if (order == 2) { // v and f become their own changes with the points and weights
		for (int a = 0; a < D; a++) moved[a] = x->velocity[a][i] - AT(y->velocity[a], j), along += 2 * d[a] * moved[a];
		turn = k[1] * along;
		for (int c = 0; c < C; c++) {
			double p = x->weight[c][i], dp = x->change[c][i];
			vec q = AT(y->weight[c], j), dq = AT(y->change[c], j);
			change += dp * q + p * dq;
			v[c] += k[0] * dq + turn * q;
			if (sides != one) AT(share->sum[c], j) += k[0] * dp + turn * p;
		}
		turn = k[2] * along * dot + k[1] * change;
	}
	for (int a = 0; a < D; a++) {
		vec force = order == 1 ? pull * d[a] : turn * d[a] + pull * moved[a];
		f[a] += force;
		if (sides != one) AT(share->sum[C + a], j) -= force;
	}
}

// Reach lists the tiles from the first one on, of count with their boxes, that points in a box may reach.
INLINE int VERSION(reach)(const Job *job, const double low[maxD], const double high[maxD], double *const lows[maxD], double *const highs[maxD], const int *tiles, int first, int count, int *list, const int D) {
	int found = 0;
	for (int l = tiles == NULL ? first / LANES * LANES : 0; l < count; l += LANES) {
		vec gap = VERSION(all)(0);
		for (int a = 0; a < D; a++) {
			vec g = LARGER(AT(lows[a], l) - high[a], low[a] - AT(highs[a], l));
			g = LARGER(VERSION(all)(0), g);
			gap += g * g;
		}
		bits far = gap > job->kernel.reach;
		for (int k = 0; k < LANES; k++) list[found] = tiles == NULL ? l + k : tiles[l + k], found += !far[k] && list[found] >= first;
	}
	return found;
}

INLINE void VERSION(box)(const Set *x, int64_t from, int64_t to, double low[maxD], double high[maxD], const int D) {
	for (int a = 0; a < D; a++) {
		low[a] = INFINITY, high[a] = -INFINITY;
		for (int64_t i = from; i < to; i++) low[a] = less(x->point[a][i], low[a]), high[a] = more(x->point[a][i], high[a]);
	}
}

// A block of targets, against the tiles of sources that any of it may reach.
INLINE void VERSION(groups)(const Job *job, int64_t from, int64_t to, Near *near, const Share *share, const int D, const int C, const int order, const int sides) {
	const Set *x = &job->x, *y = &job->y;
	double low[maxD], high[maxD];
	const int width = order > 0 ? C + D : C;
	int count = tilesOf(y);
	if (near != NULL) {
		VERSION(box)(x, from, to, low, high, D);
		near->count = VERSION(reach)(job, low, high, y->low, y->high, NULL, sides == self ? from / tile : 0, tilesOf(y), near->tiles, D);
		for (int l = 0; l < near->count; l++)
			for (int a = 0; a < D; a++) near->low[a][l] = y->low[a][near->tiles[l]], near->high[a][l] = y->high[a][near->tiles[l]];
		for (; near->count % lanes != 0; near->count++) {
			near->tiles[near->count] = 0;
			for (int a = 0; a < D; a++) near->low[a][near->count] = near->high[a][near->count] = INFINITY;
		}
	}
	for (int64_t i = from; i < to; i++) {
		// Both ends of the pairs in its own tile are targets, which meet each other twice, for half.
		const int first = sides == self ? i / tile : 0;
		if (near != NULL && i % together == 0) {
			VERSION(box)(x, i, i + together, low, high, D);
			count = VERSION(reach)(job, low, high, near->low, near->high, near->tiles, first, near->count, near->list, D);
		}
		vec v[maxC], f[maxD];
		for (int c = 0; c < C; c++) v[c] = VERSION(all)(0);
		for (int a = 0; a < D; a++) f[a] = VERSION(all)(0);
		for (int l = near == NULL ? first : 0; l < count; l++) {
			int64_t t = near == NULL ? l : near->list[l];
			if (sides != one) touch(share, t, width);
			for (int64_t j = t * tile; j < (t + 1) * tile; j += LANES) VERSION(meet)(job, share, t == first ? 0.5 : 1, i, j, v, f, D, C, order, sides);
		}
		if (sides == self) {
			for (int c = 0; c < C; c++) share->sum[c][i] += VERSION(total)(v[c]);
			for (int a = 0; a < D && order > 0; a++) share->sum[C + a][i] += VERSION(total)(f[a]);
		} else if (i < x->n) {
			int64_t at = x->original == NULL ? i : x->original[i];
			for (int c = 0; c < C && sides == one; c++) job->v[at * C + c] = VERSION(total)(v[c]);
			for (int a = 0; a < D && order > 0; a++) job->f[at * D + a] = -2 * VERSION(total)(f[a]) * job->kernel.scale[a];
		}
	}
}

// The loops are unrolled for points of the plane and of space with weights of as many columns, if UNROLL says so: that is most of the
// time that a compiler takes.
#define ORDERS(D, C, sides) \
	if (job->order == 0) VERSION(groups)(job, from, to, near, share, D, C, 0, sides); \
	else if (job->order == 1) VERSION(groups)(job, from, to, near, share, D, C, 1, sides); \
	else VERSION(groups)(job, from, to, near, share, D, C, 2, sides)
#define SIDES(D, C) \
	if (job->sides == one) { ORDERS(D, C, one); } \
	else { ORDERS(D, C, job->sides); }

TARGET static void VERSION(block)(const Job *job, int64_t from, int64_t to, Near *near, const Share *share) {
	if (UNROLL && job->D == 2 && job->C == 2) { SIDES(2, 2) }
	else if (UNROLL && job->D == 3 && job->C == 3) { SIDES(3, 3) }
	else VERSION(groups)(job, from, to, near, share, job->D, job->C, job->order, job->sides);
}

#undef SIDES
#undef ORDERS
