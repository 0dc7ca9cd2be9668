//go:build !linux

package kerneltest

import "testing"

// Guarded returns size bytes. Pages that must not be touched are made on Linux alone.
func Guarded(_ testing.TB, size int, _ bool) (data []byte, release func()) {
	return make([]byte, size), func() {}
}
