package machine

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load                                                uint32
	total, free, totalPage, freePage, totalVirtual, freeVirtual uint64
	freeExtended                                                uint64
}

// memory returns the bytes of the machine's memory, or 0 if unknown.
func memory() int64 {
	proc := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if proc.Find() != nil {
		return 0
	}
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := proc.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return int64(s.total)
}
