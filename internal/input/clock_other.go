//go:build !unix

package input

import "time"

var begin = time.Now()

// processor is how long this program has run, in nanoseconds: where the processor's time is not known, it cannot be more.
func processor() int { return int(time.Since(begin)) }
