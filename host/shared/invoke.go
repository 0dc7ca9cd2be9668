//go:build !js

package shared

import "github.com/ebitengine/purego"

// invoke calls a function of a library.
func invoke(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// callback returns a function that libraries can call. It is never released.
func callback(f func(uintptr) uintptr) uintptr { return purego.NewCallback(f) }
