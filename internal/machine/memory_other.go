//go:build !linux && !darwin && !windows

package machine

import "runtime"

// memory returns half of the address space of WebAssembly. Its memory is never returned to the system, and the heap needs the
// rest while it grows.
func memory() int64 {
	if runtime.GOARCH == "wasm" {
		return 2 << 30
	}
	return 0
}
