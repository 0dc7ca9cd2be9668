package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// device is a device of the plugin.
type device struct {
	b      *Backend
	handle uint64
	ids    *core.IDs
	caps   *core.Capabilities
	has    wire.Extensions
	closed atomic.Bool

	mu       sync.Mutex // guards the fields below
	streams  map[*stream]struct{}
	programs map[core.ProgramID]*defined
	last     uint64 // number of the last program or group

	answers answers
	loans   loans
	used    atomic.Pointer[core.Memory] // last known memory use
}

var _ core.Device = (*device)(nil)

// Open implements core.Backend.
func (b *Backend) Open(ctx context.Context, index int) (core.Device, error) {
	if err := b.gone(); err != nil {
		return nil, err
	}
	if index < 0 || index >= len(b.info.Devices) {
		return nil, fmt.Errorf("plugin %s: device %d of %d: %w", b.proc.name, index, len(b.info.Devices), core.ErrNotFound)
	}
	d := &device{b: b, handle: 1 + rand.Uint64N(1<<63), ids: core.NewIDs(b.ids), streams: map[*stream]struct{}{},
		programs: map[core.ProgramID]*defined{}}
	ctx, cancel := bounded(ctx, b.openTimeout, openSetting)
	defer cancel()
	w, err := b.caller.Open(ctx, &wire.Open{Handle: d.handle, Device: index, Generation: b.generation})
	if err != nil {
		return nil, b.callError(ctx, err)
	}
	if w.Err != nil {
		return nil, fmt.Errorf("plugin %s: %w", b.proc.name, w.Err)
	}
	d.caps, d.has = w.Capabilities, w.Extensions
	return d, nil
}

// call bounds a call that has no context.
func (d *device) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(d.b.ctx, wire.CallTimeout)
}

// Capabilities implements core.Device.
func (d *device) Capabilities() *core.Capabilities { return d.caps }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID { return d.ids.New(n) }

// Extend implements core.Device: the extensions of the plugin's device, and HostMemory, which is implemented here.
func (d *device) Extend(target any) bool {
	has := false
	switch t := target.(type) {
	case *core.Programs:
		if has = d.has.Programs; has {
			*t = d
		}
	case *core.MemoryStats:
		if has = d.has.Memory; has {
			*t = d
		}
	case *core.PeerCopy:
		if has = d.has.PeerCopy; has {
			*t = d
		}
	case *core.Collectives:
		if has = d.has.Collectives; has {
			*t = d
		}
	case *core.Selective:
		if has = d.has.Selective; has {
			*t = d
		}
	case *core.Profiling:
		if has = d.has.Profiling; has {
			*t = d
		}
	case *core.HostMemory:
		*t, has = d, true
	}
	return has
}

// gone returns the error of a device that is closed or lost, else nil.
func (d *device) gone() error {
	if d.closed.Load() {
		return fmt.Errorf("plugin %s: device: %w", d.b.proc.name, core.ErrClosed)
	}
	return d.b.gone()
}

// stream returns s as a stream of the device.
func (d *device) stream(s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if !ok || own.d != d {
		return nil, fmt.Errorf("plugin %s: a stream of another device: %w", d.b.proc.name, core.ErrAttr)
	}
	return own, nil
}

// Close implements core.Device.
func (d *device) Close() error {
	if d.closed.Swap(true) {
		return fmt.Errorf("plugin %s: device: %w", d.b.proc.name, core.ErrClosed)
	}
	d.mu.Lock()
	open := make([]*stream, 0, len(d.streams))
	for s := range d.streams {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
	if d.b.gone() != nil {
		return nil
	}
	ctx, cancel := d.call()
	defer cancel()
	answer, err := d.b.caller.Close(ctx, d.handle)
	if err != nil || errors.Is(answer, core.ErrClosed) { // the device is lost with the plugin
		return nil
	}
	return answer
}

// memoryWait bounds Memory, which has no context.
const memoryWait = time.Second

// Memory implements core.MemoryStats. If no answer arrives in time, Memory returns the last answer.
func (d *device) Memory() core.Memory {
	ctx, cancel := context.WithTimeout(d.b.ctx, memoryWait)
	defer cancel()
	if m, answer, err := d.b.caller.Memory(ctx, d.handle); answer == nil && err == nil {
		d.used.Store(&m)
	}
	if m := d.used.Load(); m != nil {
		return *m
	}
	return core.Memory{}
}

// Supports implements core.Selective. It sends each query to the plugin only once.
func (d *device) Supports(n *op.Node, in []op.Desc) error {
	if err := d.gone(); err != nil {
		return err
	}
	if err := wire.FitsQuery(n, len(in)); err != nil {
		return err
	}
	query := wire.AppendQuery(nil, n, in)
	if answer, ok := d.answers.get(query); ok {
		return answer
	}
	ctx, cancel := d.call()
	defer cancel()
	answer, err := d.b.caller.Supports(ctx, d.handle, query)
	if err != nil {
		return d.callError(ctx, err)
	}
	d.answers.put(query, answer)
	return answer
}

func (d *device) callError(ctx context.Context, err error) error {
	if e := d.gone(); e != nil {
		return e
	}
	return d.b.callError(ctx, err)
}

// answers caches the answers to Supports.
type answers struct {
	mu sync.Mutex
	m  map[string]error
}

const maxAnswers = 1 << 14

func (a *answers) get(query []byte) (answer error, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok = a.m[string(query)]
	return answer, ok
}

func (a *answers) put(query []byte, answer error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil || len(a.m) >= maxAnswers {
		a.m = map[string]error{}
	}
	a.m[string(query)] = answer
}
