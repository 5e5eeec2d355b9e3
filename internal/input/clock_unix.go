//go:build unix

package input

import "syscall"

// processor is the processor's time that this program has taken, in nanoseconds.
func processor() int {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int(used.Utime.Nano() + used.Stime.Nano())
}
