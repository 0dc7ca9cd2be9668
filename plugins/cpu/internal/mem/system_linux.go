package mem

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func systemMemory() int64 {
	var total int64
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}

// hugePages asks the system to back b with big pages. Where it cannot, nothing is lost.
func hugePages(b []byte) {
	const page = 4096
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	if n := (len(b) - skip) &^ (page - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
