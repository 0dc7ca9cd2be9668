package nv

import "unsafe"

// Limit is a limit of a context, by the driver's number.
type Limit int32

// The limits that the plugin reads or sets.
const (
	StackSize  Limit = 0 // bytes per thread
	PrintfSize Limit = 1 // bytes of the buffer of printf in kernels
	HeapSize   Limit = 2 // bytes of the heap of malloc in kernels
)

// RetainPrimary returns the primary context of a device, which cuBLASLt, cuDNN and NCCL use as well. ReleasePrimary releases it.
func (d *Driver) RetainPrimary(dev Device) (Context, error) {
	var ctx Context
	err := d.check(&d.c.primaryRetain, d.c.primaryRetain.Call(uintptr(unsafe.Pointer(&ctx)), uintptr(dev)))
	return ctx, err
}

// ReleasePrimary releases a primary context. The last release destroys it, with all objects that belong to it.
func (d *Driver) ReleasePrimary(dev Device) error {
	return d.check(&d.c.primaryRelease, d.c.primaryRelease.Call(uintptr(dev)))
}

// SetCurrent makes a context the current one of the calling thread, to which the goroutine is locked.
func (d *Driver) SetCurrent(ctx Context) error {
	return d.check(&d.c.ctxSetCurrent, d.c.ctxSetCurrent.Quick(uintptr(ctx), 0, 0, 0))
}

// Current returns the current context of the calling thread, or 0.
func (d *Driver) Current() (Context, error) {
	var ctx Context
	err := d.check(&d.c.ctxGetCurrent, d.c.ctxGetCurrent.Call(uintptr(unsafe.Pointer(&ctx))))
	return ctx, err
}

// Synchronize waits until all work of the current context is done, and returns its fault, if any.
func (d *Driver) Synchronize() error {
	return d.check(&d.c.ctxSynchronize, d.c.ctxSynchronize.Call())
}

// Limit reads a limit of the current context.
func (d *Driver) Limit(l Limit) (uint64, error) {
	var n uint64
	err := d.check(&d.c.ctxGetLimit, d.c.ctxGetLimit.Call(uintptr(unsafe.Pointer(&n)), uintptr(l)))
	return n, err
}

// SetLimit changes a limit of the current context.
func (d *Driver) SetLimit(l Limit, n uint64) error {
	return d.check(&d.c.ctxSetLimit, d.c.ctxSetLimit.Call(uintptr(l), uintptr(n)))
}

// EnablePeer lets the current context read and write memory of a peer. It is not an error if access is enabled already.
func (d *Driver) EnablePeer(peer Context) error {
	code := d.c.enablePeer.Call(uintptr(peer), 0)
	if code == codePeerAlreadyEnabled {
		return nil
	}
	return d.check(&d.c.enablePeer, code)
}

// DisablePeer ends the access that EnablePeer granted.
func (d *Driver) DisablePeer(peer Context) error {
	return d.check(&d.c.disablePeer, d.c.disablePeer.Call(uintptr(peer)))
}
