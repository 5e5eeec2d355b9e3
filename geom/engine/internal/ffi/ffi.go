// Package ffi makes C functions known to an XLA plug-in, whose compiled programs call them by their names.
package ffi

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "ffi.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Enter makes a handler, an XLA_FFI_Handler, known to a CPU plug-in by a name.
func Enter(plugin, name string, handler unsafe.Pointer) error {
	path, text := C.CString(plugin), C.CString(name) // the plug-in may keep the name
	defer C.free(unsafe.Pointer(path))
	if message := C.anatomyEnter(path, text, handler); message != nil {
		return fmt.Errorf("%s: %s", plugin, C.GoString(message))
	}
	return nil
}
