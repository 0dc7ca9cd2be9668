package kerneltest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns size bytes adjacent to an inaccessible page. A read or write in that page ends the process. The page is directly before
// the bytes if before is set, else directly after them. In the latter case, the bytes are aligned only to the greatest power of two that
// divides size. release unmaps the memory.
func Guarded(t testing.TB, size int, before bool) (data []byte, release func()) {
	t.Helper()
	page := unix.Getpagesize()
	room := (size + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		err = unix.Mprotect(memory[:page], unix.PROT_NONE)
	}
	if err == nil {
		err = unix.Mprotect(memory[page+room:], unix.PROT_NONE)
	}
	if err != nil {
		t.Fatalf("guarded pages: %v", err)
	}
	release = func() {
		if err := unix.Munmap(memory); err != nil {
			t.Errorf("guarded pages: %v", err)
		}
	}
	start := page
	if !before {
		start = page + room - size
	}
	return memory[start : start+size : start+size], release
}
