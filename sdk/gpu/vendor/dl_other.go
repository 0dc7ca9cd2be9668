//go:build !linux

package vendor

import "errors"

// Load fails: libraries are only searched for on Linux.
func Load(string) (uintptr, error) {
	return 0, errors.New("vendor libraries are loaded only on Linux")
}

// Symbol finds nothing.
func Symbol(uintptr, string) uintptr { return 0 }

// Unload does nothing.
func Unload(uintptr) {}

// syscallN is never called, as no library is loaded.
func syscallN(uintptr, ...uintptr) uintptr { return 0 }
