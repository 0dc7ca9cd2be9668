// Package tensor is what applications compute with: tensors on a device, with methods that chain. Ops are queued, not
// awaited. A wrong shape or type is a programmer's error and panics with *Error at the call; Try turns that into an error
// at a boundary. Faults that only running can show (out of memory, a lost backend, an index outside) are returned by
// Data, Read and Sync.
package tensor

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Tensor is a handle on an array of elements on a device. Its value never changes. It is safe for concurrent use.
//
// Memory is freed by the end of the Scope that the tensor was made in, by Release, and last, some time after the handle
// became unreachable, by the garbage collector.
type Tensor struct {
	dev     *engine
	desc    op.Desc
	state   *state
	scope   *scope
	cleanup runtime.Cleanup
	origin  *Tensor // of a view from another scope: the handle that owns the memory
	host    []byte  // a copy of the content, of small tensors that FromBytes made
}

// hostSize is the size in bytes up to which FromBytes keeps a copy: numbers that steer control flow.
const hostSize = 64

// Known is the content of a small tensor that came from this process, which so need not be read. It must not be changed. ok is
// false for all others.
func (t *Tensor) Known() (content []byte, ok bool) { return t.host, t.host != nil }

type state struct {
	released atomic.Bool
	lent     bool  // somebody else's to release
	size     int64 // bytes
}

// claim is true for the one caller that may release.
func (s *state) claim() bool { return !s.lent && s.released.CompareAndSwap(false, true) }

// Error is the panic value of a programmer's error. It wraps the contract's error, so that errors.Is and errors.As see
// core.ErrShape and *op.Error.
type Error struct{ Err error }

// Error is the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

func fail(format string, args ...any) { panic(&Error{fmt.Errorf(format, args...)}) }

// Try runs f and returns the *Error it panicked with, if it did. Other panics pass through.
func Try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Error:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// Shape is the length of each dimension. The caller must not change it.
func (t *Tensor) Shape() shape.Shape { return t.desc.Shape }

// DType is the element type.
func (t *Tensor) DType() dtype.DType { return t.desc.DType }

// Rank is the number of dimensions.
func (t *Tensor) Rank() int { return len(t.desc.Shape) }

// Size is the number of elements.
func (t *Tensor) Size() int { return t.desc.Shape.Size() }

// Desc is type and shape as the contract has them, and the id on the device's stream.
func (t *Tensor) Desc() op.Desc { return t.desc }

// Device is where the tensor lives, outside any scope.
func (t *Tensor) Device() *Device { return &Device{engine: t.dev} }

// Release gives the tensor's memory back once queued work has used it. Using t afterwards is a programmer's error;
// releasing it again is not.
func (t *Tensor) Release() {
	if !t.state.claim() {
		return
	}
	t.dev.held.Add(-t.state.size)
	if t.origin != nil {
		t.origin.cleanup.Stop()
	}
	t.cleanup.Stop()
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	t.dev.release(t.desc.ID)
}

// Op applies an op of the contract's table to tensors of one device and gives all its results. The typed methods are
// written with it; it reaches custom ops too. It panics with *Error when the node is not legal.
func Op(c op.Code, in []*Tensor, attrs ...op.Attr) []*Tensor {
	if len(in) == 0 {
		fail("%v: no operands: use Device.Op", c)
	}
	return apply(&Device{engine: in[0].dev}, c, in, attrs)
}

// Op applies an op without operands, such as full, on the device.
func (d *Device) Op(c op.Code, in []*Tensor, attrs ...op.Attr) []*Tensor {
	return apply(d, c, in, attrs)
}

func apply(d *Device, c op.Code, in []*Tensor, attrs []op.Attr) []*Tensor {
	s := d.scope
	for _, t := range in {
		s = deeper(s, t.scope)
	}
	return applyIn(d, c, in, attrs, s, s)
}

// applyIn is apply whose node is recorded as in scope s, and whose results belong to owner.
func applyIn(d *Device, c op.Code, in []*Tensor, attrs []op.Attr, s, owner *scope) []*Tensor {
	descs := make([]op.Desc, len(in))
	for i, t := range in {
		if t.dev != d.engine {
			fail("%v: operand %d is on %s, want %s: move it with To", c, i, t.dev, d.engine)
		}
		descs[i] = t.desc
	}
	n, err := op.New(c, descs, attrs...)
	if err != nil {
		panic(&Error{err})
	}
	d.mu.Lock()
	for i, t := range in {
		if t.state.released.Load() {
			d.mu.Unlock()
			fail("%v: operand %d was released", c, i)
		}
	}
	for i := range n.Outputs {
		n.Outputs[i].ID = d.nextID()
	}
	err = d.enqueue(&n, descs, s != nil && s.mute)
	if err != nil && !unsupported(err) && d.failed == nil {
		d.failed = err // reported by the next wait
	}
	d.mu.Unlock()
	if err != nil && unsupported(err) {
		panic(&Error{err})
	}
	outs := make([]*Tensor, len(n.Outputs))
	for i, o := range n.Outputs {
		outs[i] = d.handle(o, owner)
	}
	runtime.KeepAlive(in)
	return outs
}

// Bytes waits for the tensor and gives its elements in row-major order, little-endian.
func (t *Tensor) Bytes(ctx context.Context) ([]byte, error) {
	dst := make([]byte, t.desc.Bytes())
	if err := t.ReadInto(ctx, dst); err != nil {
		return nil, err
	}
	return dst, nil
}

// ReadInto waits for the tensor and fills dst, of exactly the tensor's size in bytes, in the format of Bytes.
func (t *Tensor) ReadInto(ctx context.Context, dst []byte) error {
	if len(dst) != t.desc.Bytes() {
		return fmt.Errorf("tensor: read %v into %d bytes, want %d: %w", t.desc, len(dst), t.desc.Bytes(), core.ErrShape)
	}
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	if t.state.released.Load() {
		return fmt.Errorf("tensor: read a released tensor %v: %w", t.desc, core.ErrUnknownTensor)
	}
	if err := t.dev.flush(); err != nil {
		return err
	}
	err := t.dev.stream.Read(ctx, t.desc.ID, dst)
	runtime.KeepAlive(t)
	return err
}

// FromBytes makes a tensor from elements in row-major order, little-endian. data may be reused afterwards.
func (d *Device) FromBytes(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte) (*Tensor, error) {
	desc := op.Desc{DType: dt, Shape: s.Clone()}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	if !dt.Valid() || len(data) != desc.Bytes() {
		return nil, fmt.Errorf("tensor: %d bytes for %v, want %d: %w", len(data), desc, desc.Bytes(), core.ErrShape)
	}
	d.mu.Lock()
	if err := d.flush(); err != nil {
		d.mu.Unlock()
		return nil, err
	}
	desc.ID = d.nextID()
	err := d.stream.Write(ctx, desc, data)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t := d.handle(desc, d.scope)
	if n := len(data); n > 0 && n <= hostSize {
		t.host = append(make([]byte, 0, n), data...)
	}
	return t, nil
}
