package amd

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
)

// MemoryInfo implements streams.Calls.
func (h *HIP) MemoryInfo() (free, total uint64, err error) {
	n := new([2]uint64)
	err = h.check(&h.c.memInfo, h.c.memInfo.Call(uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&n[1]))))
	return n[0], n[1], err
}

// Alloc implements streams.Calls.
func (h *HIP) Alloc(bytes uint64) (streams.Ptr, error) {
	var p streams.Ptr
	err := h.check(&h.c.malloc, h.c.malloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(bytes)))
	return p, err
}

// Free implements streams.Calls.
func (h *HIP) Free(p streams.Ptr) error { return h.check(&h.c.free, h.c.free.Call(uintptr(p))) }

// HostAlloc implements streams.Calls.
func (h *HIP) HostAlloc(bytes uint64, mapped bool) (unsafe.Pointer, error) {
	var flags uintptr
	if mapped {
		flags = 2
	}
	var p unsafe.Pointer
	err := h.check(&h.c.hostAlloc, h.c.hostAlloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(bytes), flags))
	return p, err
}

// HostFree implements streams.Calls.
func (h *HIP) HostFree(p unsafe.Pointer) error {
	return h.check(&h.c.hostFree, h.c.hostFree.Call(uintptr(p)))
}

// CopyToDevice implements streams.Calls.
func (h *HIP) CopyToDevice(dst streams.Ptr, src unsafe.Pointer, bytes uint64, s streams.Stream) error {
	return h.check(&h.c.copyHtoD, h.c.copyHtoD.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// CopyToHost implements streams.Calls.
func (h *HIP) CopyToHost(dst unsafe.Pointer, src streams.Ptr, bytes uint64, s streams.Stream) error {
	return h.check(&h.c.copyDtoH, h.c.copyDtoH.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// Copy implements streams.Calls.
func (h *HIP) Copy(dst, src streams.Ptr, bytes uint64, s streams.Stream) error {
	return h.check(&h.c.copyDtoD, h.c.copyDtoD.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// Set8 implements streams.Calls.
func (h *HIP) Set8(dst streams.Ptr, value uint8, n uint64, s streams.Stream) error {
	return h.check(&h.c.set8, h.c.set8.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}

// Set16 implements streams.Calls.
func (h *HIP) Set16(dst streams.Ptr, value uint16, n uint64, s streams.Stream) error {
	return h.check(&h.c.set16, h.c.set16.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}

// Set32 implements streams.Calls.
func (h *HIP) Set32(dst streams.Ptr, value uint32, n uint64, s streams.Stream) error {
	return h.check(&h.c.set32, h.c.set32.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}
