package client

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// CopyFrom implements core.PeerCopy.
func (d *device) CopyFrom(cs core.Stream, desc op.Desc, from core.Device, id op.TensorID) error {
	s, err := d.stream(cs)
	if err != nil {
		return err
	}
	src, ok := from.(*device)
	if !ok || src.b != d.b {
		return fmt.Errorf("plugin %s: copy from a device of another backend: %w", d.b.proc.name, core.ErrUnsupported)
	}
	if err := s.current([]op.TensorID{desc.ID, id}); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.enc.Copy(desc, src.handle, id)
	return s.added()
}

// group is the membership of a device in a group of ranks.
type group struct {
	d      *device
	number uint64
	size   int
	uses   uint64
	last   *stream // stream of the last command
	closed bool
}

// Join implements core.Collectives.
func (d *device) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	if size < 1 || rank < 0 || rank >= size || len(key) > wire.MaxText {
		return nil, fmt.Errorf("plugin %s: join: rank %d of %d, with a key of %d bytes: %w", d.b.proc.name, rank, size, len(key), core.ErrAttr)
	}
	if err := d.gone(); err != nil {
		return nil, err
	}
	g := &group{d: d, number: d.number(), size: size}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.b.ctx, func() { cancel(core.ErrClosed) })()
	answer, err := d.b.caller.Join(ctx, &wire.Join{Handle: d.handle, Group: g.number, Key: key, Rank: rank, Size: size})
	if err != nil {
		return nil, d.callError(ctx, err)
	}
	if answer != nil {
		return nil, answer
	}
	return g, nil
}

// begin locks the stream for a command of the group, and orders the command after the earlier commands of the group.
func (g *group) begin(cs core.Stream, in op.TensorID, out op.Desc) (*stream, error) {
	s, err := g.d.stream(cs)
	if err != nil {
		return nil, err
	}
	if g.closed {
		return nil, fmt.Errorf("plugin %s: group: %w", g.d.b.proc.name, core.ErrClosed)
	}
	if err := s.current([]op.TensorID{in, out.ID}); err != nil {
		return nil, err
	}
	if g.last != nil && g.last != s {
		if err := s.Wait(g.last.Signal()); err != nil && g.last.refused() == nil {
			return nil, err
		}
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	g.last = s
	g.uses++
	return s, nil
}

// AllReduce implements core.Group.
func (g *group) AllReduce(cs core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	if by > core.ReduceMin {
		return fmt.Errorf("plugin %s: reduction %d: %w", g.d.b.proc.name, by, core.ErrAttr)
	}
	s, err := g.begin(cs, in, out)
	if err != nil {
		return err
	}
	s.enc.AllReduce(g.number, by, in, out)
	return s.added()
}

// AllGather implements core.Group.
func (g *group) AllGather(cs core.Stream, in op.TensorID, out op.Desc) error {
	s, err := g.begin(cs, in, out)
	if err != nil {
		return err
	}
	s.enc.AllGather(g.number, in, out)
	return s.added()
}

// Broadcast implements core.Group.
func (g *group) Broadcast(cs core.Stream, root int, in op.TensorID, out op.Desc) error {
	if root < 0 || root >= g.size {
		return fmt.Errorf("plugin %s: broadcast from rank %d of %d: %w", g.d.b.proc.name, root, g.size, core.ErrAttr)
	}
	s, err := g.begin(cs, in, out)
	if err != nil {
		return err
	}
	s.enc.Broadcast(g.number, root, in, out)
	return s.added()
}

// Close implements core.Group. It sends the number of commands to the plugin, because some may not have arrived yet.
func (g *group) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	if err := g.d.gone(); err != nil {
		return err
	}
	ctx, cancel := g.d.call()
	defer cancel()
	answer, err := g.d.b.caller.Leave(ctx, g.d.handle, g.number, g.uses)
	if err != nil {
		return g.d.callError(ctx, err)
	}
	return answer
}
