//go:build !linux && !darwin && !windows

package machine

import "runtime"

// memory is half of what WebAssembly can address, which is never given back: the heap takes the rest while it grows.
func memory() int64 {
	if runtime.GOARCH == "wasm" {
		return 2 << 30
	}
	return 0
}
