// Package pool divides work among the cores.
package pool

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"anatomy/geom/try"
)

// Cores is the number of cores that Go uses.
func Cores() int { return runtime.GOMAXPROCS(0) }

// Each calls work for 0 … n−1 on all cores. Errors of try that end some calls end it, too, when all are done.
func Each(n int, work func(i int)) {
	try.Do(Do(Cores(), n, func(_, i int) error { return try.Run(func() { work(i) }) }))
}

// Do calls work for i = 0 … n−1 by so many workers, each of which has one call at a time: worker is its number, from 0. It returns the errors
// of all calls, in the order of i, when the last one is done. A single worker is the goroutine that calls Do.
func Do(workers, n int, work func(worker, i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	run := func(w int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = work(w, i)
		}
	}
	var group sync.WaitGroup
	for w := 1; w < min(workers, n); w++ {
		group.Go(func() { run(w) })
	}
	run(0)
	group.Wait()
	return errors.Join(errs...)
}
