// Prints, for each version of the loops of grids that the processor can run, by how much its sums differ from those of the plainest one.
#include "../grid.c"

#include <stdio.h>

enum { n = 150, w = 6, degree = 3, waves = 5 };

static double told[3 + 9 + (degree + 1) * w + waves * waves * waves], numbers[8][n * columns], results[2][3][n * columns];

int main(void) {
	double worst[3] = {0};
	for (int k = 0; k < 8; k++)
		for (int i = 0; i < n * columns; i++) numbers[k][i] = drand48();
	for (int D = 1; D <= 3; D++)
		for (int C = 1; C <= 4; C++)
			for (int way = 0; way < 4; way++) {
				double *t = told;
				*t++ = D, *t++ = w, *t++ = degree;
				for (int a = 0; a < D; a++) *t++ = (int[]){30, 40, 36}[a], *t++ = waves - 1, *t++ = 20;
				for (int j = 0; j < (degree + 1) * w + waves * waves * waves; j++) *t++ = drand48();
				int64_t length = t - told, point[3] = {1, n, D}, weight[3] = {1, n, C};
				const int operands[4] = {3, 4, 4, 8}, outputs[4] = {1, 2, 3, 2};
				const char *in[4] = {"ppw", "pwpw", "pwpw", "pwpwpwpw"}, *out[4] = {"w", "wp", "pwp", "wp"};
				Buffer buffers[9] = {{.data = told, .rank = 1, .dims = &length}}, answers[3], *ins[9] = {buffers}, *outs[3];
				for (int k = 0; k < operands[way]; k++) {
					buffers[k + 1] = (Buffer){.data = numbers[k], .rank = 3, .dims = in[way][k] == 'p' ? point : weight};
					ins[k + 1] = &buffers[k + 1];
				}
				const Api api = {.size = 8};
				Frame frame = {.api = &api, .in = {.count = operands[way] + 1, .buffers = ins}, .out = {.count = outputs[way], .buffers = outs}};
				for (int v = 0; v <= version(); v++) {
					for (int k = 0; k < outputs[way]; k++) {
						answers[k] = (Buffer){.data = results[v > 0][k], .rank = 3, .dims = out[way][k] == 'p' ? point : weight};
						outs[k] = &answers[k];
					}
					sums(&frame, v);
					for (int k = 0; k < outputs[way]; k++) {
						double scale = 0, off = 0;
						for (int i = 0; i < n * answers[k].dims[2]; i++) {
							double a = results[0][k][i], b = results[v > 0][k][i];
							scale = fmax(scale, fabs(a)), off = fmax(off, isnan(a) && isnan(b) ? 0 : isnan(a - b) ? INFINITY : fabs(a - b));
						}
						worst[v] = fmax(worst[v], scale > 0 ? off / scale : INFINITY);
					}
				}
			}
	for (int v = 0; v <= version(); v++) printf("%d %g\n", v, worst[v]);
}
