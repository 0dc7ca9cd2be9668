package shared

import (
	"fmt"

	"github.com/goburn/burn/core"
)

func dlopen(string) (uintptr, error) {
	return 0, fmt.Errorf("WebAssembly loads no shared objects, import the backend into the program: %w", core.ErrUnsupported)
}

// The functions below are never called, because no library can be loaded.
func dlsym(uintptr, string) (uintptr, error) { return 0, core.ErrUnsupported }
func invoke(uintptr, ...uintptr) uintptr     { return 0 }
func callback(func(uintptr) uintptr) uintptr { return 0 }
