//go:build !linux && !darwin && !windows

package machine

import "runtime"

// memory returns half of the address space on WebAssembly, and 0 (unknown) on other systems. WebAssembly never returns memory to the
// system, and the heap needs the other half while it grows.
func memory() int64 {
	if runtime.GOARCH == "wasm" {
		return 2 << 30
	}
	return 0
}
