package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks the system to back b with huge pages. It ignores failures.
func hugePages(b []byte) {
	const page = 4096
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	if n := (len(b) - skip) &^ (page - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
