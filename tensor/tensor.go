// Package tensor is the library for applications: tensors on a device, with methods that can be chained. Methods queue ops on a device of
// package core and do not wait for them. The package must not compute elements itself. A wrong shape or type is a programming error and
// panics with *Error at the call; Try converts the panic to an error. Errors that occur only at run time (out of memory, a lost backend, an
// index out of range) are returned by Data, Read and Sync.
package tensor

import (
	"context"
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Tensor is a handle on an array of elements on a device. Its value never changes. It is safe for concurrent use.
//
// Its memory is freed at the end of the Scope that the tensor was created in, by Release, or at the latest by the garbage
// collector, some time after the handle has become unreachable.
type Tensor struct {
	queue   *queue // the queue that computes with it
	desc    op.Desc
	state   *state
	scope   *scope
	cleanup runtime.Cleanup
	origin  *Tensor // for a view: the handle that it was created from
	host    []byte  // a copy of the content, for small tensors from FromBytes
}

// hostSize is the size in bytes up to which FromBytes keeps a copy, for numbers that control flow depends on.
const hostSize = 64

// Known returns the content of a small tensor that came from this process, without reading it from the device. The caller must
// not change it. ok is false for all other tensors.
func (t *Tensor) Known() (content []byte, ok bool) { return t.host, t.host != nil }

// Error is the panic value for a programming error. It wraps the contract's error, so that errors.Is and errors.As find
// core.ErrShape and *op.Error.
type Error struct{ Err error }

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

func fail(format string, args ...any) { panic(&Error{fmt.Errorf(format, args...)}) }

// Try runs f and returns the *Error that it panicked with, if any. Other panics pass through.
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

// Shape returns the length of each dimension. The caller must not change it.
func (t *Tensor) Shape() shape.Shape { return t.desc.Shape }

// DType returns the element type.
func (t *Tensor) DType() dtype.DType { return t.desc.DType }

// Rank returns the number of dimensions.
func (t *Tensor) Rank() int { return len(t.desc.Shape) }

// Size returns the number of elements.
func (t *Tensor) Size() int { return t.desc.Shape.Size() }

// Desc returns the type and shape in the form of the contract, and the id on the device.
func (t *Tensor) Desc() op.Desc { return t.desc }

// Device returns the device of the tensor, with the queue that computes with it, outside any scope.
func (t *Tensor) Device() *Device { return &Device{queue: t.queue.live()} }

// On returns a view of t on another queue of its device: ops with the view as first operand run on that queue. The view owns no
// memory: t must exist as long as the view is used. The view belongs to the scope of t.
func (t *Tensor) On(d *Device) *Tensor { return t.view("on", d.queue, t.scope) }

// In returns a view of t in d, a handle on t's device from Scope, NoGrad or NewStream: ops with the view as first operand run on
// the queue of d, and their results belong to the scope of d. The view owns no memory: t must exist as long as the view is used.
func (t *Tensor) In(d *Device) *Tensor { return t.view("in", d.queue, d.scope) }

func (t *Tensor) view(name string, q *queue, s *scope) *Tensor {
	if t.queue.dev != q.dev {
		fail("%s: %v is on %s: move it with To", name, t.desc, apart(t.queue, q))
	}
	return &Tensor{queue: q, desc: t.desc, state: t.state, scope: s, origin: t, host: t.host}
}

// Release frees the tensor's memory after queued work that uses it, on all queues. Using t afterwards is a programming error;
// releasing it again is not.
func (t *Tensor) Release() {
	if t.claim() {
		t.state.free()
	}
}

// claim invalidates all handles on the tensor. It returns true for one caller only, which must release the memory.
func (t *Tensor) claim() bool {
	if !t.state.claim() {
		return false
	}
	t.gone()
	return true
}

// gone subtracts the size of a claimed tensor from the bytes held, and stops the cleanup of its handle.
func (t *Tensor) gone() {
	t.queue.dev.held.Add(-t.state.size)
	if t.origin != nil {
		t.origin.cleanup.Stop()
	}
	t.cleanup.Stop()
}

// Op applies an op of the contract's table to tensors of one device and returns all its results. It runs on the queue of the
// first operand. The other methods are based on it; it also accepts custom ops. It panics with *Error if the node is illegal.
func Op(c op.Code, in []*Tensor, attrs ...op.Attr) []*Tensor {
	if len(in) == 0 {
		fail("%v: no operands: use Device.Op", c)
	}
	return apply(in[0].queue.live(), nil, c, in, attrs)
}

// Op applies an op of the contract's table on the queue of d, and returns all its results. The op may have no operands, such as
// full.
func (d *Device) Op(c op.Code, in []*Tensor, attrs ...op.Attr) []*Tensor {
	return apply(d.queue, d.scope, c, in, attrs)
}

// consume is like the function Op, but also releases the first operand, so that the result may reuse its memory.
func consume(c op.Code, in []*Tensor, attrs []op.Attr) []*Tensor {
	s := deepest(nil, in)
	return applyIn(in[0].queue.live(), c, in, attrs, s, s, true)
}

func apply(q *queue, s *scope, c op.Code, in []*Tensor, attrs []op.Attr) []*Tensor {
	s = deepest(s, in)
	if s == nil || s.narrow == dtype.Invalid {
		return applyIn(q, c, in, attrs, s, s, false)
	}
	casts := autocast(q, s, s.narrow, c, in)
	out := applyIn(q, c, casts, attrs, s, s, false)
	releaseCasts(casts, in)
	return out
}

// deepest returns the innermost of s and the scopes of ts.
func deepest(s *scope, ts []*Tensor) *scope {
	for _, t := range ts {
		s = deeper(s, t.scope)
	}
	return s
}

// applyIn applies an op on queue q. The scope s determines whether the op is recorded for gradients; the results belong to owner.
// If consume is set, the node releases the first operand, provided that it has not been released and that no other owner releases
// it.
func applyIn(q *queue, c op.Code, in []*Tensor, attrs []op.Attr, s, owner *scope, consume bool) []*Tensor {
	descs := make([]op.Desc, len(in))
	for i, t := range in {
		if t.queue.dev != q.dev {
			fail("%v: operand %d is on %s: move it with To", c, i, apart(t.queue, q))
		}
		descs[i] = t.desc
	}
	n, err := op.New(c, descs, attrs...)
	if err != nil {
		panic(&Error{err})
	}
	q.dev.sweep()
	if consume = consume && in[0].state.claim(); consume {
		in[0].state.settle(q)
		n.Drop = 1
	}
	q.lockFor(in)
	q.record(s != nil && s.mute)
	number := q.sent + 1
	for i, t := range in {
		if !(consume && i == 0) && !t.state.use(q, number) {
			q.mu.Unlock()
			if consume {
				in[0].state.released.Store(false)
			}
			fail("%v: operand %d was released", c, i)
		}
	}
	for i := range n.Outputs {
		n.Outputs[i].ID = q.nextID()
	}
	q.current = n
	err = q.enqueue(&q.current, descs)
	if err != nil {
		if consume {
			q.release(in[0].desc.ID) // no node has released it
			n.Drop = 0
		}
		if !unsupported(err) {
			q.complain(err) // the next wait returns it
			q.fail(&n, err)
		}
	}
	q.mu.Unlock()
	if consume {
		in[0].gone()
	}
	if err != nil && unsupported(err) {
		panic(&Error{err})
	}
	outs := make([]*Tensor, len(n.Outputs))
	for i, o := range n.Outputs {
		outs[i] = q.handle(o, number, owner)
	}
	runtime.KeepAlive(in)
	return outs
}

// Bytes waits for the tensor and returns its elements in row-major order, little-endian.
func (t *Tensor) Bytes(ctx context.Context) ([]byte, error) {
	dst := make([]byte, t.desc.Bytes())
	if err := t.ReadInto(ctx, dst); err != nil {
		return nil, err
	}
	return dst, nil
}

// ReadInto waits for the tensor and copies its elements to dst, in the format of Bytes. dst must have exactly the tensor's size
// in bytes. Other goroutines may use the queue meanwhile.
func (t *Tensor) ReadInto(ctx context.Context, dst []byte) error {
	ticket, err := t.read(dst)
	if err != nil {
		return err
	}
	return ticket.Wait(ctx)
}

// read queues a read of the elements to dst, and returns its ticket.
func (t *Tensor) read(dst []byte) (core.Ticket, error) {
	if len(dst) != t.desc.Bytes() {
		return nil, fmt.Errorf("tensor: read %v into %d bytes, want %d: %w", t.desc, len(dst), t.desc.Bytes(), core.ErrShape)
	}
	q := t.queue.live()
	q.dev.sweep()
	q.lockFor([]*Tensor{t})
	defer q.mu.Unlock()
	if err := t.next(q, "read"); err != nil {
		return nil, err
	}
	ticket := q.stream.Read(t.desc.ID, dst)
	q.sent++
	runtime.KeepAlive(t)
	return passing{ticket, q, q.sent}, nil
}

// next sends the queued nodes and records that the next command of q uses t. The caller holds q.mu, and increments q.sent for the
// command. next returns an error for a closed queue, and for a tensor that was released or has failed.
func (t *Tensor) next(q *queue, command string) error {
	if q.closed.Load() {
		return q.closedError()
	}
	q.flush()
	if !t.state.use(q, q.sent+1) {
		return fmt.Errorf("tensor: %s a released tensor %v: %w", command, t.desc, core.ErrUnknownTensor)
	}
	return q.dev.faults.get(t.desc.ID)
}

// FromBytes returns a new tensor with the elements in data, in row-major order, little-endian. data may be reused afterwards.
func (d *Device) FromBytes(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte) (*Tensor, error) {
	desc, err := describe("from bytes", dt, s, data)
	if err != nil {
		return nil, err
	}
	t, err := d.define(desc, func(desc op.Desc) error { return d.stream.Write(ctx, desc, data) })
	if err != nil {
		return nil, err
	}
	if n := len(data); n > 0 && n <= hostSize {
		t.host = append(make([]byte, 0, n), data...)
	}
	return t, nil
}

// describe checks the arguments and returns the description of a new tensor with the content data.
func describe(what string, dt dtype.DType, s shape.Shape, data []byte) (op.Desc, error) {
	desc := op.Desc{DType: dt, Shape: s.Clone()}
	if err := s.Check(); err != nil {
		return desc, fmt.Errorf("tensor: %s: %w", what, err)
	}
	if !dt.Valid() || len(data) != desc.Bytes() {
		return desc, fmt.Errorf("tensor: %s: %d bytes for %v, want %d: %w", what, len(data), desc, desc.Bytes(), core.ErrShape)
	}
	return desc, nil
}

// define returns a new tensor, which command creates.
func (d *Device) define(desc op.Desc, command func(desc op.Desc) error) (*Tensor, error) {
	q := d.queue
	q.dev.sweep()
	q.mu.Lock()
	if q.closed.Load() {
		q.mu.Unlock()
		return nil, q.closedError()
	}
	q.flush()
	desc.ID = q.nextID()
	err := command(desc)
	if err == nil {
		q.sent++
	}
	n := q.sent
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return q.handle(desc, n, d.scope), nil
}
