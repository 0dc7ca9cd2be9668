package tensor

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Device is where tensors live: one stream on one device of a backend. Ops on its tensors are queued and sent in
// batches; only Data, Read and Sync wait. A Device is safe for concurrent use; its commands run in the order in which
// they were called.
type Device struct {
	*engine
	scope *scope // nil outside Scope
}

// engine is what all scopes of a device share.
type engine struct {
	device *core.Device
	owned  bool
	random generator

	mu      sync.Mutex // guards the stream and everything below
	stream  core.Stream
	seq     uint64
	pending []op.Node
	muted   bool               // pending is not recorded for gradients
	next    func() op.TensorID // where ids come from when not from seq
	dead    []op.TensorID
	failed  error // of a command that could not be submitted
	closed  bool

	held, mark atomic.Int64 // bytes of handles, and of them when a collection was last asked for

	// Releases by the garbage collector must not wait for mu.
	lostMu sync.Mutex
	lost   []op.TensorID
}

// flushAt is how many queued nodes are sent without waiting for more: few, so that work starts early.
const flushAt = 32

// On starts a stream on a device that host.Open or core.OpenDevice gave. The device stays the caller's to close, after
// this one.
func On(ctx context.Context, d *core.Device) (*Device, error) {
	s, err := d.Backend.OpenStream(ctx, d.Index)
	if err != nil {
		return nil, fmt.Errorf("tensor: open a stream on %s: %w", d.Spec, err)
	}
	return &Device{engine: &engine{device: d, stream: s}}, nil
}

// Open opens a backend that is registered in this program, "cpu" or "cpu:0", and starts a stream on it. Close ends both.
// Backends in plugins are opened with host.Open and On.
func Open(ctx context.Context, spec string) (*Device, error) {
	d, err := core.OpenDevice(spec, core.Config{})
	if err != nil {
		return nil, err
	}
	dev, err := On(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%w", closeAfter(d, err))
	}
	dev.owned = true
	return dev, nil
}

func closeAfter(d *core.Device, err error) error {
	if cerr := d.Close(); cerr != nil {
		return fmt.Errorf("%w; closing the device: %v", err, cerr)
	}
	return err
}

// String is the name the device was opened by, transport and index included.
func (e *engine) String() string { return e.device.Spec }

// Core is the device of the contract below.
func (e *engine) Core() *core.Device { return e.device }

// Sync waits until everything queued is done and reports the first failure since the last Sync.
func (e *engine) Sync(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.flush(); err != nil {
		return err
	}
	return e.stream.Sync(ctx)
}

// Close frees all tensors of the device and ends its stream. Handles that are left report core.ErrClosed.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.stream.Close()
	if e.owned {
		if cerr := e.device.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// Memory is the device memory in use, and whether the backend reports it.
func (e *engine) Memory() (core.Memory, bool) {
	m, ok := core.As[core.MemoryStats](e.stream)
	if !ok {
		return core.Memory{}, false
	}
	return m.Memory(), true
}

func (e *engine) nextID() op.TensorID {
	if e.next != nil {
		return e.next()
	}
	e.seq++
	return op.NewTensorID(0, e.seq)
}

// enqueue lowers n and appends it, to be recorded for gradients unless mute. The caller holds mu. n's outputs have ids.
func (e *engine) enqueue(n *op.Node, in []op.Desc, mute bool) error {
	if e.closed {
		return fmt.Errorf("tensor: device %s: %w", e.device.Spec, core.ErrClosed)
	}
	if mute != e.muted {
		if err := e.flush(); err != nil {
			return err
		}
		e.muted = mute
	}
	if err := e.device.Backend.Supports(n, in); err == nil {
		e.pending = append(e.pending, *n)
	} else {
		nodes, free, err := core.Lower(e.device.Backend, n, in, e.nextID)
		if err != nil {
			return err
		}
		e.pending = append(e.pending, nodes...)
		e.dead = append(e.dead, free...)
	}
	if len(e.pending) >= flushAt {
		return e.flush()
	}
	return nil
}

// flush sends what is queued. The caller holds mu. A refusal sticks: the queue is lost, so every later wait reports it.
func (e *engine) flush() error {
	if e.closed {
		return fmt.Errorf("tensor: device %s: %w", e.device.Spec, core.ErrClosed)
	}
	if e.failed != nil {
		return e.failed
	}
	e.lostMu.Lock()
	lost := e.lost
	e.lost = nil
	e.lostMu.Unlock()
	for _, id := range lost {
		e.release(id)
	}
	if len(e.pending) > 0 {
		to := e.stream
		if g, ok := core.As[core.Gradients](e.stream); ok && e.muted {
			to = g.Untracked()
		}
		if err := to.Submit(e.pending); err != nil {
			e.failed = err
			return err
		}
		clear(e.pending)
		e.pending = e.pending[:0]
	}
	if len(e.dead) > 0 {
		if err := e.stream.Free(e.dead); err != nil {
			e.failed = err
			return err
		}
		e.dead = e.dead[:0]
	}
	return nil
}

// release gives id up: with the queued node that uses it last if there is one, else by Free. The caller holds mu.
func (e *engine) release(id op.TensorID) {
	for i := len(e.pending) - 1; i >= 0; i-- {
		n := &e.pending[i]
		for k, in := range n.Inputs {
			if in == id && k < 64 {
				n.Drop |= 1 << k
				return
			}
		}
	}
	e.dead = append(e.dead, id)
}

// collect is release from a finalizer.
func (e *engine) collect(id op.TensorID) {
	e.lostMu.Lock()
	e.lost = append(e.lost, id)
	e.lostMu.Unlock()
}

// handle makes the Tensor of a desc and registers its release.
func (d *Device) handle(desc op.Desc, s *scope) *Tensor {
	t := &Tensor{dev: d.engine, desc: desc, state: &state{}, scope: s}
	st, e, id := t.state, d.engine, desc.ID
	st.size = int64(desc.Bytes())
	e.hold(st.size)
	t.cleanup = runtime.AddCleanup(t, func(op.TensorID) {
		if st.claim() {
			e.held.Add(-st.size)
			e.collect(id)
		}
	}, id)
	if s != nil {
		s.add(t)
	}
	return t
}

// collectAfter is how many bytes of tensors may be made, beyond what is released, until the garbage collector is asked for those
// that nothing reaches: it knows nothing of device memory, and handles are small.
const collectAfter = 1 << 30

// hold counts a new handle.
func (e *engine) hold(size int64) {
	held := e.held.Add(size)
	mark := e.mark.Load()
	switch {
	case held-mark > collectAfter && e.mark.CompareAndSwap(mark, held):
		go runtime.GC()
	case held < mark:
		e.mark.CompareAndSwap(mark, held)
	}
}
