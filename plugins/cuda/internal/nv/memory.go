package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// MemoryInfo returns the free and the total memory of the current context's device, in bytes.
func (d *Driver) MemoryInfo() (free, total uint64, err error) {
	var n [2]uint64
	err = d.check(&d.c.memInfo, d.c.memInfo.Call(uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&n[1]))))
	return n[0], n[1], err
}

// Alloc allocates device memory, aligned to 256 bytes at least. It sometimes waits for the device; AllocAsync does not.
func (d *Driver) Alloc(bytes uint64) (Ptr, error) {
	var p Ptr
	err := d.check(&d.c.memAlloc, d.c.memAlloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(bytes)))
	return p, err
}

// Free frees memory of Alloc, after waiting for the device.
func (d *Driver) Free(p Ptr) error { return d.check(&d.c.memFree, d.c.memFree.Call(uintptr(p))) }

// AllocAsync allocates from a pool. Work that is put on the stream afterwards may use the memory; other work may use it after an event.
func (d *Driver) AllocAsync(bytes uint64, pool MemPool, s Stream) (Ptr, error) {
	if !d.c.memAllocAsync.There() {
		return 0, vendor.Missing(driverName, d.c.memAllocAsync.Name)
	}
	var p Ptr
	err := d.check(&d.c.memAllocAsync, d.c.memAllocAsync.Quick(uintptr(unsafe.Pointer(&p)), uintptr(bytes), uintptr(pool), uintptr(s)))
	return p, err
}

// FreeAsync frees memory when the stream has done all its present work.
func (d *Driver) FreeAsync(p Ptr, s Stream) error {
	if !d.c.memFreeAsync.There() {
		return vendor.Missing(driverName, d.c.memFreeAsync.Name)
	}
	return d.check(&d.c.memFreeAsync, d.c.memFreeAsync.Quick(uintptr(p), uintptr(s), 0, 0))
}

// HostAlloc allocates pinned memory, which is pinned in every context. If mapped is set, kernels can access it through HostDevicePointer.
func (d *Driver) HostAlloc(bytes uint64, mapped bool) (unsafe.Pointer, error) {
	flags := uintptr(1) // portable
	if mapped {
		flags |= 2
	}
	var p uintptr
	err := d.check(&d.c.hostAlloc, d.c.hostAlloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(bytes), flags))
	return vendor.PointerAt(p), err
}

// HostFree frees memory of HostAlloc.
func (d *Driver) HostFree(p unsafe.Pointer) error {
	return d.check(&d.c.hostFree, d.c.hostFree.Call(uintptr(p)))
}

// HostRegister pins memory of the process, so that copies run at the speed of the bus. The memory must not move or be freed
// before HostUnregister: memory of Go's heap qualifies while it is referenced.
func (d *Driver) HostRegister(p unsafe.Pointer, bytes uint64, mapped, readOnly bool) error {
	flags := uintptr(1) // portable
	if mapped {
		flags |= 2
	}
	if readOnly {
		flags |= 8
	}
	return d.check(&d.c.hostRegister, d.c.hostRegister.Call(uintptr(p), uintptr(bytes), flags))
}

// HostUnregister unpins memory of HostRegister. No copy may be in progress.
func (d *Driver) HostUnregister(p unsafe.Pointer) error {
	return d.check(&d.c.hostUnregister, d.c.hostUnregister.Call(uintptr(p)))
}

// HostDevicePointer returns the device address of mapped host memory.
func (d *Driver) HostDevicePointer(p unsafe.Pointer) (Ptr, error) {
	var at Ptr
	err := d.check(&d.c.hostDevicePointer, d.c.hostDevicePointer.Call(uintptr(unsafe.Pointer(&at)), uintptr(p), 0))
	return at, err
}

// Kinds of memory.
const (
	MemoryUnknown = 0 // pageable host memory, or not an address of memory
	MemoryHost    = 1 // pinned
	MemoryDevice  = 2
)

// PointerInfo is the driver's description of an address.
type PointerInfo struct {
	Kind    int    // MemoryUnknown, MemoryHost or MemoryDevice
	Ordinal int    // ordinal of the device, or -2 if the address is unknown
	Start   Ptr    // address of the allocation
	Size    uint64 // bytes of the allocation
}

// Pointer describes an address. An address that the driver does not know is not an error.
func (d *Driver) Pointer(p Ptr) (PointerInfo, error) {
	type result struct {
		kind, ordinal int32
		start, size   uint64
	}
	r := &result{ordinal: -2}
	attributes := &[4]uint32{2, 9, 11, 12} // memory type, device ordinal, start, size of the range
	data := &[4]unsafe.Pointer{unsafe.Pointer(&r.kind), unsafe.Pointer(&r.ordinal), unsafe.Pointer(&r.start), unsafe.Pointer(&r.size)}
	err := d.check(&d.c.pointerAttrs, d.c.pointerAttrs.Call(4, uintptr(unsafe.Pointer(attributes)), uintptr(unsafe.Pointer(data)), uintptr(p)))
	return PointerInfo{Kind: int(r.kind), Ordinal: int(r.ordinal), Start: Ptr(r.start), Size: r.size}, err
}
