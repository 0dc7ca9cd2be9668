package lane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var ctx = context.Background()

// open returns a lane of a device of the reference backend. most is the limit of the bytes that the lane holds for queued commands.
func open(t *testing.T, most int64) *Lane {
	b := ref.New()
	t.Cleanup(func() { _ = b.Close() })
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	x := &Device{Device: d, Spec: "ref", Memory: 1 << 30}
	x.Host, _ = core.Extension[core.HostMemory](d)
	l := another(t, x, most)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func another(t *testing.T, d *Device, most int64) *Lane {
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	return New(d, s, most, nil)
}

func (l *Lane) write(t *testing.T, v ...float32) op.Desc {
	d := op.Desc{ID: l.Device.NewIDs(1), DType: dtype.F32, Shape: []int{len(v)}}
	require.NoError(t, l.Write(ctx, d, dtype.Bytes(v)))
	return d
}

func (l *Lane) do(t *testing.T, c op.Code, in ...op.Desc) (op.Desc, error) {
	n, err := op.New(c, in)
	require.NoError(t, err)
	n.Outputs[0].ID = l.Device.NewIDs(1)
	return n.Outputs[0], l.Submit([]op.Node{n}, nil)
}

func (l *Lane) read(t *testing.T, d op.Desc) []float32 {
	v := make([]float32, d.Shape.Size())
	require.NoError(t, l.Read(d.ID, dtype.Bytes(v)).Wait(ctx))
	return v
}

func none() bool { return false }

// hold makes later commands of a lane wait until the caller calls let.
func hold(l *Lane, other *Lane) (let func()) {
	g := other.Gate()
	l.Await(g)
	return func() { g.pass(nil) }
}

// A command that push executes immediately may release the host memory that it reserved, without a deadlock.
func TestLaneLeavesAtOnce(t *testing.T) {
	l := New(&Device{}, nil, 8, nil)
	require.NoError(t, l.take(t.Context(), 8))
	done := make(chan struct{})
	go func() {
		l.Produce(nil, nil, nil, func() error { return nil }, func() { l.leave(8) })
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the command waits for the lock that push holds")
	}
	require.Zero(t, l.held)
}

// Commands behind a waiting command are queued, so the caller does not wait. They are executed in order once that command can continue.
func TestOrder(t *testing.T) {
	l, other := open(t, 1<<20), open(t, 1<<20)
	let := hold(l, other)
	x := l.write(t, 1, 2)
	y, err := l.do(t, op.Neg, x)
	require.NoError(t, err)
	require.NoError(t, l.Submit(nil, []op.TensorID{x.ID}))
	v := make([]float32, 2)
	ticket := l.Read(y.ID, dtype.Bytes(v))
	g := l.Mark()
	require.Same(t, g, l.Mark(), "there was no command in between")
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, l.Settle(short), core.ErrCanceled)
	require.ErrorIs(t, g.Wait(short, none), core.ErrCanceled)
	let()
	require.NoError(t, ticket.Wait(ctx))
	require.Equal(t, []float32{-1, -2}, v)
	require.NoError(t, g.Wait(ctx, none))
	require.NoError(t, l.Settle(ctx))
}

// Later commands can use a tensor that Copy copies from another lane. If the copy fails, its readers fail with the cause.
func TestCopy(t *testing.T) {
	l, other := open(t, 1<<20), open(t, 1<<20)
	x := other.write(t, 3, 4)
	d := op.Desc{ID: l.Device.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
	g := l.Gate()
	l.Copy(other, x.ID, d, false, g)
	y, err := l.do(t, op.Neg, d)
	require.NoError(t, err)
	require.Equal(t, []float32{-3, -4}, l.read(t, y))
	require.True(t, g.isOpen())

	cause := errors.New("cause")
	other.Device.Poison(x.ID, cause)
	d.ID = l.Device.NewIDs(1)
	l.Copy(other, x.ID, d, false, l.Gate())
	y, err = l.do(t, op.Neg, d)
	require.NoError(t, err)
	require.ErrorIs(t, l.Read(y.ID, make([]byte, 8)).Wait(ctx), cause)
	require.NoError(t, l.Submit(nil, []op.TensorID{d.ID, y.ID}), "it can be freed like any tensor")
	require.NoError(t, l.Mark().Wait(ctx, none))
	require.NoError(t, l.Device.Missing(d.ID, y.ID))

	l.Device.Memory = 4
	d.ID = l.Device.NewIDs(1)
	small := open(t, 1<<20)
	l.Copy(small, small.write(t, 1, 2).ID, d, false, l.Gate())
	require.ErrorIs(t, l.Read(d.ID, make([]byte, 8)).Wait(ctx), core.ErrOutOfMemory)
}

// A refusal that comes after Submit has returned poisons the results. The next gate reports it once.
func TestLateRefusal(t *testing.T) {
	l, other := open(t, 1<<20), open(t, 1<<20)
	let := hold(l, other)
	early := l.Mark()
	n, err := op.New(op.Neg, []op.Desc{{ID: 99999, DType: dtype.F32, Shape: []int{2}}})
	require.NoError(t, err)
	n.Outputs[0].ID = l.Device.NewIDs(1)
	broken := errors.New("broken")
	l.Refuse(broken, []op.Node{n})
	late := l.Mark()
	let()
	require.NoError(t, early.Wait(ctx, none))
	require.ErrorIs(t, late.Wait(ctx, none), broken)
	require.NoError(t, late.Wait(ctx, none), "once")
	require.ErrorIs(t, l.Read(n.Outputs[0].ID, make([]byte, 8)).Wait(ctx), broken)
}

// A lane records the loss of its device. While other devices are left, gates report the loss once; otherwise every gate reports it.
func TestLost(t *testing.T) {
	l := New(&Device{Spec: "gone"}, Lost(core.ErrBackendLost), 8, func(err error) error { return err })
	require.ErrorIs(t, l.Submit(nil, []op.TensorID{1}), core.ErrBackendLost)
	require.ErrorIs(t, l.Device.Gone(), core.ErrBackendLost)
	some := func() bool { return true }
	require.ErrorIs(t, l.Mark().Wait(ctx, some), core.ErrBackendLost)
	require.NoError(t, l.Mark().Wait(ctx, some))
	require.ErrorIs(t, l.Mark().Wait(ctx, none), core.ErrBackendLost, "no other device is left")
	require.NoError(t, l.Close())
	require.NoError(t, IgnoreLost(core.ErrBackendLost))
	require.ErrorIs(t, IgnoreLost(core.ErrClosed), core.ErrClosed)
}

// A lane holds at most its limit of bytes for waiting commands: beyond it, the caller of Write waits. Close ends this wait.
func TestRoom(t *testing.T) {
	l, other := open(t, 8), open(t, 8)
	let := hold(l, other)
	first := l.write(t, 1, 2)
	short, cancel := context.WithCancel(ctx)
	cancel()
	d := op.Desc{ID: l.Device.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
	require.ErrorIs(t, l.Write(short, d, make([]byte, 8)), core.ErrCanceled)
	let()
	require.NoError(t, l.Write(ctx, d, make([]byte, 8)))
	require.Equal(t, []float32{1, 2}, l.read(t, first))
	hold(l, other)
	d.ID = l.Device.NewIDs(1)
	require.NoError(t, l.Write(ctx, d, make([]byte, 8)))
	refused := make(chan error)
	go func() {
		e := d
		e.ID = l.Device.NewIDs(1)
		refused <- l.Write(ctx, e, make([]byte, 8))
	}()
	require.NoError(t, l.Close())
	if err := <-refused; err != nil { // nil: the write was queued while Close dropped the queue
		require.ErrorIs(t, err, core.ErrClosed)
	}
}

// Adopted memory is released once.
func TestAdopt(t *testing.T) {
	l, other := open(t, 8), open(t, 8)
	require.NotNil(t, l.Device.Host)
	released := 0
	data := dtype.Bytes([]float32{5, 6})
	d := op.Desc{ID: l.Device.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
	let := hold(l, other)
	require.NoError(t, l.Adopt(d, data, func() { released++ }))
	require.ErrorIs(t, l.Adopt(d, data[:4], func() { released++ }), core.ErrShape)
	let()
	require.Equal(t, []float32{5, 6}, l.read(t, d))
	require.NoError(t, l.Submit(nil, []op.TensorID{d.ID}))
	require.NoError(t, l.Mark().Wait(ctx, none))
	require.Equal(t, 1, released)
}

// Span.Time returns the time of the commands only if the caller passes a lane to their device.
func TestSpan(t *testing.T) {
	l := open(t, 1<<20)
	own := another(t, l.Device, 8)
	defer own.Close()
	x := l.write(t, 1, 2)
	start := time.Now()
	s := Begin(l)
	_, err := l.do(t, op.Neg, x)
	require.NoError(t, err)
	s.End(l)
	seconds, ok := s.Time(own)
	require.True(t, ok)
	require.Positive(t, seconds)
	require.LessOrEqual(t, seconds, time.Since(start).Seconds())
	_, ok = s.Time()
	require.False(t, ok, "no lane to the device")
}

// far is a stream whose events reach the host with a delay, like those of another process.
type far struct{ core.Stream }

type farEvent struct{ core.Event }

func (s far) Signal() core.Event { return farEvent{s.Stream.Signal()} }

func (e farEvent) Wait(ctx context.Context) error {
	time.Sleep(20 * atOnce)
	return e.Event.Wait(ctx)
}

// A span includes the time for which its commands wait for other commands, even if events reach the host late.
func TestSpanOfCommandsThatWait(t *testing.T) {
	l := open(t, 1<<20)
	other := another(t, l.Device, 8)
	defer other.Close()
	own := another(t, l.Device, 8)
	defer own.Close()
	own.Stream = far{own.Stream}
	x := l.write(t, 1, 2)
	s := Begin(l)
	let := hold(l, other)
	_, err := l.do(t, op.Neg, x)
	require.NoError(t, err)
	s.End(l)
	const held = 200 * time.Millisecond
	time.AfterFunc(held, let)
	seconds, ok := s.Time(own)
	require.True(t, ok)
	require.Greater(t, seconds, held.Seconds()/2)
}
