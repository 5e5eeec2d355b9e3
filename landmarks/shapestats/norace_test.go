//go:build !race

package shapestats

const raced = false
