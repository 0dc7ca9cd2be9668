package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// waiting replaces Stream.Wait. wait receives the event of the good stream.
type waiting struct {
	base
	wait func(s core.Stream, e core.Event) error
}

func (w waiting) Wait(e core.Event) error { return w.wait(w.Stream, goodEvent(e)) }

func onWait(f func(s core.Stream, e core.Event) error) tampered {
	return onStream(func(s core.Stream) core.Stream { return waiting{base{s}, f} })
}

// perStream returns a fault with a state of type T for each stream.
func perStream[T any](f func(s core.Stream, x *T) core.Stream) tampered {
	return onStream(func(s core.Stream) core.Stream { return f(s, new(T)) })
}

// selfish refuses to wait for its own events.
type selfish struct {
	base
	mine map[core.Event]bool
}

func (s selfish) Signal() core.Event {
	e := s.Stream.Signal()
	s.mine[e] = true
	return e
}

func (s selfish) Wait(e core.Event) error {
	if s.mine[e] {
		return core.ErrAttr
	}
	return s.Stream.Wait(e)
}

// contagious reports the failures of streams that it waits for.
type contagious struct {
	base
	caught error
}

func (c *contagious) Wait(e core.Event) error {
	c.caught = goodEvent(e).Wait(context.Background())
	return c.base.Wait(e)
}

func (c *contagious) Signal() core.Event {
	return answer{c.Stream.Signal(), func(ctx context.Context, good core.Ticket) error {
		if err := good.Wait(ctx); err != nil || c.caught == nil {
			return err
		}
		return c.caught
	}}
}

// A stream with faults in its order or in the errors of its events is caught.
func TestMutantEventsAreCaught(t *testing.T) {
	t.Parallel()
	var used sync.Map
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"wait does nothing", onWait(func(core.Stream, core.Event) error { return nil }), "events/order"},
		{"a stream ignores the event that it waits for", onWait(func(core.Stream, core.Event) error { return nil }), "ownership/free-elsewhere"},
		{"only one stream waits for an event", onWait(func(s core.Stream, e core.Event) error {
			if _, before := used.LoadOrStore(e, true); before {
				return nil
			}
			return s.Wait(e)
		}), "events/fan-out"},
		{"an event that was reached is refused", onWait(func(s core.Stream, e core.Event) error {
			if e.Wait(context.Background()) == nil {
				return core.ErrAttr
			}
			return s.Wait(e)
		}), "events/reached"},
		{"foreign events are accepted", onWait(func(s core.Stream, e core.Event) error { _ = s.Wait(e); return nil }), "events/foreign"},
		{"own events are refused", onStream(func(s core.Stream) core.Stream { return selfish{base{s}, map[core.Event]bool{}} }), "events/own"},
		{"failures pass to streams that wait", onStream(func(s core.Stream) core.Stream { return &contagious{base: base{s}} }), "events/failure-stays"},
		{"a failure is reported again", perStream(func(s core.Stream, last *atomic.Pointer[error]) core.Stream {
			return signaling{base{s}, func(ctx context.Context, good core.Ticket) error {
				if err := good.Wait(ctx); err != nil {
					last.Store(&err)
				}
				if p := last.Load(); p != nil {
					return *p
				}
				return nil
			}}
		}), "events/failure-once"},
		{"an event reports later failures", onStream(func(s core.Stream) core.Stream {
			return signaling{base{s}, func(ctx context.Context, _ core.Ticket) error { return core.Sync(ctx, s) }}
		}), "events/failure-place"},
		{"every waiter receives the failure", perStream(func(s core.Stream, told *sync.Map) core.Stream {
			return signaling{base{s}, func(ctx context.Context, good core.Ticket) error {
				err := good.Wait(ctx)
				if err != nil {
					told.Store(good, err)
				}
				if old, ok := told.Load(good); ok {
					return old.(error)
				}
				return err
			}}
		}), "events/failure-once"},
		{"an event can be waited for once", perStream(func(s core.Stream, seen *sync.Map) core.Stream {
			return signaling{base{s}, func(ctx context.Context, good core.Ticket) error {
				if _, before := seen.LoadOrStore(good, true); before {
					return core.ErrClosed
				}
				return good.Wait(ctx)
			}}
		}), "events/twice"},
		{"an event is lost if its wait is canceled", perStream(func(s core.Stream, seen *sync.Map) core.Stream {
			return signaling{base{s}, func(ctx context.Context, good core.Ticket) error {
				if _, before := seen.Load(good); before {
					return core.ErrCanceled
				}
				err := good.Wait(ctx)
				if errors.Is(err, core.ErrCanceled) {
					seen.Store(good, true)
				}
				return err
			}}
		}), "events/canceled"},
		{"events of a closed stream are never reached", hanging(onEvent(func(ctx context.Context, good core.Ticket) error {
			err := good.Wait(ctx)
			if errors.Is(err, core.ErrClosed) {
				select {}
			}
			return err
		})), "events/closed"},
		{"another node is named", onRead(renamed(func(e *core.NodeError) { e.Op = "neg" })), "blame/among"},
		{"other outputs are named", onRead(renamed(func(e *core.NodeError) { e.Outputs = nil })), "blame/node"},
		{"no node is named", onRead(renamed(func(e *core.NodeError) { e.Op, e.Outputs = "", nil })), "blame/node"},
		{"no program is named", onRead(renamed(func(e *core.NodeError) { e.Program = "" })), "blame/program"},
		{"another program is named", onRead(renamed(func(e *core.NodeError) { e.Program = "affine" })), "blame/programs"},
		{"a failure breaks the device", broken(), "refused/everywhere"},
		{"a list ends with a failure", onSubmit(func(n []op.Node, f []op.TensorID) ([]op.Node, []op.TensorID) {
			for i := range n {
				if n[i].Op == op.Gather {
					return n[:i+1], f
				}
			}
			return n, f
		}), "refused/within"},
		{"a list of frees ends with a failure", onSubmit(func(n []op.Node, f []op.TensorID) ([]op.Node, []op.TensorID) { return n, f[:min(2, len(f))] }), "refused/free"},
		{"versions are ignored", onSubmit(func(n []op.Node, f []op.TensorID) ([]op.Node, []op.TensorID) {
			for i := range n {
				n[i].Version = op.Lookup(n[i].Op).Version
			}
			return n, f
		}), "refused/version"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}

// renamed changes the node and program that failures name.
func renamed(change func(e *core.NodeError)) func(ctx context.Context, good core.Ticket) error {
	return func(ctx context.Context, good core.Ticket) error {
		err := good.Wait(ctx)
		var ne *core.NodeError
		if !errors.As(err, &ne) {
			return err
		}
		other := *ne
		change(&other)
		return &other
	}
}

// breaking refuses every Submit, on all streams, after a Gather, which fails in the case.
type breaking struct {
	base
	broke *atomic.Bool
}

func (b breaking) Submit(nodes []op.Node, free []op.TensorID) error {
	if b.broke.Load() {
		return fmt.Errorf("the device is broken: %w", core.ErrKernel)
	}
	for i := range nodes {
		if nodes[i].Op == op.Gather {
			b.broke.Store(true)
		}
	}
	return b.Stream.Submit(nodes, free)
}

func broken() tampered {
	broke := new(atomic.Bool)
	return onStream(func(s core.Stream) core.Stream { return breaking{base{s}, broke} })
}

// lazy reads the tensor only when its ticket is waited for.
type lazy struct{ base }

func (l lazy) Read(id op.TensorID, dst []byte) core.Ticket {
	return answer{nil, func(ctx context.Context, _ core.Ticket) error { return l.Stream.Read(id, dst).Wait(ctx) }}
}

// eager reads the tensor before Read returns.
type eager struct{ base }

func (e eager) Read(id op.TensorID, dst []byte) core.Ticket {
	return core.Failed(e.Stream.Read(id, dst).Wait(context.Background()))
}

// roomy accepts a destination that is larger than the tensor.
type roomy struct {
	base
	written map[op.TensorID]int
}

func (r roomy) Write(ctx context.Context, d op.Desc, data []byte) error {
	r.written[d.ID] = len(data)
	return r.Stream.Write(ctx, d, data)
}

func (r roomy) Read(id op.TensorID, dst []byte) core.Ticket {
	if n := r.written[id]; n > 0 && n < len(dst) {
		dst = dst[:n]
	}
	return r.Stream.Read(id, dst)
}

// mortal is a stream whose tickets return core.ErrClosed after it is closed.
type mortal struct {
	base
	closed *atomic.Bool
}

func (m mortal) Read(id op.TensorID, dst []byte) core.Ticket {
	return answer{m.Stream.Read(id, dst), func(ctx context.Context, good core.Ticket) error {
		if m.closed.Load() {
			return core.ErrClosed
		}
		return good.Wait(ctx)
	}}
}

func (m mortal) Close() error {
	m.closed.Store(true)
	return m.Stream.Close()
}

// patient is a stream whose Close waits until all tickets have been waited for.
type patient struct {
	base
	open *sync.WaitGroup
}

func (p patient) Read(id op.TensorID, dst []byte) core.Ticket {
	p.open.Add(1)
	return answer{p.Stream.Read(id, dst), func(ctx context.Context, good core.Ticket) error {
		defer p.open.Done()
		return good.Wait(ctx)
	}}
}

func (p patient) Close() error {
	p.open.Wait()
	return p.Stream.Close()
}

// single reads only for the last of its tickets, and clears the destinations of its other tickets.
type single struct {
	base
	n *atomic.Int64
}

func (s single) Read(id op.TensorID, dst []byte) core.Ticket {
	mine := s.n.Add(1)
	return answer{s.Stream.Read(id, dst), func(ctx context.Context, good core.Ticket) error {
		if s.n.Load() != mine {
			clear(dst)
			return nil
		}
		return good.Wait(ctx)
	}}
}

func TestMutantTicketsAreCaught(t *testing.T) {
	t.Parallel()
	lazily := onStream(func(s core.Stream) core.Stream { return lazy{base{s}} })
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"reads come late", lazily, "tickets/place"},
		{"reads of freed tensors come late", lazily, "tickets/freed"},
		{"reads of donated tensors come late", lazily, "donation/ticket"},
		{"reads come early", onStream(func(s core.Stream) core.Stream { return eager{base{s}} }), "tickets/destination"},
		{"a ticket writes after a canceled wait", onRead(func(ctx context.Context, good core.Ticket) error {
			if ctx.Err() != nil {
				_ = good.Wait(context.Background())
				return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
			}
			return good.Wait(ctx)
		}), "tickets/canceled"},
		{"one canceled wait ends all tickets", perStream(func(s core.Stream, gone *atomic.Bool) core.Stream {
			return reading{base{s}, func(ctx context.Context, good core.Ticket) error {
				if gone.Load() {
					return core.ErrCanceled
				}
				err := good.Wait(ctx)
				if errors.Is(err, core.ErrCanceled) {
					gone.Store(true)
				}
				return err
			}}
		}), "tickets/one-of-many"},
		{"tickets hang when the stream closes", hanging(onRead(func(ctx context.Context, good core.Ticket) error {
			err := good.Wait(ctx)
			if errors.Is(err, core.ErrClosed) {
				select {}
			}
			return err
		})), "tickets/closed"},
		{"the size of the destination is ignored", onStream(func(s core.Stream) core.Stream { return roomy{base{s}, map[op.TensorID]int{}} }), "tickets/errors"},
		{"tickets end with the stream", perStream(func(s core.Stream, x *atomic.Bool) core.Stream { return mortal{base{s}, x} }), "tickets/reached"},
		{"close waits for tickets", hanging(perStream(func(s core.Stream, x *sync.WaitGroup) core.Stream { return patient{base{s}, x} })), "tickets/never-waited"},
		{"one ticket at a time", perStream(func(s core.Stream, x *atomic.Int64) core.Stream { return single{base{s}, x} }), "tickets/place"},
		{"poison is reported once", perStream(func(s core.Stream, told *atomic.Bool) core.Stream {
			return reading{base{s}, func(ctx context.Context, good core.Ticket) error {
				err := good.Wait(ctx)
				if err != nil && told.Swap(true) {
					return nil
				}
				return err
			}}
		}), "tickets/poisoned"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}
