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
// batches; only Data, Read and Sync wait. NewStream gives further handles on the same tensors, each with a queue of its
// own; work on different queues runs concurrently. A Device is safe for concurrent use; commands on its queue run in the
// order in which they were called.
type Device struct {
	*queue
	scope *scope // nil outside Scope
}

// device is the state that all queues share.
type device struct {
	place     *core.Place
	owned     bool // place is closed with it
	core      core.Device
	target    program.Target
	gradients core.Gradients // nil without
	first     *queue
	random    generator
	faults    faults
	origins   origins
	lost      lost

	held, mark atomic.Int64 // bytes of handles, and of them when a collection was last asked for

	mu     sync.Mutex // guards what follows
	queues map[*queue]struct{}
	closed bool
}

// On opens a device that host.Open or core.OpenPlace found, and a queue on it. The place stays the caller's to close,
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

// newDevice makes a device with its first queue.
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

// newQueue adds a queue over s.
func (d *device) newQueue(s core.Stream) *queue {
	q := &queue{dev: d, stream: s, untracked: s, waited: map[*queue]uint64{}}
	if d.gradients != nil {
		q.untracked = d.gradients.Untracked(s)
	}
	d.mu.Lock()
	d.queues[q] = struct{}{}
	d.mu.Unlock()
	return q
}

// Own is On for a place that nobody else uses: Close of the device closes p too, which ends the process of a plugin. p is
// closed as well when Own fails.
func Own(ctx context.Context, p *core.Place) (*Device, error) {
	d, err := On(ctx, p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	d.dev.owned = true
	return d, nil
}

// Open opens a backend that is registered in this program, "cpu" or "cpu:0", and a queue on its device. Close ends all.
// Devices of plugins are opened with burn.Open, those that record gradients too.
func Open(ctx context.Context, spec string) (*Device, error) {
	p, err := core.OpenPlace(spec, core.Config{})
	if err != nil {
		return nil, err
	}
	return Own(ctx, p)
}

// apart tells two devices apart in an error: "got, want want" with as much as it takes, since devices that were opened at one place have
// one name.
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

// NewStream returns a second handle on the device, with a queue of its own, whose work runs beside that of the others. An
// op runs on the queue of its first operand, and its results are of that queue; On and In show a tensor from another
// queue. Queues put themselves in order where one uses tensors of another. Close of the handle waits for the work of its
// queue and ends the queue alone; tensors that were made on it stay, and compute on the first queue from then on.
func (d *Device) NewStream(ctx context.Context) (*Device, error) {
	s, err := d.dev.core.OpenStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("tensor: open a stream on %s: %w", d, err)
	}
	return &Device{queue: d.dev.newQueue(s)}, nil
}

// Claims reports whether the device computes op c with a first operand of type dt itself. What it does not claim is computed all the
// same, through the op's decomposition.
func (d *Device) Claims(c op.Code, dt dtype.DType) bool {
	row, caps := op.Lookup(c), d.dev.core.Capabilities()
	claim, ok := caps.Ops[row.Name]
	return ok && claim.Version == row.Version && (len(claim.Operands) == 0 || claim.Operands[0].Has(dt))
}

// String returns the name the device was opened by, transport and index included.
func (d *device) String() string { return d.place.Spec }

// String returns the name the device was opened by, transport and index included.
func (q *queue) String() string { return q.dev.String() }

// Place returns the backend and the index of the device.
func (q *queue) Place() *core.Place { return q.dev.place }

// Core returns the device of the contract below. Two handles are on the same tensors when it is equal for them.
func (q *queue) Core() core.Device { return q.dev.core }

// Target returns the target that programs and nodes for the device are lowered to.
func (q *queue) Target() program.Target { return q.dev.target }

// Memory returns the device memory in use, and whether the backend reports it.
func (q *queue) Memory() (core.Memory, bool) {
	m, ok := core.Extension[core.MemoryStats](q.dev.core)
	if !ok {
		return core.Memory{}, false
	}
	return m.Memory(), true
}

// Close closes the device, where d is the handle that On or Open gave: it frees all tensors and ends all queues, and
// handles on tensors report core.ErrClosed from then on. Of a handle that NewStream gave it ends the queue, after its
// work is done; it returns the first failure of that work which was not reported before. A second Close does nothing.
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

// collectAfter is how many bytes of tensors may be made, beyond what is released, until the garbage collector is asked for those
// that nothing reaches: it knows nothing of device memory, and handles are small. WebAssembly has 4 GiB for everything.
var collectAfter = map[bool]int64{false: 1 << 30, true: 1 << 28}[wasm]

// wasm is where there is one thread, and so no goroutine runs before its caller waits.
const wasm = runtime.GOARCH == "wasm"

// hold counts a new handle.
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
		runtime.Gosched() // to the cleanups
	case held < mark:
		d.mark.CompareAndSwap(mark, held)
	}
}

// idBlock is how many tensor ids a queue takes at once.
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
