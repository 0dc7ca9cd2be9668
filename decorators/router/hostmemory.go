package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/lane"
)

// hostMemory implements core.HostMemory with the extension of the member that has the tensor.
type hostMemory struct{ d *device }

// Adopt implements core.HostMemory.
func (h hostMemory) Adopt(cs core.Stream, desc op.Desc, data []byte, release func()) error {
	s, err := h.d.own("adopt", cs)
	if err != nil {
		return err
	}
	return s.write(desc, func(l *lane.Lane, own op.Desc) error {
		if l.Device.Host == nil {
			return fmt.Errorf("router: adopt on %s: %w", l.Device.Spec, core.ErrUnsupported)
		}
		return l.Adopt(own, data, release)
	})
}

// pinning implements core.Pinning with the members that have it.
type pinning []core.Pinning

func (d *device) pinning() (all pinning) {
	for _, m := range d.members {
		if p, ok := core.Extension[core.Pinning](m.Device.Device); ok && m.Gone() == nil {
			all = append(all, p)
		}
	}
	return all
}

// Pin implements core.Pinning. It fails only if no member can register the memory; if some cannot, transfers with them are
// slower.
func (ps pinning) Pin(data []byte) (unpin func(), err error) {
	var pinned []func()
	for _, p := range ps {
		u, failed := p.Pin(data)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		pinned = append(pinned, u)
	}
	if len(pinned) == 0 {
		return nil, err
	}
	return func() {
		for _, u := range pinned {
			u()
		}
	}, nil
}

// View implements core.HostMemory. It waits until earlier commands have been passed to the member.
func (h hostMemory) View(ctx context.Context, cs core.Stream, id op.TensorID, use func(data []byte) error) error {
	s, err := h.d.own("view", cs)
	if err != nil {
		return err
	}
	l, own := s.lanes[0], op.TensorID(0)
	if err := s.command(func(*change) error {
		t := h.d.tensors[id]
		if t == nil {
			own = h.d.unknown(id)
			return nil
		}
		c := t.source()
		l, own = s.lane(c.m), c.id
		s.behind(l, c)
		return nil
	}); err != nil {
		return err
	}
	return l.View(ctx, own, use)
}
