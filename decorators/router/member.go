package router

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/internal/lane"
)

// member is one of the devices that a router's device is made of.
type member struct {
	lane.Device
	index     int
	place     *core.Place
	caps      *core.Capabilities
	target    program.Target
	selective bool
	identity  string        // identifies what its times depend on: the device, the driver and the version of the plugin
	programs  core.Programs // nil if the device lacks this extension

	nodes, runs, fallbacks atomic.Int64
	busy                   atomic.Int64 // in nanoseconds, in profiles
}

// maxMemory is assumed for devices that do not report their memory.
const maxMemory = 1 << 38

func openMember(ctx context.Context, index int, p *core.Place) (*member, error) {
	dev, err := p.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("router: open %s: %w", p.Spec, err)
	}
	m := &member{Device: lane.Device{Device: dev, Spec: p.Spec}, index: index, place: p, caps: dev.Capabilities()}
	m.target = core.TargetOf(p.Backend.Info().Name, dev)
	i := p.Backend.Info()
	m.Memory, m.identity = maxMemory, i.Name+" "+i.Version
	if p.Index < len(i.Devices) {
		x := i.Devices[p.Index]
		m.identity += ", " + x.Name + ", " + x.Detail + ", " + p.Transport
		if x.Memory > 0 {
			m.Memory = x.Memory
		}
	}
	_, m.selective = core.Extension[core.Selective](dev)
	m.programs, _ = core.Extension[core.Programs](dev)
	m.Host, _ = core.Extension[core.HostMemory](dev)
	m.Peers, _ = core.Extension[core.PeerCopy](dev)
	return m, nil
}

// newID returns an id of the member for tensor id of the router. The router uses the ids of the first member, so that the first
// member answers for unknown and stale ids.
func (m *member) newID(id op.TensorID) op.TensorID {
	if m.index == 0 {
		return id
	}
	return m.NewIDs(1)
}
