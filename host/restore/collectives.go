package restore

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// collectives is core.Collectives of a device. A group ends with the process, because the other ranks have progressed.
type collectives struct{ d *device }

// group is a core.Group on one process.
type group struct {
	d     *device
	inner core.Group
	epoch int
}

// Join implements core.Collectives.
func (x collectives) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	b := x.d.b
	b.world.RLock()
	epoch, down, err := b.state()
	ext := x.d.ext.collectives
	b.world.RUnlock()
	if err == nil && down {
		if err = b.recover(ctx); err == nil {
			return x.Join(ctx, key, rank, size)
		}
	}
	if err != nil {
		return nil, err
	}
	inner, err := ext.Join(ctx, key, rank, size)
	if b.isLost(epoch, err) {
		b.lose(epoch, err)
	}
	if err != nil {
		return nil, err
	}
	return &group{x.d, inner, epoch}, nil
}

// take sends a command of the group. The results of the command cannot be recomputed.
func (g *group) take(cs core.Stream, what string, in op.TensorID, out op.Desc, call func(on core.Stream) error) error {
	s, err := g.d.stream(cs)
	if err != nil {
		return err
	}
	out.Shape = out.Shape.Clone()
	ended := func() error {
		return fmt.Errorf("restore: %s: the group ended with the process: %w", what, core.ErrBackendLost)
	}
	if epoch, down, _ := g.d.b.state(); down || epoch != g.epoch {
		return ended()
	}
	err = s.one(&entry{s: s, what: what, ins: []tensorID{in}, outs: []op.Desc{out}}, nil, func() error {
		if epoch, _, _ := g.d.b.state(); epoch != g.epoch {
			return ended()
		}
		return call(s.inner)
	})
	return err
}

// AllReduce implements core.Group.
func (g *group) AllReduce(s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.take(s, "all_reduce", in, out, func(on core.Stream) error { return g.inner.AllReduce(on, by, in, out) })
}

// AllGather implements core.Group.
func (g *group) AllGather(s core.Stream, in op.TensorID, out op.Desc) error {
	return g.take(s, "all_gather", in, out, func(on core.Stream) error { return g.inner.AllGather(on, in, out) })
}

// Broadcast implements core.Group.
func (g *group) Broadcast(s core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.take(s, "broadcast", in, out, func(on core.Stream) error { return g.inner.Broadcast(on, root, in, out) })
}

// Close implements core.Group.
func (g *group) Close() error { return g.inner.Close() }
