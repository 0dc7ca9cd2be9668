package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// device holds the tensors, programs and streams of one opened device.
type device[V any] struct {
	backend *backend[V]
	author  Device[V]
	ids     *core.IDs
	claims  []uint16     // by op: the version that the capabilities claim, 0 for none
	meter   Meter        // the author's device, if it implements Meter
	bytes   atomic.Int64 // bytes of elements, counted if meter is nil
	profile atomic.Pointer[recording]

	mu         sync.Mutex // guards the fields below
	cells      table[V]
	generation uint16 // greatest generation seen in an id
	programs   map[core.ProgramID]*defined[V]
	lastID     core.ProgramID
	streams    map[*stream[V]]struct{}
	opened     int        // total number of streams opened
	tickets    *ticket[V] // head of the list of tickets that hold tensors
	closed     bool
	gone       chan struct{}  // closed when Close has closed the author's device
	using      sync.WaitGroup // calls of the author's code outside of a stream's commands; incremented under mu
}

var _ core.Device = (*device[int])(nil)

func newDevice[V any](b *backend[V], author Device[V]) *device[V] {
	d := &device[V]{backend: b, author: author, ids: core.NewIDs(0), programs: map[core.ProgramID]*defined[V]{}, streams: map[*stream[V]]struct{}{},
		gone: make(chan struct{})}
	d.meter, _ = author.(Meter)
	for name, claim := range author.Capabilities().Ops {
		c, ok := op.ByName(name)
		if !ok {
			continue // an op of a later table
		}
		for len(d.claims) <= int(c) {
			d.claims = append(d.claims, 0)
		}
		d.claims[c] = claim.Version
	}
	return d
}

// claimed returns an error if the author does not compute this version of n's op.
func (d *device[V]) claimed(n *op.Node) error {
	if int(n.Op) < len(d.claims) && d.claims[n.Op] == n.Version && n.Version != 0 {
		return nil
	}
	return fmt.Errorf("%v in version %d is not claimed: %w", n.Op, n.Version, core.ErrUnsupported)
}

// Capabilities implements core.Device.
func (d *device[V]) Capabilities() *core.Capabilities { return d.author.Capabilities() }

// NewIDs implements core.Device.
func (d *device[V]) NewIDs(n int) op.TensorID { return d.ids.New(n) }

// OpenStream implements core.Device.
func (d *device[V]) OpenStream(ctx context.Context) (core.Stream, error) {
	if ctx.Err() != nil {
		return nil, d.backend.canceled(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.closedError()
	}
	q, err := d.author.OpenQueue()
	if err != nil {
		return nil, err
	}
	s := newStream(d, q)
	s.number = d.opened
	d.opened++
	d.streams[s] = struct{}{}
	return s, nil
}

// Extend implements core.Device.
func (d *device[V]) Extend(target any) bool {
	if x, ok := d.author.(Extender); ok && x.Extend(target) {
		return true
	}
	switch t := target.(type) {
	case *core.Programs:
		*t = programs[V]{d}
	case *core.MemoryStats:
		*t = d
	case *core.HostMemory:
		*t = hostMemory[V]{d}
	case *core.PeerCopy:
		*t = peers[V]{d}
	case *core.Collectives:
		*t = collectives[V]{d}
	case *core.Profiling:
		*t = profiling[V]{d}
	default:
		return false
	}
	return true
}

// Memory implements core.MemoryStats.
func (d *device[V]) Memory() core.Memory {
	d.mu.Lock()
	m := core.Memory{InUse: d.bytes.Load(), Reserved: d.bytes.Load(), Tensors: int64(d.cells.used)}
	d.mu.Unlock()
	if d.meter != nil {
		m.InUse, m.Reserved = d.meter.Memory()
	}
	return m
}

// Close implements core.Device.
func (d *device[V]) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return d.closedError()
	}
	d.closed = true
	streams := make([]*stream[V], 0, len(d.streams))
	for s := range d.streams {
		streams = append(streams, s)
	}
	d.mu.Unlock()
	for _, s := range streams {
		_ = s.Close()
		<-s.gone // another goroutine may be closing the stream
	}
	d.mu.Lock()
	cells, programs := d.cells, d.programs
	d.cells, d.programs = table[V]{}, nil
	var open []*ticket[V]
	for t := d.tickets; t != nil; t = t.after {
		open = append(open, t)
	}
	d.mu.Unlock()
	for _, t := range open {
		t.giveUp()
	}
	d.using.Wait()
	for _, p := range programs {
		p.drop()
	}
	for _, e := range cells.slots {
		if e.cell != nil {
			d.drop(e.cell)
		}
	}
	d.author.Close()
	d.backend.forget(d)
	close(d.gone)
	return nil
}

// use keeps the author's device open until using.Done is called. It returns an error if the device is closed.
func (d *device[V]) use() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.closedError()
	}
	d.using.Add(1)
	return nil
}

func (d *device[V]) closedError() error {
	return fmt.Errorf("%s: device: %w", d.backend.name(), core.ErrClosed)
}
