package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// member is one of the devices that a router's device is made of.
type member struct {
	index     int
	place     *core.Place
	spec      string
	dev       core.Device
	caps      *core.Capabilities
	target    program.Target
	selective bool
	identity  string          // identifies the device, driver and version of the plugin, on which its times depend
	memory    int64           // no tensor has more bytes
	programs  core.Programs   // nil: none
	host      core.HostMemory // nil: none
	peers     core.PeerCopy   // nil: none

	lost                   atomic.Pointer[error]
	nodes, runs, fallbacks atomic.Int64
	busy                   atomic.Int64 // nanoseconds, while it was recorded

	mu      sync.Mutex
	spoiled map[op.TensorID]error // tensors that should be there and are not, with why: the member knows nothing of them
	rotten  atomic.Int32          // their number
}

// mostMemory is taken for the memory of devices that do not tell theirs.
const mostMemory = 1 << 38

func openMember(ctx context.Context, index int, p *core.Place) (*member, error) {
	dev, err := p.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("router: open %s: %w", p.Spec, err)
	}
	m := &member{index: index, place: p, spec: p.Spec, dev: dev, caps: dev.Capabilities(), spoiled: map[op.TensorID]error{}}
	m.target = core.TargetOf(p.Backend.Info().Name, dev)
	i := p.Backend.Info()
	m.memory, m.identity = mostMemory, i.Name+" "+i.Version
	if p.Index < len(i.Devices) {
		x := i.Devices[p.Index]
		m.identity += ", " + x.Name + ", " + x.Detail + ", " + p.Transport
		if x.Memory > 0 {
			m.memory = x.Memory
		}
	}
	_, m.selective = core.Extension[core.Selective](dev)
	m.programs, _ = core.Extension[core.Programs](dev)
	m.host, _ = core.Extension[core.HostMemory](dev)
	m.peers, _ = core.Extension[core.PeerCopy](dev)
	return m, nil
}

// newID returns an id of the member for tensor id of the router. The router uses the ids of the first member, so that the first
// member answers for unknown and stale ids.
func (m *member) newID(id op.TensorID) op.TensorID {
	if m.index == 0 {
		return id
	}
	return m.dev.NewIDs(1)
}

// note records that the member is lost if err says so, and returns err.
func (m *member) note(err error) error {
	if err != nil && m.lost.Load() == nil && errors.Is(err, core.ErrBackendLost) {
		m.lost.CompareAndSwap(nil, &err)
	}
	return err
}

// gone returns why the member is lost, or nil.
func (m *member) gone() error {
	if e := m.lost.Load(); e != nil {
		return *e
	}
	return nil
}

// spoil records that a tensor will be missing.
func (m *member) spoil(id op.TensorID, err error) {
	m.mu.Lock()
	m.spoiled[id] = err
	m.rotten.Store(int32(len(m.spoiled)))
	m.mu.Unlock()
}

// bad returns why one of the tensors is missing, or nil.
func (m *member) bad(ids ...op.TensorID) error {
	if m.rotten.Load() == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if err := m.spoiled[id]; err != nil {
			return err
		}
	}
	return nil
}

// forget removes those of ids that are spoiled, and returns the others, which the member has.
func (m *member) forget(ids []op.TensorID) []op.TensorID {
	if m.rotten.Load() == 0 {
		return ids
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var there []op.TensorID
	for _, id := range ids {
		if m.spoiled[id] == nil {
			there = append(there, id)
		}
		delete(m.spoiled, id)
	}
	m.rotten.Store(int32(len(m.spoiled)))
	return there
}
