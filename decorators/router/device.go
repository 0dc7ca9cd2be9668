package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/claims"
	"github.com/goburn/burn/decorators/internal/costs"
	"github.com/goburn/burn/decorators/internal/lane"
)

// device joins the devices of all members.
type device struct {
	router   *Router
	members  []*member
	links    [][]link // by member: from, to
	caps     *core.Capabilities
	claims   *claims.Set
	unusedID op.TensorID // an id that no tensor ever has
	costs    *costs.Table

	owning    sync.Mutex // held while ownStream is used
	ownStream *stream    // internal stream of the router; nil until it is needed

	mu sync.Mutex // guards the following fields; never held while commands are passed to members
	table
	fallbacks  []Fallback // to be reported after mu is unlocked
	programs   map[core.ProgramID]*defined
	decisions  map[string]*decision // by structure of programs
	lastID     core.ProgramID
	streams    map[*queue]struct{}
	closed     bool
	begun      []time.Time    // by member, when a recording began; nil without one
	background sync.WaitGroup // goroutines of the router; none is added once the device is closed
}

var (
	_ core.Device      = (*device)(nil)
	_ core.Selective   = (*device)(nil)
	_ core.MemoryStats = (*device)(nil)
)

func open(ctx context.Context, r *Router) (*device, error) {
	d := &device{router: r, costs: costs.NewTable(), programs: map[core.ProgramID]*defined{}, decisions: map[string]*decision{},
		streams: map[*queue]struct{}{}, table: table{tensors: map[op.TensorID]*tensor{}, kept: map[op.TensorID]*tensor{}}}
	for i, p := range r.places {
		m, err := openMember(ctx, i, p)
		if err != nil {
			for _, m := range d.members {
				err = errors.Join(err, m.Device.Close())
			}
			return nil, err
		}
		if r.planted != nil {
			m.identity = fmt.Sprint(i)
		}
		d.members = append(d.members, m)
	}
	d.links = make([][]link, len(d.members))
	for i, from := range d.members {
		d.links[i] = make([]link, len(d.members))
		for k, to := range d.members {
			d.links[i][k].peer = to.Peers != nil && from.Peers != nil && same(from.place.Backend, to.place.Backend)
		}
	}
	var each []claims.Device
	for _, m := range d.members {
		each = append(each, claims.Device{Target: m.target, Caps: m.caps, Selective: m.selective})
	}
	d.claims, d.unusedID = claims.New(each...), d.members[0].NewIDs(1)
	d.caps = d.members[0].caps
	if !d.claims.Uniform() && !r.strict {
		d.caps = d.claims.Union()
	}
	if r.file != "" {
		d.fault(d.costs.Load(r.file))
	}
	return d, nil
}

// Capabilities implements core.Device.
func (d *device) Capabilities() *core.Capabilities { return d.caps }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID { return d.members[0].NewIDs(n) }

// Extend implements core.Device. The device has Programs, MemoryStats and HostMemory. It has Selective if no document can describe the
// claims of all members, Pinning if any member has it, and Profiling if all have it.
func (d *device) Extend(target any) bool {
	switch t := target.(type) {
	case *core.Selective:
		if d.claims.Uniform() || d.router.strict && !d.members[0].selective {
			return false
		}
		*t = d
	case *core.MemoryStats:
		*t = d
	case *core.HostMemory:
		*t = hostMemory{d}
	case *core.Programs:
		*t = programs{d}
	case *core.Pinning:
		x := d.pinning()
		*t = x
		return len(x) > 0
	case *core.Profiling:
		ms, _ := d.profiled()
		*t = profiling{d}
		return len(ms) > 0
	default:
		return false
	}
	return true
}

// Memory implements core.MemoryStats: the sum over the members that report it. A tensor counts once for each copy.
func (d *device) Memory() core.Memory {
	var sum core.Memory
	for _, m := range d.members {
		if stats, ok := core.Extension[core.MemoryStats](m.Device.Device); ok && m.Gone() == nil {
			x := stats.Memory()
			sum.InUse += x.InUse
			sum.Reserved += x.Reserved
			sum.Tensors += x.Tensors
		}
	}
	return sum
}

// OpenStream opens a stream on every member. On a lost member, the stream returns the loss.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	q := &queue{dev: d}
	for _, m := range d.members {
		inner, err := m.Device.OpenStream(ctx)
		if m.Note(err) != nil && m.Gone() != nil && d.someLive() {
			inner, err = lane.Lost(err), nil
		}
		if err != nil {
			return nil, errors.Join(err, q.close())
		}
		q.lanes = append(q.lanes, lane.New(&m.Device, inner, d.router.held, d.translation(m)))
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.streams[q] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		return nil, errors.Join(fmt.Errorf("router: device: %w", core.ErrClosed), q.close())
	}
	return &stream{q, anywhere}, nil
}

func (d *device) someLive() bool {
	for _, m := range d.members {
		if m.Gone() == nil {
			return true
		}
	}
	return false
}

// end closes all streams and reports whether the device was open.
func (d *device) end() bool {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return false
	}
	d.closed = true
	open := d.streams
	d.streams = nil
	d.mu.Unlock()
	for q := range open {
		_ = q.close() // the device is being closed
	}
	d.background.Wait()
	return true
}

// spawn calls do in a new goroutine, unless the device is closed. The caller holds mu.
func (d *device) spawn(do func()) {
	if !d.closed {
		d.background.Go(do)
	}
}

// Close implements core.Device.
func (d *device) Close() error {
	if !d.end() {
		return fmt.Errorf("router: device: %w", core.ErrClosed)
	}
	d.router.mu.Lock()
	delete(d.router.devices, d)
	d.router.mu.Unlock()
	var err error
	for _, m := range d.members {
		err = errors.Join(err, lane.IgnoreLost(m.Device.Close()))
	}
	return err
}

// own returns s as a stream of the device.
func (d *device) own(what string, s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if !ok || own.dev != d {
		return nil, fmt.Errorf("router: %s: a stream of another device: %w", what, core.ErrAttr)
	}
	return own, nil
}

// unlock unlocks mu and then reports the fallbacks that were found meanwhile.
func (d *device) unlock() {
	report := d.fallbacks
	d.fallbacks = nil
	d.mu.Unlock()
	for _, f := range report {
		d.router.onFallback(f)
	}
}
