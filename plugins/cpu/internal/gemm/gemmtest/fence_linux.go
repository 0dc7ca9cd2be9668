package gemmtest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fence returns a copy of from that ends directly before an inaccessible page.
// Assembly that reads or writes past the end of the copy faults.
func Fence[T Number](t testing.TB, from []T) []T {
	t.Helper()
	var zero T
	page := unix.Getpagesize()
	bytes := len(from) * int(unsafe.Sizeof(zero))
	size := (bytes + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		t.Cleanup(func() { _ = unix.Munmap(memory) })
		err = unix.Mprotect(memory[size:], unix.PROT_NONE)
	}
	if err != nil {
		t.Fatalf("guarded page: %v", err)
	}
	if len(from) == 0 {
		return nil
	}
	fenced := unsafe.Slice((*T)(unsafe.Pointer(&memory[size-bytes])), len(from))
	copy(fenced, from)
	return fenced
}
