package autodiff

import (
	"context"
	"fmt"
	"maps"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

// device records the commands for the device below it on a tape.
type device struct {
	*tape
	caps      *core.Capabilities
	added     []bool // by op: this device claims more than the device below does
	adds      bool   // added contains true
	selective bool   // the device below is core.Selective
}

var (
	_ core.Device    = (*device)(nil)
	_ core.Gradients = (*device)(nil)
	_ core.Selective = (*device)(nil)
)

func newDevice(inner core.Device, name string, c config) *device {
	d := &device{tape: &tape{below: inner, target: core.TargetOf(name, inner), checkpoint: c.checkpoint,
		values: map[op.TensorID]*value{}, programs: map[core.ProgramID]*recorded{}}}
	d.tape.nextID = d.tape.next
	d.gradients, _ = core.Extension[core.Gradients](inner)
	_, d.selective = core.Extension[core.Selective](inner)
	d.claim()
	return d
}

// claim sets the capabilities: it copies the capabilities of the device below, and adds the composite ops that have a gradient rule. The
// rule is better than the gradient of the decomposition. If the device below does not support such an op, the tape decomposes it, and
// Supports checks that the device supports the parts.
func (d *device) claim() {
	caps := *d.below.Capabilities()
	caps.Ops = maps.Clone(caps.Ops)
	d.added = make([]bool, len(op.All())+1)
	for _, c := range gradient.Ops() {
		row := op.Lookup(c)
		if row.Class != op.Composite || !op.HasDecomposition(c) {
			continue
		}
		first := caps.Types
		if len(row.Operands) > 0 {
			first &= row.Operands[0].Types
		}
		full := core.Claim(row, first)
		if has, ok := caps.Ops[row.Name]; !ok || !covers(has, full, caps.Types) {
			caps.Ops[row.Name] = full
			d.added[c] = true
			d.adds = true
		}
	}
	d.caps = &caps
}

// covers reports whether capability has allows everything that full allows for tensors of the given types.
func covers(has, full core.OpCapability, types dtype.Set) bool {
	at := func(sets []dtype.Set, i int) dtype.Set {
		if len(sets) == 0 {
			return types
		}
		return sets[min(i, len(sets)-1)] & types
	}
	for i := range max(len(full.Operands), len(has.Operands)) {
		if at(full.Operands, i)&^at(has.Operands, i) != 0 {
			return false
		}
	}
	for i := range has.Results {
		if at(full.Results, i)&^at(has.Results, i) != 0 {
			return false
		}
	}
	return has.Version == full.Version && has.Limits == core.Limits{}
}

// Supports returns the answer of the device below. If the tape decomposes the op, it asks about the parts.
func (d *device) Supports(n *op.Node, in []op.Desc) error {
	if int(n.Op) >= len(d.added) || !d.added[n.Op] {
		if d.selective {
			return d.target.Supports(n, in)
		}
		return nil
	}
	if d.target.Lowers(n, in, d.next) == nil {
		return nil
	}
	return d.target.Supports(n, in)
}

// Capabilities implements core.Device.
func (d *device) Capabilities() *core.Capabilities { return d.caps }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID { return d.below.NewIDs(n) }

// OpenStream opens a stream of the device below and returns a stream that records its commands on the tape.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	inner, err := d.below.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return &stream{tape: d.tape, queue: d.enter(inner), inner: inner}, nil
}

// Extend implements core.Device: see Wrap.
func (d *device) Extend(target any) bool {
	switch t := target.(type) {
	case *core.Gradients:
		*t = d
	case *core.Selective:
		if !d.adds && !d.selective {
			return false
		}
		*t = d
	case *core.Programs:
		return core.WrapExtension(d.below, t, func(x core.Programs) core.Programs { return programs{d.tape, x} })
	case *core.HostMemory:
		return core.WrapExtension(d.below, t, func(x core.HostMemory) core.HostMemory { return hostMemory{d.tape, x} })
	case *core.PeerCopy:
		return core.WrapExtension(d.below, t, func(x core.PeerCopy) core.PeerCopy { return peers{d.tape, x} })
	case *core.Collectives:
		return core.WrapExtension(d.below, t, func(x core.Collectives) core.Collectives { return collectives{d.tape, x} })
	case *core.MemoryStats, *core.Pinning, *core.Profiling:
		return d.below.Extend(target)
	default:
		return false
	}
	return true
}

// Close forgets the tape and closes the device below.
func (d *device) Close() error {
	d.mu.Lock()
	d.values, d.programs, d.evictable, d.dead = map[op.TensorID]*value{}, map[core.ProgramID]*recorded{}, nil, nil
	d.mu.Unlock()
	return d.below.Close()
}

// own returns s as a stream of the tape's device.
func (t *tape) own(what string, s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if !ok || own.tape != t {
		return nil, fmt.Errorf("autodiff: %s: a stream of another device: %w", what, core.ErrAttr)
	}
	return own, nil
}
