//go:build !unix

package replace

import "os"

// lock is not needed where a file that is open cannot be removed, or there is one process.
func lock(*os.File) bool { return true }
