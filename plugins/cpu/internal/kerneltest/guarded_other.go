//go:build !linux

package kerneltest

import "testing"

// Guarded returns size bytes. Only on Linux is there an inaccessible page
// beside them.
func Guarded(_ testing.TB, size int, _ bool) (data []byte, release func()) {
	return make([]byte, size), func() {}
}
