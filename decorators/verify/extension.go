package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/order"
)

// hostMemory implements core.HostMemory, and checks adopted and viewed tensors like others.
type hostMemory struct {
	d     *device
	inner core.HostMemory
}

// lent is host memory that was lent to the backend.
type lent struct {
	id    op.TensorID
	cmd   order.Command
	calls atomic.Int32 // number of calls of release
}

// Adopt implements core.HostMemory.
func (h hostMemory) Adopt(cs core.Stream, d op.Desc, data []byte, release func()) error {
	s, err := h.d.own("adopt", cs)
	if err != nil {
		return err
	}
	l := &lent{id: d.ID}
	return s.perform("adopt", func(x *change) {
		l.cmd = x.cmd
		x.data(d, data)
	}, func(x *change) error {
		h.d.mu.Lock()
		h.d.lent[l] = struct{}{}
		h.d.mu.Unlock()
		err := h.inner.Adopt(s.inner, d, data, func() { h.release(l, release) })
		if err == nil {
			return nil
		}
		h.d.mu.Lock()
		delete(h.d.lent, l)
		h.d.mu.Unlock()
		if l.calls.Load() > 0 {
			return h.d.blame(x.cmd.String(), d.ID, err, "release of %v was called, and Adopt returned an error", d.ID)
		}
		return err
	})
}

func (h hostMemory) release(l *lent, release func()) {
	if n := l.calls.Add(1); n > 1 {
		_ = h.d.blame(l.cmd.String(), l.id, nil, "release of %v was called, got call %d, want one", l.id, n)
		return
	}
	h.d.mu.Lock()
	delete(h.d.lent, l)
	h.d.mu.Unlock()
	release()
}

// View implements core.HostMemory. The stream is free for other calls while use runs.
func (h hostMemory) View(ctx context.Context, cs core.Stream, id op.TensorID, use func([]byte) error) error {
	s, err := h.d.own("view", cs)
	if err != nil {
		return err
	}
	done, err := s.acquire("view")
	if err != nil {
		return err
	}
	done = sync.OnceFunc(done)
	defer done()
	var desc op.Desc
	var after order.Clock
	x, err := s.check("view", func(x *change) {
		if t := x.use(id, "viewed"); t != nil {
			desc = t.desc
		}
		after = slices.Clone(s.order.Clock)
	})
	if err != nil {
		return err
	}
	calls, size := 0, 0
	var used error
	err = h.inner.View(ctx, s.inner, id, func(data []byte) error {
		calls++
		if size = len(data); calls > 1 || size != desc.Bytes() && !s.passOn {
			return nil
		}
		s.saw(after)
		done()
		used = use(data)
		return used
	})
	s.settle(x, nil)
	switch {
	case used != nil && errors.Is(err, used):
		return err
	case err == nil && calls != 1:
		return s.blame(x.cmd.String(), id, nil, "View of %v called its function %d times, want once", id, calls)
	case err == nil && size != desc.Bytes():
		return s.blame(x.cmd.String(), id, nil, "View of %v %v gave %d bytes, want %d", id, desc, size, desc.Bytes())
	}
	return s.checkRead(x.cmd.String(), id, s.answer(x.cmd.String(), err))
}

// peers is core.PeerCopy.
type peers struct {
	d     *device
	inner core.PeerCopy
}

// CopyFrom implements core.PeerCopy.
func (p peers) CopyFrom(cs core.Stream, d op.Desc, from core.Device, id op.TensorID) error {
	s, err := p.d.own("copy from", cs)
	if err != nil {
		return err
	}
	src, ok := from.(*device)
	if !ok || src.world != p.d.world {
		return fmt.Errorf("verify: copy from a device of another backend: %w", core.ErrUnsupported)
	}
	return s.perform("copy from", func(x *change) {
		nonFinite := false
		if t := x.useOf(&src.table, id, "copied"); t != nil {
			x.same("copied", id, t, d)
			nonFinite = t.nonFinite
		}
		x.define(d, nonFinite)
	}, func(*change) error { return p.inner.CopyFrom(s.inner, d, src.inner, id) })
}

// same checks that a result has the type and shape of its operand.
func (x *change) same(does string, id op.TensorID, t *tensor, out op.Desc) {
	if !t.desc.SameType(out) {
		x.fault(Invalid, id, &t.made, fmt.Errorf("%v %v is %s, got the output %v %v, want one of its type: %w", id, t.desc, does, out.ID, out, core.ErrShape))
	}
}

// collectives is core.Collectives.
type collectives struct {
	d     *device
	inner core.Collectives
}

// Join implements core.Collectives.
func (c collectives) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	g, err := c.inner.Join(ctx, key, rank, size)
	if err != nil {
		return nil, c.d.answer("join", err)
	}
	return &group{d: c.d, inner: g, size: size}, nil
}

// group is a rank of a group.
type group struct {
	d     *device
	inner core.Group
	size  int
}

// take checks a command that creates out from tensor in. fits performs further checks.
func (g *group) take(what string, cs core.Stream, in op.TensorID, out op.Desc, fits func(x *change, t *tensor), pass func(s core.Stream) error) error {
	s, err := g.d.own(what, cs)
	if err != nil {
		return err
	}
	return s.perform(what, func(x *change) {
		if t := x.use(in, "combined"); t != nil {
			fits(x, t)
		}
		x.define(out, s.notFinite)
	}, func(*change) error { return pass(s.inner) })
}

// AllReduce implements core.Group.
func (g *group) AllReduce(cs core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.take("all_reduce", cs, in, out, func(x *change, t *tensor) { x.same("combined", in, t, out) },
		func(s core.Stream) error { return g.inner.AllReduce(s, by, in, out) })
}

// AllGather implements core.Group.
func (g *group) AllGather(cs core.Stream, in op.TensorID, out op.Desc) error {
	return g.take("all_gather", cs, in, out, func(x *change, t *tensor) {
		want := t.desc
		want.Shape = want.Shape.Clone()
		if len(want.Shape) > 0 {
			want.Shape[0] *= g.size
		}
		if len(want.Shape) == 0 || !want.SameType(out) {
			x.fault(Invalid, in, &t.made, fmt.Errorf("%d ranks give %v like %v, got the output %v %v: %w", g.size, t.desc, in, out.ID, out, core.ErrShape))
		}
	}, func(s core.Stream) error { return g.inner.AllGather(s, in, out) })
}

// Broadcast implements core.Group.
func (g *group) Broadcast(cs core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.take("broadcast", cs, in, out, func(x *change, t *tensor) {
		if root < 0 || root >= g.size {
			x.fault(Invalid, in, nil, fmt.Errorf("rank %d gives, want one of %d: %w", root, g.size, core.ErrAttr))
		}
		x.same("broadcast", in, t, out)
	}, func(s core.Stream) error { return g.inner.Broadcast(s, root, in, out) })
}

// Close implements core.Group.
func (g *group) Close() error { return g.d.answer("leave", g.inner.Close()) }
