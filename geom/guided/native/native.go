// Package native takes steps of guided processes in C, inside the programs that XLA compiles for the CPU.
package native

/*
// Go does not see that a header of another folder changed: the number is a checksum, which a test of notebooks holds.
#cgo CFLAGS: -O3 -g0 -std=gnu11 -Wno-psabi -I${SRCDIR}/../../engine/internal/ffi -DHEADERS=0xcc00eba9
#cgo LDFLAGS: -lm
#include "step.h"
*/
import "C"

import (
	"unsafe"

	"anatomy/geom/engine"
)

// Step is the name of the function in compiled programs; one that computes something else wants another name.
const Step = "anatomy_guided_step_4"

func init() { engine.RegisterNative(Step, unsafe.Pointer(C.anatomyGuidedStep)) }
