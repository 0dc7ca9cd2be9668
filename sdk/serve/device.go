package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

type tensorID = op.TensorID

// tensor describes a live tensor: its type, and an error if the tensor could not be created.
type tensor struct {
	op.Desc
	err    error
	absent bool // the backend does not know the tensor
}

// device is a device that a host has opened, with its tensors, programs and groups. Its streams share it.
type device struct {
	*server
	conn       *connection
	handle     uint64
	generation uint16
	inner      core.Device
	caps       *core.Capabilities
	ctx        context.Context // canceled when the device is closed
	cancel     context.CancelFunc

	// Extensions, nil where the device lacks them.
	programs    core.Programs
	memory      core.MemoryStats
	host        core.HostMemory
	peers       core.PeerCopy
	collectives core.Collectives
	selective   core.Selective
	profiling   core.Profiling

	mu      sync.Mutex // guards the fields below
	tensors map[tensorID]tensor
	defined map[uint64]*defined
	groups  map[uint64]*group
	closed  bool
}

// Open opens a device.
func (s *server) Open(ctx context.Context, o *wire.Open) *wire.Opened {
	b, err := s.opened()
	if err != nil {
		return &wire.Opened{Err: err}
	}
	d := &device{server: s, conn: connectionOf(ctx), handle: o.Handle, generation: o.Generation,
		tensors: map[tensorID]tensor{}, defined: map[uint64]*defined{}, groups: map[uint64]*group{}}
	err = s.guard("open device", func() (err error) {
		if d.inner, err = b.Open(ctx, o.Device); err != nil {
			return err
		}
		if d.caps = d.inner.Capabilities(); d.caps == nil || d.caps.Limits.Rank < 1 {
			return fmt.Errorf("device %d without capabilities: %w", o.Device, core.ErrKernel)
		}
		d.extend()
		return nil
	})
	if err != nil {
		if d.inner != nil {
			_ = s.guard("close device", d.inner.Close)
		}
		return &wire.Opened{Err: err}
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := d.register(); err != nil {
		_ = d.close()
		return &wire.Opened{Err: err}
	}
	return &wire.Opened{Capabilities: d.caps, Extensions: wire.Extensions{Programs: d.programs != nil, Memory: d.memory != nil,
		PeerCopy: d.peers != nil, Collectives: d.collectives != nil, Selective: d.selective != nil, Profiling: d.profiling != nil}}
}

func (d *device) extend() {
	d.programs, _ = core.Extension[core.Programs](d.inner)
	d.memory, _ = core.Extension[core.MemoryStats](d.inner)
	d.host, _ = core.Extension[core.HostMemory](d.inner)
	d.peers, _ = core.Extension[core.PeerCopy](d.inner)
	d.collectives, _ = core.Extension[core.Collectives](d.inner)
	d.selective, _ = core.Extension[core.Selective](d.inner)
	d.profiling, _ = core.Extension[core.Profiling](d.inner)
}

// register adds the device to the table of handles. The error is ErrClosed if the server or the connection has ended, and ErrProtocol if
// the handle is in use.
func (d *device) register() error {
	s, c := d.server, d.conn
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.closed || c.ended:
		return fmt.Errorf("plugin %s: open: %w", s.Name, core.ErrClosed)
	case d.handle == 0 || s.devices[d.handle] != nil:
		return fmt.Errorf("open: %w: handle %d is not new", core.ErrProtocol, d.handle)
	}
	s.devices[d.handle], c.devices[d.handle] = d, d
	return nil
}

// find returns the device of a handle.
func (s *server) find(handle uint64) (*device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[handle]
	if d == nil {
		return nil, fmt.Errorf("plugin %s: no device has handle %d: %w", s.Name, handle, core.ErrClosed)
	}
	return d, nil
}

// Close closes a device.
func (s *server) Close(_ context.Context, handle uint64) error {
	d, err := s.find(handle)
	if err != nil {
		return err
	}
	return d.close()
}

// close ends the streams of the device and frees its tensors, programs and groups.
func (d *device) close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return fmt.Errorf("device: %w", core.ErrClosed)
	}
	d.closed = true
	d.mu.Unlock()
	d.server.mu.Lock()
	d.conn.mu.Lock()
	if d.conn.devices[d.handle] == d {
		delete(d.server.devices, d.handle)
		delete(d.conn.devices, d.handle)
	}
	d.conn.mu.Unlock()
	d.server.mu.Unlock()
	d.cancel()
	if err := d.guard("close device", d.inner.Close); !errors.Is(err, core.ErrClosed) {
		return err
	}
	return nil
}

// Supports checks a node and then queries the backend.
func (s *server) Supports(_ context.Context, handle uint64, n *op.Node, in []op.Desc) error {
	d, err := s.find(handle)
	if err != nil {
		return err
	}
	return s.guard("supports", func() error {
		if err := op.Check(n, in); err != nil {
			return err
		}
		if err := d.caps.Check(n, in); err != nil || d.selective == nil {
			return err
		}
		return d.selective.Supports(n, in)
	})
}

// Memory reports the memory use of a device.
func (s *server) Memory(_ context.Context, handle uint64) (m core.Memory, err error) {
	d, err := s.find(handle)
	if err != nil {
		return m, err
	}
	if d.memory == nil {
		return m, fmt.Errorf("memory: %w", core.ErrUnsupported)
	}
	err = s.guard("memory", func() error { m = d.memory.Memory(); return nil })
	return m, err
}

// lookup finds a live tensor. If the tensor is not live, the error contains the reason. The caller holds mu.
func (d *device) lookup(id tensorID) (tensor, error) {
	if x, ok := d.tensors[id]; ok {
		return x, nil
	}
	if g := id.Generation(); g != d.generation {
		return tensor{}, fmt.Errorf("%v of generation %d, the device is of generation %d: %w", id, g, d.generation, core.ErrStale)
	}
	return tensor{}, fmt.Errorf("%v: %w", id, core.ErrUnknownTensor)
}

// wanted returns an error if tensor id does not exist, cannot be read, or does not have the given size in bytes.
func (d *device) wanted(id tensorID, size int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, err := d.lookup(id)
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case x.err != nil:
		return x.err
	case x.Bytes() != size:
		return fmt.Errorf("read: %v is %v of %d bytes, got room for %d: %w", id, x.Desc, x.Bytes(), size, core.ErrShape)
	}
	return nil
}

// fresh returns an error if outs cannot be created. The caller holds mu.
func (d *device) fresh(outs ...op.Desc) error {
	for i, o := range outs {
		switch {
		case o.ID.Generation() != d.generation:
			return fmt.Errorf("%v of generation %d, the device is of generation %d: %w", o.ID, o.ID.Generation(), d.generation, core.ErrStale)
		case o.ID.Sequence() == 0:
			return fmt.Errorf("tensor id 0: %w", core.ErrUnknownTensor)
		}
		if _, twice := d.tensors[o.ID]; twice {
			return fmt.Errorf("%v is defined twice: %w", o.ID, core.ErrProtocol)
		}
		for _, e := range outs[:i] {
			if o.ID == e.ID {
				return fmt.Errorf("%v is defined twice by one command: %w", o.ID, core.ErrProtocol)
			}
		}
	}
	return nil
}

// make records tensors that were created or, with an error, tensors that could not be created. The caller holds mu.
func (d *device) make(outs []op.Desc, err error) {
	for _, o := range outs {
		if err == nil || d.fresh(o) == nil {
			d.tensors[o.ID] = tensor{Desc: o, err: err, absent: err != nil}
		}
	}
}

// made is like make, for callers that do not hold mu.
func (d *device) made(outs []op.Desc, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.make(outs, err)
}

// remove removes tensors. It returns the ids of the tensors that the backend knows, in the memory of ids, and calls unknown with an error
// for each other tensor. The caller holds mu.
func (d *device) remove(ids []tensorID, unknown func(error)) []tensorID {
	there := ids[:0]
	for _, id := range ids {
		x, err := d.lookup(id)
		if err != nil {
			unknown(err)
			continue
		}
		delete(d.tensors, id)
		if !x.absent {
			there = append(there, id)
		}
	}
	return there
}
