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

// Square roots. Two steps of Newton's method from an estimate take half as long as the processor's own.
INLINE vec VERSION(root)(vec x) {
#ifdef ESTIMATE
	vec inverse = ESTIMATE(x + 0x1p-1000), r = x * inverse, half = 0.5 * inverse, off = 0.5 - r * half;
	r += r * off, half += half * off;
	return r + (x - r * r) * half;
#else
	return ROOT(x);
#endif
}

// Σ_j a_j u^j / r^divide of a block, where what does not exist at r = 0 counts as 0; eight vectors at a time hide what each step waits.
INLINE void VERSION(series)(const Series *c, const double *u, const double *r, double *v) {
	enum { wide = block < 8 * LANES ? block : 8 * LANES };
	for (int from = 0; from < block; from += wide) {
		vec sum[wide / LANES];
		for (int l = 0; l < wide / LANES; l++) sum[l] = VERSION(all)(c->a[c->degree]);
		for (int j = c->degree - 1; j >= 0; j--)
			for (int l = 0; l < wide / LANES; l++) sum[l] = sum[l] * AT(u, from + l * LANES) + c->a[j];
		for (int l = 0; l < wide / LANES; l++) AT(v, from + l * LANES) = sum[l];
	}
	for (int d = 0; d < c->divide; d++)
		for (int i = 0; i < block; i += LANES) AT(v, i) = (vec)((bits)(AT(v, i) / AT(r, i)) & (AT(r, i) > 0));
}

// k(s) and its first derivatives, as many as order says, of a block of pairs, summed over the terms.
INLINE void VERSION(terms)(const Kernel *kernel, const double *s, double k[3][block], const int order) {
	for (int m = 0; m <= order; m++)
		for (int i = 0; i < block; i += LANES) AT(k[m], i) = VERSION(all)(0);
	for (int l = 0; l < kernel->count; l++) {
		const Term *t = &kernel->terms[l];
		if (t->kind == gaussian) {
			for (int i = 0; i < block; i += LANES) {
				vec e = VERSION(exp)(AT(s, i) * (-0.5 * t->ratio));
				for (int m = 0; m <= order; m++) AT(k[m], i) += e * t->series[m].a[0];
			}
		} else if (t->kind == cauchy) {
			for (int i = 0; i < block; i += LANES) {
				vec e = 1 / (1 + AT(s, i) * t->ratio), power = e;
				for (int m = 0; m <= order; m++, power *= e) AT(k[m], i) += power * t->series[m].a[0];
			}
		} else {
			double r[block] __attribute__((aligned(64))), u[block] __attribute__((aligned(64))), factor[block] __attribute__((aligned(64))), v[block] __attribute__((aligned(64)));
			for (int i = 0; i < block; i += LANES) AT(r, i) = VERSION(root)(AT(s, i) * t->ratio);
			if (t->kind == laplace) {
				for (int i = 0; i < block; i += LANES) AT(u, i) = AT(r, i), AT(factor, i) = VERSION(exp)(-AT(r, i));
			} else {
				for (int i = 0; i < block; i += LANES) AT(u, i) = 2 * AT(r, i) - 1, AT(factor, i) = (vec)((bits)VERSION(all)(1) & (AT(r, i) < 1));
			}
			for (int m = 0; m <= order; m++) {
				VERSION(series)(&t->series[m], u, r, v);
				for (int i = 0; i < block; i += LANES) AT(k[m], i) += AT(factor, i) * AT(v, i);
			}
		}
	}
}

TARGET static void VERSION(profile)(const Kernel *kernel, const double *s, double k[3][block], int order) {
	if (order == 0) VERSION(terms)(kernel, s, k, 0);
	else if (order == 1) VERSION(terms)(kernel, s, k, 1);
	else VERSION(terms)(kernel, s, k, 2);
}

INLINE double VERSION(total)(vec v) {
	double sum = 0;
	for (int i = 0; i < LANES; i++) sum += v[i];
	return sum;
}

// A group of targets, x, against a tile of sources, y, with the kernel times part. It adds to the targets' v and f, and to the sums of
// the sources unless sides is one.
INLINE void VERSION(meet)(const Kernel *kernel, double part, const double *x, const double *y, double *restrict sums, vec v[group][maxC], vec f[group][maxD], const int D, const int C, const int order, const int sides) {
	double s[block] __attribute__((aligned(64))), k[3][block] __attribute__((aligned(64)));
	const double *p = x + D * tile, *velocity = p + C * tile, *change = velocity + D * tile;
	const double *q = y + D * tile, *otherVelocity = q + C * tile, *otherChange = otherVelocity + D * tile;
	for (int g = 0; g < group; g++)
		for (int l = 0; l < tile; l += LANES) {
			vec square = VERSION(all)(0);
			for (int a = 0; a < D; a++) {
				vec d = x[a * tile + g] - AT(y, a * tile + l);
				square += d * d;
			}
			AT(s, g * tile + l) = square;
		}
	VERSION(profile)(kernel, s, k, order);
	if (sides == self && part != 1)
		for (int m = 0; m <= order; m++)
			for (int l = 0; l < block; l += LANES) AT(k[m], l) *= part;
	for (int g = 0; g < group; g++)
		for (int l = 0; l < tile; l += LANES) {
			vec k0 = AT(k[0], g * tile + l), d[maxD], w[maxC];
			for (int c = 0; c < C; c++) w[c] = AT(q, c * tile + l);
			if (order < 2) {
				for (int c = 0; c < C && sides != both; c++) v[g][c] += k0 * w[c];
				for (int c = 0; c < C && sides != one; c++) AT(sums, c * tile + l) += k0 * p[c * tile + g];
			}
			if (order == 0) continue;
			vec k1 = AT(k[1], g * tile + l), dot = VERSION(all)(0), along = dot, turned = dot, moved[maxD];
			for (int a = 0; a < D; a++) d[a] = x[a * tile + g] - AT(y, a * tile + l);
			for (int c = 0; c < C; c++) dot += p[c * tile + g] * w[c];
			vec pull = k1 * dot, turn = pull;
			if (order == 2) { // v and f become their own changes with the points and weights
				for (int a = 0; a < D; a++) moved[a] = velocity[a * tile + g] - AT(otherVelocity, a * tile + l), along += 2 * d[a] * moved[a];
				turn = k1 * along;
				for (int c = 0; c < C; c++) {
					double dp = change[c * tile + g];
					vec dw = AT(otherChange, c * tile + l);
					turned += dp * w[c] + p[c * tile + g] * dw;
					v[g][c] += k0 * dw + turn * w[c];
					if (sides != one) AT(sums, c * tile + l) += k0 * dp + turn * p[c * tile + g];
				}
				turn = AT(k[2], g * tile + l) * along * dot + k1 * turned;
			}
			for (int a = 0; a < D; a++) {
				vec force = order == 1 ? pull * d[a] : turn * d[a] + pull * moved[a];
				f[g][a] += force;
				if (sides != one) AT(sums, (C + a) * tile + l) -= force;
			}
		}
}
// A group of targets, from i on, against tiles of sources: those that a list names, or all from one to another. Both ends of the pairs
// in its own tile are targets, which meet each other twice, for half.
INLINE void VERSION(tiles)(const Job *job, int64_t i, const int *list, int from, int to, const Share *share, const int D, const int C, const int order, const int sides) {
	vec v[group][maxC], f[group][maxD];
	for (int g = 0; g < group; g++) {
		for (int c = 0; c < C; c++) v[g][c] = VERSION(all)(0);
		for (int a = 0; a < D; a++) f[g][a] = VERSION(all)(0);
	}
	const int columns = order > 0 ? C + D : C;
	for (int l = from; l < to; l++) {
		int64_t t = list == NULL ? l : list[l];
		double *sums = sides == one ? NULL : touch(share, t, columns);
		VERSION(meet)(&job->kernel, t == i / tile ? 0.5 : 1, entry(&job->x, i, 0), entry(&job->y, t * tile, 0), sums, v, f, D, C, order, sides);
	}
	for (int g = 0; g < group; g++) {
		if (sides == self) {
			double *sum = share->sum + i / tile * columns * tile + i % tile + g;
			for (int c = 0; c < C; c++) sum[c * tile] += VERSION(total)(v[g][c]);
			for (int a = 0; a < D && order > 0; a++) sum[(C + a) * tile] += VERSION(total)(f[g][a]);
		} else if (i + g < job->x.n) {
			int64_t at = job->x.original == NULL ? i + g : job->x.original[i + g];
			double none = nothing(&job->x, i + g, D);
			for (int c = 0; c < C && sides == one; c++) job->v[at * C + c] = none + VERSION(total)(v[g][c]);
			for (int a = 0; a < D && order > 0; a++) job->f[at * D + a] = none - 2 * VERSION(total)(f[g][a]) * job->kernel.scale[a];
		}
	}
}

// The loops over pairs are unrolled for points of the plane and of space with weights of as many columns, and for varifolds of surfaces, if UNROLL
// says so: that is most of the time that a compiler takes. What lists the tiles is compiled once.
#define TILES(D, C, order, sides) VERSION(tiles)(job, i, list, from, to, share, D, C, order, sides)
#define ORDERS(D, C, sides) \
	if (job->order == 0) TILES(D, C, 0, sides); \
	else if (job->order == 1) TILES(D, C, 1, sides); \
	else TILES(D, C, 2, sides)
#define SIDES(D, C) \
	if (job->sides == one) { ORDERS(D, C, one); } \
	else { ORDERS(D, C, job->sides); }

TARGET static void VERSION(usual)(const Job *job, int64_t i, const int *list, int from, int to, const Share *share) {
	if (UNROLL && job->D == 2 && job->C == 2) { SIDES(2, 2) }
	else if (UNROLL && job->D == 3 && job->C == 3) { SIDES(3, 3) }
	else if (UNROLL && job->D == 3 && job->C == 6 && job->order == 1) { // the varifolds of surfaces
		if (job->sides == one) TILES(3, 6, 1, one);
		else TILES(3, 6, 1, job->sides);
	} else TILES(job->D, job->C, job->order, job->sides);
}

#undef TILES
#undef SIDES
#undef ORDERS

// Reach lists the boxes, of those from one to another, that points in a box may reach, by their names from the first one on.
INLINE int VERSION(within)(const Job *job, const double low[maxD], const double high[maxD], const Boxes *boxes, int from, int to, const int *names, int first, int *list, const int D) {
	int found = 0;
	for (int l = from; l < to; l += LANES) {
		vec gap = VERSION(all)(0);
		for (int a = 0; a < D; a++) {
			vec g = LARGER(AT(boxes->low[a], l) - high[a], low[a] - AT(boxes->high[a], l));
			g = LARGER(VERSION(all)(0), g);
			gap += g * g;
		}
		bits far = gap > job->kernel.reach;
		for (int k = 0; k < LANES; k++) list[found] = names == NULL ? l + k : names[l + k], found += l + k < to && !far[k] && list[found] >= first;
	}
	return found;
}

TARGET static __attribute__((noinline)) int VERSION(reach)(const Job *job, const double low[maxD], const double high[maxD], const Boxes *boxes, int from, int to, const int *names, int first, int *list) {
	if (job->D == 2) return VERSION(within)(job, low, high, boxes, from, to, names, first, list, 2);
	if (job->D == 3) return VERSION(within)(job, low, high, boxes, from, to, names, first, list, 3);
	return VERSION(within)(job, low, high, boxes, from, to, names, first, list, 1);
}

TARGET static __attribute__((noinline)) void VERSION(box)(const Set *x, int64_t from, int64_t to, double low[maxD], double high[maxD], const int D) {
	for (int a = 0; a < D; a++) {
		low[a] = INFINITY, high[a] = -INFINITY;
		for (int64_t i = from; i < to; i++) low[a] = less(*entry(x, i, a), low[a]), high[a] = more(*entry(x, i, a), high[a]);
	}
}

// A block of targets, against the tiles of sources that any of it may reach.
TARGET static void VERSION(block)(const Job *job, int64_t from, int64_t to, Near *near, const Share *share) {
	const Set *x = &job->x, *y = &job->y;
	double low[maxD], high[maxD];
	const int D = job->D, sides = job->sides;
	int count = tilesOf(y);
	if (near != NULL) {
		VERSION(box)(x, from, to, low, high, D);
		const int first = sides == self ? from / tile : 0;
		int clusters = VERSION(reach)(job, low, high, &y->clusters, 0, y->clusters.count, NULL, first / cluster, near->list);
		Boxes *boxes = &near->boxes;
		boxes->count = 0;
		for (int l = 0; l < clusters; l++) {
			int start = near->list[l] * cluster, end = start + cluster < y->tiles.count ? start + cluster : y->tiles.count;
			boxes->count += VERSION(reach)(job, low, high, &y->tiles, start, end, NULL, first, near->tiles + boxes->count);
		}
		for (int l = 0; l < boxes->count; l++)
			for (int a = 0; a < D; a++) boxes->low[a][l] = y->tiles.low[a][near->tiles[l]], boxes->high[a][l] = y->tiles.high[a][near->tiles[l]];
		for (int l = boxes->count; l < rounded(boxes->count); l++) near->tiles[l] = 0;
		nowhere(boxes, D);
	}
	for (int64_t i = from; i < to; i += group) {
		const int first = sides == self ? i / tile : 0;
		if (near != NULL) {
			VERSION(box)(x, i, i + group, low, high, D);
			count = VERSION(reach)(job, low, high, &near->boxes, 0, near->boxes.count, near->tiles, first, near->list);
		}
		VERSION(usual)(job, i, near == NULL ? NULL : near->list, near == NULL ? first : 0, count, share);
	}
}
