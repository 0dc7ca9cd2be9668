package tensor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Device is a handle on a device of a backend, where tensors live, with a queue to compute on. Ops are queued and sent in
// batches; only reads of elements, Sync, Compile and Close wait. NewStream returns further handles on the same tensors, each with
// a separate queue; work on different queues runs concurrently. A Device is safe for concurrent use; commands on its queue run in
// the order in which they were called.
type Device struct {
	*queue
	scope *scope // nil outside Scope
}

// device is the state that all queues share.
type device struct {
	place     *core.Place
	owned     bool // whether closing the device closes place
	core      core.Device
	target    program.Target
	gradients core.Gradients // nil if not supported
	first     *queue
	random    generator
	faults    faults
	origins   origins
	lost      lost

	held, mark atomic.Int64 // bytes of tensors with a handle, now and when a garbage collection was last requested

	mu     sync.Mutex // guards the fields below
	queues map[*queue]struct{}
	closed bool
}

// On opens the device of p, a place from host.Open or core.OpenPlace, and a queue on it. The caller still owns p and closes it
// after the device.
func On(ctx context.Context, p *core.Place) (*Device, error) {
	c, err := p.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("tensor: open %s: %w", p.Spec, err)
	}
	s, err := c.OpenStream(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tensor: open a stream on %s: %w", p.Spec, err), c.Close())
	}
	return &Device{queue: newDevice(p, c, s)}, nil
}

// newDevice returns a device with its first queue.
func newDevice(p *core.Place, c core.Device, s core.Stream) *queue {
	name := p.Spec
	if p.Backend != nil { // not below a recorder
		name = p.Backend.Info().Name
	}
	d := &device{place: p, core: c, target: core.TargetOf(name, c), queues: map[*queue]struct{}{}}
	d.gradients, _ = core.Extension[core.Gradients](c)
	d.first = d.newQueue(s)
	return d.first
}

// newQueue returns a new queue of d, which sends its commands to s.
func (d *device) newQueue(s core.Stream) *queue {
	q := &queue{dev: d, stream: s, untracked: s, waited: map[*queue]uint64{}}
	q.next = q.nextID
	if d.gradients != nil {
		q.untracked = d.gradients.Untracked(s)
	}
	d.mu.Lock()
	d.queues[q] = struct{}{}
	d.mu.Unlock()
	return q
}

// Own is like On, but takes ownership of p: Close of the device closes p too, which ends the process of a plugin. If Own fails it
// closes p.
func Own(ctx context.Context, p *core.Place) (*Device, error) {
	d, err := On(ctx, p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	d.dev.owned = true
	return d, nil
}

// Open opens a backend that is registered in this program, such as "cpu" or "cpu:0", and a queue on its device. Close closes
// both. To open devices of plugins, or with gradients, use burn.Open.
func Open(ctx context.Context, spec string) (*Device, error) {
	p, err := core.OpenPlace(spec, core.Config{})
	if err != nil {
		return nil, err
	}
	return Own(ctx, p)
}

// apart returns "GOT, want WANT" for an error about two devices. It adds enough detail to distinguish them, because devices that
// were opened at the same place have the same name.
func apart(got, want *queue) string {
	a, b := got.String(), want.String()
	switch x, y := got.dev, want.dev; {
	case a != b:
	case (x.gradients != nil) != (y.gradients != nil):
		with := map[bool]string{true: " with autodiff", false: " without autodiff"}
		a, b = a+with[x.gradients != nil], b+with[y.gradients != nil]
	case x.target.Name != y.target.Name:
		a, b = a+" behind "+x.target.Name, b+" behind "+y.target.Name
	default:
		a = "another opening of " + a
	}
	return a + ", want " + b
}

// NewStream returns another handle on the device, with a separate queue whose work runs concurrently with the others. An op runs
// on the queue of its first operand, and its results belong to that queue; On and In return a view of a tensor on another queue.
// Queues synchronise automatically if one uses tensors of another. Close of the handle waits for the work of its queue and closes
// only that queue; tensors that were created on it stay valid, and ops on them then run on the first queue.
func (d *Device) NewStream(ctx context.Context) (*Device, error) {
	s, err := d.dev.core.OpenStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("tensor: open a stream on %s: %w", d, err)
	}
	return &Device{queue: d.dev.newQueue(s)}, nil
}

// Claims reports whether the device itself computes op c with a first operand of type dt. Other ops are computed by their
// decompositions.
func (d *Device) Claims(c op.Code, dt dtype.DType) bool {
	row, caps := op.Lookup(c), d.dev.core.Capabilities()
	claim, ok := caps.Ops[row.Name]
	return ok && claim.Version == row.Version && (len(claim.Operands) == 0 || claim.Operands[0].Has(dt))
}

// String returns the spec that the device was opened by, with transport and index.
func (d *device) String() string { return d.place.Spec }

// String returns the spec that the device was opened by, with transport and index.
func (q *queue) String() string { return q.dev.String() }

// Place returns the backend and the index of the device.
func (q *queue) Place() *core.Place { return q.dev.place }

// Core returns the device of the backend. Two handles with equal results can use each other's tensors.
func (q *queue) Core() core.Device { return q.dev.core }

// Target returns the target that programs and nodes for the device are lowered to.
func (q *queue) Target() program.Target { return q.dev.target }

// Memory returns the device memory in use. It returns false if the backend does not report it.
func (q *queue) Memory() (core.Memory, bool) {
	m, ok := core.Extension[core.MemoryStats](q.dev.core)
	if !ok {
		return core.Memory{}, false
	}
	return m.Memory(), true
}

// Close of a handle from On, Own or Open closes the device: it frees all tensors and closes all queues, and later reads of the
// tensors return core.ErrClosed. Close of a handle from NewStream waits for the work of its queue and closes the queue. It
// returns the first error of that work that has not been returned before. A second Close has no effect.
func (q *queue) Close() error {
	if q == q.dev.first {
		return q.dev.close()
	}
	return q.end()
}

func (d *device) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for q := range d.queues {
		q.mu.Lock()
		q.closed.Store(true)
		q.mu.Unlock()
	}
	err := d.core.Close()
	if d.owned {
		err = errors.Join(err, d.place.Close())
	}
	return err
}

// collectAfter is the number of bytes of tensors that may be created, beyond those released, before the garbage collector is run
// to find unreachable tensors: it cannot see device memory, and handles are small. WebAssembly has 4 GiB for everything.
var collectAfter = map[bool]int64{false: 1 << 30, true: 1 << 28}[wasm]

// wasm is true on a platform with a single thread, where no other goroutine runs before the caller waits.
const wasm = runtime.GOARCH == "wasm"

// hold adds the size in bytes of a new tensor to d.held, and runs the garbage collector if collectAfter more bytes are held than
// at the last run.
func (d *device) hold(size int64) {
	held := d.held.Add(size)
	mark := d.mark.Load()
	switch {
	case held-mark > collectAfter && d.mark.CompareAndSwap(mark, held):
		if !wasm {
			go runtime.GC()
			return
		}
		runtime.GC()
		runtime.Gosched() // let the cleanups run
	case held < mark:
		d.mark.CompareAndSwap(mark, held)
	}
}

// idBlock is the number of tensor ids that a queue reserves at once.
const idBlock = 64

// nextID returns an id for a new tensor. The caller holds mu.
func (q *queue) nextID() op.TensorID {
	if q.ids == 0 {
		q.id, q.ids = q.dev.core.NewIDs(idBlock), idBlock
	}
	id := q.id
	q.id++
	q.ids--
	return id
}
