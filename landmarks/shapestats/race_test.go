//go:build race

package shapestats

// raced says that the race detector is on, which allocates memory of its own.
const raced = true
