package autodiff

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// hostMemory implements core.HostMemory. Adopted tensors are constants: no gradient reaches them.
type hostMemory struct {
	t     *tape
	inner core.HostMemory
}

// Adopt implements core.HostMemory.
func (h hostMemory) Adopt(cs core.Stream, d op.Desc, data []byte, release func()) error {
	return h.t.constant("adopt", cs, d, func(s core.Stream) error { return h.inner.Adopt(s, d, data, release) })
}

// View implements core.HostMemory. Other calls may use the stream while use runs.
func (h hostMemory) View(ctx context.Context, cs core.Stream, id op.TensorID, use func([]byte) error) error {
	s, err := h.t.own("view", cs)
	if err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return h.inner.View(ctx, s.inner, id, func(data []byte) error {
		s.queue.mu.Unlock()
		defer s.queue.mu.Lock()
		return use(data)
	})
}

// peers implements core.PeerCopy. Copies are constants.
type peers struct {
	t     *tape
	inner core.PeerCopy
}

// CopyFrom implements core.PeerCopy. The source may be wrapped too.
func (p peers) CopyFrom(cs core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
	if w, ok := src.(*device); ok {
		src = w.below
	}
	return p.t.constant("copy", cs, d, func(s core.Stream) error { return p.inner.CopyFrom(s, d, src, id) })
}

// constant calls command, which creates tensor d, with the stream below, and records d as a constant.
func (t *tape) constant(what string, cs core.Stream, d op.Desc, command func(s core.Stream) error) error {
	s, err := t.own(what, cs)
	if err != nil {
		return err
	}
	s.queue.mu.Lock()
	err = command(s.inner)
	s.queue.mu.Unlock()
	if err == nil {
		t.mu.Lock()
		t.note(d)
		t.mu.Unlock()
	}
	return err
}

// collectives implements core.Collectives. Results are constants.
type collectives struct {
	t     *tape
	inner core.Collectives
}

// Join implements core.Collectives.
func (c collectives) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	g, err := c.inner.Join(ctx, key, rank, size)
	if err != nil {
		return nil, err
	}
	return group{g, c.t}, nil
}

// group is one rank of a group of collectives. Its commands create constants. On a stream that is not from Untracked it refuses tracked
// operands, because their gradients would silently be zero.
type group struct {
	core.Group
	t *tape
}

func (g group) constant(what string, cs core.Stream, in op.TensorID, out op.Desc, command func(s core.Stream) error) error {
	s, err := g.t.own(what, cs)
	if err != nil {
		return err
	}
	if !s.mute && g.t.tracks(in) {
		return fmt.Errorf("autodiff: %s of tracked %v: it has no gradient; use the stream that Untracked returns: %w", what, in, core.ErrUnsupported)
	}
	return g.t.constant(what, cs, out, command)
}

// AllReduce implements core.Group.
func (g group) AllReduce(cs core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.constant("all_reduce", cs, in, out, func(s core.Stream) error { return g.Group.AllReduce(s, by, in, out) })
}

// AllGather implements core.Group.
func (g group) AllGather(cs core.Stream, in op.TensorID, out op.Desc) error {
	return g.constant("all_gather", cs, in, out, func(s core.Stream) error { return g.Group.AllGather(s, in, out) })
}

// Broadcast implements core.Group.
func (g group) Broadcast(cs core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.constant("broadcast", cs, in, out, func(s core.Stream) error { return g.Group.Broadcast(s, root, in, out) })
}
