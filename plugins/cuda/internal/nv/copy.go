package nv

import "unsafe"

// CopyToDevice copies host memory to the device in the order of the stream. Pinned memory must stay as it is until the copy is
// done; memory that is not pinned has been read when the call returns, which may wait for the stream.
func (d *Driver) CopyToDevice(dst Ptr, src unsafe.Pointer, bytes uint64, s Stream) error {
	return d.check(&d.c.copyHtoD, d.c.copyHtoD.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// CopyToHost copies device memory to the host in the order of the stream. With memory that is not pinned the call returns
// when the copy is done.
func (d *Driver) CopyToHost(dst unsafe.Pointer, src Ptr, bytes uint64, s Stream) error {
	return d.check(&d.c.copyDtoH, d.c.copyDtoH.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// Copy copies within the device. The ranges must not overlap.
func (d *Driver) Copy(dst, src Ptr, bytes uint64, s Stream) error {
	return d.check(&d.c.copyDtoD, d.c.copyDtoD.Quick(uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)))
}

// CopyPeer copies between the devices of two contexts, with or without peer access.
func (d *Driver) CopyPeer(dst Ptr, dstContext Context, src Ptr, srcContext Context, bytes uint64, s Stream) error {
	return d.check(&d.c.copyPeer, d.c.copyPeer.Quick11(uintptr(dst), uintptr(dstContext), uintptr(src), uintptr(srcContext), uintptr(bytes), uintptr(s), 0, 0, 0, 0, 0))
}

// Set8 fills n bytes.
func (d *Driver) Set8(dst Ptr, value uint8, n uint64, s Stream) error {
	return d.check(&d.c.set8, d.c.set8.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}

// Set16 fills n words of 2 bytes, at an address that is a multiple of 2.
func (d *Driver) Set16(dst Ptr, value uint16, n uint64, s Stream) error {
	return d.check(&d.c.set16, d.c.set16.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}

// Set32 fills n words of 4 bytes, at an address that is a multiple of 4.
func (d *Driver) Set32(dst Ptr, value uint32, n uint64, s Stream) error {
	return d.check(&d.c.set32, d.c.set32.Quick(uintptr(dst), uintptr(value), uintptr(n), uintptr(s)))
}
