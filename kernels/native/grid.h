// anatomyGrid is an XLA_FFI_Handler for sums with a kernel over points in R^D by a grid: weights are spread to it with a bump φ of a
// few cells, the grid is convolved with the kernel, and the result is read off at the points with the same bump. Its operands are a
// description of the grid, as DescribeGrid of native.go makes it, and the arrays of anatomyPairs, for the same results. A point that
// lies so far from the others that it leaves the grid adds nothing and gets nothing, as on the graph.
void *anatomyGrid(void *frame);

enum { maxWidth = 32, maxDegree = 40 };
