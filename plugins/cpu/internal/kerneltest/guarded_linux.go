package kerneltest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns size bytes beside a page that must not be touched: reads and writes there end the process. The page lies
// before the bytes, or else directly behind them, so that the last byte is as little aligned as size is. release gives the
// memory back.
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
