package restore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/host/restore"
)

// mortal is the reference backend in place of a process: after kill, every call returns ErrBackendLost.
type mortal struct {
	core.Backend
	alive  context.Context
	kill   context.CancelFunc
	picky  bool                   // it has Selective, which supports no node
	lacks  func(target any) bool  // reports whether the device lacks an extension; nil: it lacks none
	fatal  func(call string) bool // reports whether a call ends the backend; nil: none does
	opened core.Device            // the last one
}

// births opens mortal backends, one for each start, and keeps them.
type births struct {
	mu   sync.Mutex
	all  []*mortal
	with func(m *mortal, start int) []ref.Option // changes a new backend; nil: no change
}

func (x *births) open(_ context.Context, generation uint16) (core.Backend, error) {
	m := &mortal{}
	m.alive, m.kill = context.WithCancel(context.Background())
	x.mu.Lock()
	defer x.mu.Unlock()
	var options []ref.Option
	if x.with != nil {
		options = x.with(m, int(generation))
	}
	m.Backend = ref.New(options...)
	x.all = append(x.all, m)
	return m, nil
}

// kill ends the current backend.
func (x *births) kill() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all[len(x.all)-1].kill()
}

// starts returns the number of backends that were started.
func (x *births) starts() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.all)
}

// device returns a restored backend, a device of it and a stream.
func (x *births) device(t testing.TB, o restore.Options) (*restore.Backend, core.Device, core.Stream) {
	t.Helper()
	o.Open = x.open
	if o.Backoff == 0 {
		o.Backoff = time.Microsecond
	}
	b, err := restore.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	d, s := on(t, b)
	return b, d, s
}

func on(t testing.TB, b core.Backend) (core.Device, core.Stream) {
	t.Helper()
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	return d, stream(t, d)
}

func stream(t testing.TB, d core.Device) core.Stream {
	t.Helper()
	s, err := d.OpenStream(context.Background())
	require.NoError(t, err)
	return s
}

// do calls call. It returns ErrBackendLost if the backend is dead before or after the call.
func (m *mortal) do(what string, call func() error) error {
	if m.fatal != nil && m.fatal(what) {
		m.kill()
	}
	if m.alive.Err() == nil {
		if err := call(); m.alive.Err() == nil {
			return err
		}
	}
	return fmt.Errorf("mortal: %s: %w", what, core.ErrBackendLost)
}

// wait is do for a blocking call, which kill cancels.
func (m *mortal) wait(ctx context.Context, what string, call func(ctx context.Context) error) error {
	return m.do(what, func() error {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(m.alive, func() { cancel(nil) })()
		return call(inner)
	})
}

func (m *mortal) Open(ctx context.Context, index int) (d core.Device, err error) {
	err = m.do("open", func() error {
		inner, err := m.Backend.Open(ctx, index)
		d, m.opened = &mortalDevice{inner, m}, inner
		return err
	})
	return d, err
}

func (m *mortal) Close() error {
	m.kill()
	return m.Backend.Close()
}

type mortalDevice struct {
	core.Device
	m *mortal
}

func (d *mortalDevice) OpenStream(ctx context.Context) (s core.Stream, err error) {
	err = d.m.do("open stream", func() error {
		inner, err := d.Device.OpenStream(ctx)
		s = &mortalStream{inner, d.m}
		return err
	})
	return s, err
}

func (d *mortalDevice) Close() error { return d.m.do("close", d.Device.Close) }

func (d *mortalDevice) Extend(target any) bool {
	if d.m.lacks != nil && d.m.lacks(target) {
		return false
	}
	switch t := target.(type) {
	case *core.Programs:
		x, _ := core.Extension[core.Programs](d.Device)
		*t = mortalPrograms{x, d.m}
	case *core.HostMemory:
		x, _ := core.Extension[core.HostMemory](d.Device)
		*t = mortalMemory{x, d.m}
	case *core.PeerCopy:
		x, _ := core.Extension[core.PeerCopy](d.Device)
		*t = mortalPeers{x, d.m}
	case *core.Collectives:
		x, _ := core.Extension[core.Collectives](d.Device)
		*t = mortalCollectives{x, d.m}
	case *core.Selective:
		if d.m.picky {
			*t = mortalSelective{d.m}
		}
		return d.m.picky
	default:
		return d.Device.Extend(target)
	}
	return true
}

type mortalSelective struct{ m *mortal }

func (x mortalSelective) Supports(n *op.Node, _ []op.Desc) error {
	return x.m.do("supports", func() error { return fmt.Errorf("%v: %w", n.Op, core.ErrUnsupported) })
}

type mortalStream struct {
	core.Stream
	m *mortal
}

func bare(s core.Stream) core.Stream { return s.(*mortalStream).Stream }

func (s *mortalStream) Submit(nodes []op.Node, free []op.TensorID) error {
	return s.m.do("submit", func() error { return s.Stream.Submit(nodes, free) })
}

func (s *mortalStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	return s.m.wait(ctx, "write", func(ctx context.Context) error { return s.Stream.Write(ctx, d, data) })
}

func (s *mortalStream) Read(id op.TensorID, dst []byte) core.Ticket {
	return &mortalEvent{s.Stream.Read(id, dst), s.m, "read"}
}

func (s *mortalStream) Signal() core.Event { return &mortalEvent{s.Stream.Signal(), s.m, "event"} }

func (s *mortalStream) Wait(e core.Event) error {
	return s.m.do("wait", func() error { return s.Stream.Wait(e.(*mortalEvent).inner.(core.Event)) })
}

func (s *mortalStream) Close() error { return s.m.do("close stream", s.Stream.Close) }

type mortalEvent struct {
	inner core.Ticket
	m     *mortal
	what  string
}

func (e *mortalEvent) Wait(ctx context.Context) error { return e.m.wait(ctx, e.what, e.inner.Wait) }

type mortalPrograms struct {
	core.Programs
	m *mortal
}

func (p mortalPrograms) Define(ctx context.Context, s core.Stream, q *program.Program, consts []op.TensorID) (id core.ProgramID, err error) {
	err = p.m.wait(ctx, "define", func(ctx context.Context) (err error) {
		id, err = p.Programs.Define(ctx, bare(s), q, consts)
		return err
	})
	return id, err
}

func (p mortalPrograms) Run(s core.Stream, r core.Run) error {
	return p.m.do("run", func() error { return p.Programs.Run(bare(s), r) })
}

func (p mortalPrograms) Undefine(id core.ProgramID) error {
	return p.m.do("undefine", func() error { return p.Programs.Undefine(id) })
}

type mortalMemory struct {
	core.HostMemory
	m *mortal
}

func (x mortalMemory) Adopt(s core.Stream, d op.Desc, data []byte, release func()) error {
	return x.m.do("adopt", func() error { return x.HostMemory.Adopt(bare(s), d, data, release) })
}

func (x mortalMemory) View(ctx context.Context, s core.Stream, id op.TensorID, use func([]byte) error) error {
	return x.m.wait(ctx, "view", func(ctx context.Context) error { return x.HostMemory.View(ctx, bare(s), id, use) })
}

type mortalPeers struct {
	core.PeerCopy
	m *mortal
}

func (x mortalPeers) CopyFrom(s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
	return x.m.do("copy", func() error { return x.PeerCopy.CopyFrom(bare(s), d, src.(*mortalDevice).Device, id) })
}

type mortalCollectives struct {
	core.Collectives
	m *mortal
}

func (x mortalCollectives) Join(ctx context.Context, key string, rank, size int) (g core.Group, err error) {
	err = x.m.wait(ctx, "join", func(ctx context.Context) error {
		inner, err := x.Collectives.Join(ctx, key, rank, size)
		g = mortalGroup{inner, x.m}
		return err
	})
	return g, err
}

type mortalGroup struct {
	core.Group
	m *mortal
}

func (g mortalGroup) AllReduce(s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.m.do("all_reduce", func() error { return g.Group.AllReduce(bare(s), by, in, out) })
}
