package router_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/decorators/verify"
)

// A ring of streams, each driven by a goroutine, passes a tensor around. Each stream reads and drops the tensor of the previous stream and
// computes the next one, on members chosen at random; only events order the streams. verify below the router checks that the router orders
// its commands.
func TestRing(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		var log verify.Log
		list := places(t)
		wrapped := map[core.Backend]core.Backend{}
		for _, p := range list {
			if wrapped[p.Backend] == nil {
				wrapped[p.Backend] = verify.Wrap(p.Backend, verify.OnFault(log.Add))
			}
			p.Backend = wrapped[p.Backend]
		}
		r := over(t, list)
		const size, rounds = 4, 25
		type baton struct {
			x, shared op.Desc
			done      core.Event
		}
		next := make([]chan baton, size)
		for i := range next {
			next[i] = make(chan baton, 1)
		}
		shared := r.write(r.s, 2, 2)
		next[0] <- baton{r.write(r.s, 1, 3), shared, r.s.Signal()}
		var group sync.WaitGroup
		for i := range size {
			s := r.stream()
			rnd := rand.New(rand.NewPCG(7, uint64(i)))
			group.Go(func() {
				for range rounds {
					b := <-next[i]
					fail := func(err error) {
						if err != nil {
							t.Error(err)
						}
					}
					fail(s.Wait(b.done))
					v := make([]float32, 2)
					ticket := s.Read(b.x.ID, dtype.Bytes(v))
					view := r.on(s, rnd.IntN(2))
					up, err := op.New(op.Mul, []op.Desc{b.x, b.shared})
					fail(err)
					up.Outputs[0].ID, up.Drop = r.NewIDs(1), 1
					down, err := op.New(op.Div, []op.Desc{up.Outputs[0], b.shared})
					fail(err)
					down.Outputs[0].ID = r.NewIDs(1)
					fail(view.Submit([]op.Node{up}, nil))
					fail(r.on(s, rnd.IntN(2)).Submit([]op.Node{down}, []op.TensorID{up.Outputs[0].ID}))
					next[(i+1)%size] <- baton{down.Outputs[0], b.shared, s.Signal()}
					fail(ticket.Wait(ctx))
					if v[0] != 1 || v[1] != 3 {
						t.Errorf("got %v, want 1 and 3", v)
					}
				}
			})
		}
		group.Wait()
		last := <-next[0]
		require.NoError(t, r.s.Wait(last.done))
		r.free(r.s, last.x, last.shared)
		require.Equal(t, int64(0), r.live(r.s))
		faults, _ := log.Report()
		for _, f := range faults {
			t.Error(f)
		}
	})
}

// slow is a backend whose reads end only after let is closed.
type slow struct {
	core.Backend
	let chan struct{}
}

func (b slow) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return slowDevice{d, b.let}, err
}

type slowDevice struct {
	core.Device
	let chan struct{}
}

func (d slowDevice) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && d.Device.Extend(target)
}

func (d slowDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return slowStream{s, d.let}, err
}

type slowStream struct {
	core.Stream
	let chan struct{}
}

func (s slowStream) Read(id op.TensorID, dst []byte) core.Ticket {
	return slowTicket{s.Stream.Read(id, dst), s.let}
}

type slowTicket struct {
	core.Ticket
	let chan struct{}
}

func (t slowTicket) Wait(ctx context.Context) error {
	select {
	case <-t.let:
	case <-ctx.Done():
	}
	return t.Ticket.Wait(ctx)
}

// During a transfer, only the commands that need it wait: not the caller, the other member or other streams. Canceled waits and the closing
// of a stream do not wait for the transfer.
func TestNothingWaits(t *testing.T) {
	b := slow{processor(t), make(chan struct{})}
	r := over(t, []*core.Place{place("main", processor(t)), place("slow", b)})
	far := r.write(r.on(r.s, 1), 1, 2)
	moved := r.do(r.on(r.s, 0), op.Neg, far)
	more := r.do(r.s, op.Neg, moved)
	late := r.write(r.s, 5, 5)
	sum := r.do(r.s, op.Add, more, late)
	r.free(r.s, more, late, far)
	event := r.s.Signal()
	require.Equal(t, []float32{3}, func() []float32 { // on another stream of the busy member
		s := r.stream()
		return r.read(s, r.write(s, 3))
	}())
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, event.Wait(short), core.ErrCanceled)
	require.ErrorIs(t, r.s.Read(sum.ID, make([]byte, 8)).Wait(short), core.ErrCanceled)
	ticket := r.s.Read(sum.ID, make([]byte, 8))
	v := make([]float32, 2)
	good := r.s.Read(sum.ID, dtype.Bytes(v))
	other := r.stream()
	require.NoError(t, other.Wait(event))
	twice := r.do(other, op.Add, sum, sum)
	close(b.let)
	require.NoError(t, ticket.Wait(ctx))
	require.NoError(t, good.Wait(ctx))
	require.Equal(t, []float32{6, 7}, v)
	require.Equal(t, []float32{12, 14}, r.read(other, twice))
	require.NoError(t, event.Wait(ctx))

	b = slow{processor(t), make(chan struct{})}
	r = over(t, []*core.Place{place("main", processor(t)), place("slow", b)})
	s := r.stream()
	far = r.write(r.on(s, 1), 1, 2)
	require.NoError(t, core.Sync(ctx, s))
	gone := r.write(s, 1)
	moved = r.do(r.on(s, 0), op.Neg, far)
	r.free(s, gone)
	event = s.Signal()
	require.NoError(t, s.Close())
	require.ErrorIs(t, event.Wait(ctx), core.ErrClosed)
	require.ErrorIs(t, s.Submit(nil, nil), core.ErrClosed)
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrClosed)
	require.ErrorIs(t, core.Read(ctx, s, moved.ID, make([]byte, 8)), core.ErrClosed)
	require.ErrorIs(t, core.Read(ctx, r.s, gone.ID, make([]byte, 4)), core.ErrUnknownTensor, "a free that was dropped takes effect")
	require.Error(t, core.Read(ctx, r.s, moved.ID, make([]byte, 8)))
}

// If a member refuses a node after Submit has returned, the results are poisoned, and the next event reports the refusal once, also if
// there are transfers and other events in between.
func TestLateRefusal(t *testing.T) {
	b := slow{processor(t), make(chan struct{})}
	r := over(t, []*core.Place{place("main", plant(t, "exp")), place("slow", b)}, router.Strict())
	far := r.write(r.on(r.s, 1), 1, 2)
	moved := r.do(r.on(r.s, 0), op.Neg, far)
	early := r.s.Signal()
	bad := r.do(r.s, op.Exp, moved)
	after := r.do(r.s, op.Neg, bad)
	back := r.do(r.on(r.s, 1), op.Neg, after)
	between := r.s.Signal()
	good := r.do(r.s, op.Neg, moved)
	close(b.let)
	require.NoError(t, early.Wait(ctx))
	require.Equal(t, []float32{1, 2}, r.read(r.s, good))
	for _, d := range []op.Desc{bad, after, back} {
		require.ErrorIs(t, core.Read(ctx, r.s, d.ID, make([]byte, 8)), core.ErrUnsupported)
	}
	require.ErrorIs(t, core.Sync(ctx, r.s), core.ErrUnsupported)
	require.NoError(t, between.Wait(ctx), "the refusal was already reported")
	require.NoError(t, core.Sync(ctx, r.s))
	r.free(r.s, far, moved, bad, after, back, good)
	require.NoError(t, core.Sync(ctx, r.s))
}
