package restore_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/restore"
)

func TestRestored(t *testing.T) {
	for at := -1; at < 9; at++ {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			var x births
			b, d, s := x.device(t, restore.Options{})
			session(t, d, s, func(step int) {
				if step == at {
					x.kill()
				}
			})
			if at >= 0 {
				require.EqualValues(t, 1, b.Restarts())
			}
		})
	}
}

// TestContract runs the cases of the conformance suite for devices, streams, programs and extensions. The case that adopted memory is
// released after its last use is excluded: restore keeps the memory while a tensor that depends on it is live.
func TestContract(t *testing.T) {
	report, err := conformance.Check(ctx, func() (core.Backend, error) {
		return restore.Open(ctx, restore.Options{Open: func(context.Context, uint16) (core.Backend, error) { return ref.New(), nil }})
	}, conformance.Options{Run: "^(blame|cancel|claims|close|collective|concurrent|donation|errors|events|extensions|lifecycle|limits|" +
		"ownership|peer|program|refused|stream|tickets|words)/|^host/(adopt-refused|adopt-closed|view)"})
	require.NoError(t, err)
	require.Greater(t, report.Passed, 100)
	for _, r := range report.Results {
		if r.Status == conformance.Failed {
			t.Errorf("%s: %s", r.ID, r.Reason)
		}
	}
}

// TestKilledAgain also kills the second process, at each of the calls that restore its state.
func TestKilledAgain(t *testing.T) {
	for at := 1; ; at++ {
		calls := 0
		x := births{with: func(m *mortal, start int) []ref.Option {
			if start == 1 {
				m.fatal = func(string) bool { calls++; return calls == at }
			}
			return nil
		}}
		_, d, s := x.device(t, restore.Options{})
		session(t, d, s, func(step int) {
			if step == 6 {
				x.kill()
			}
		})
		if calls < at {
			require.Greater(t, at, 20)
			return
		}
		require.Equal(t, 3, x.starts())
	}
}

// Pending waits survive a loss: tickets deliver the values at their position in the stream, and events are reached.
func TestOutstanding(t *testing.T) {
	var x births
	began := make(chan struct{}, 1)
	x.with = func(m *mortal, start int) []ref.Option {
		return []ref.Option{ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			if start == 0 && n.Op == op.Exp {
				began <- struct{}{}
				<-m.alive.Done()
			}
			return ref.Eval(n, in)
		})}
	}
	_, d, s := x.device(t, restore.Options{})
	other := stream(t, d)
	write(t, s, desc(1, 2), 1, 2)
	before := s.Signal()
	write(t, s, desc(4, 1), 0)
	submit(t, s, node(t, "exp", id(5), desc(4, 1)), node(t, "neg", id(2), desc(1, 2)))
	dst := make([]byte, 8)
	ticket, abandoned := s.Read(id(2), dst), s.Read(id(2), make([]byte, 8))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(2)}))
	after := s.Signal()
	require.NoError(t, other.Wait(after))
	submit(t, other, node(t, "neg", id(3), desc(1, 2)))
	<-began
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, abandoned.Wait(canceled), core.ErrCanceled)
	x.kill()
	errs := make(chan error, 3)
	go func() { errs <- ticket.Wait(ctx) }()
	go func() { errs <- after.Wait(ctx) }()
	go func() { errs <- before.Wait(ctx) }()
	for range 3 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, f32(-1, -2), dst)
	require.NoError(t, other.Wait(before), "an event of the lost process")
	require.Equal(t, f32(-1, -2), read(t, other, desc(3, 2)))
	require.Equal(t, f32(1), read(t, s, desc(5, 1)))
	require.ErrorIs(t, readError(s, desc(2, 2)), core.ErrUnknownTensor)
	require.Equal(t, 2, x.starts(), "one restart serves all waits")
	require.ErrorIs(t, ticket.Wait(ctx), core.ErrClosed)
}

// After a loss, tensors of closed streams still exist, and the order between streams is preserved.
func TestStreams(t *testing.T) {
	var x births
	_, d, s := x.device(t, restore.Options{})
	write(t, s, desc(1, 1), 3)
	last := uint64(1)
	streams := []core.Stream{s, stream(t, d), stream(t, d)}
	for i := range 30 {
		from, to := streams[i%3], streams[(i+1)%3]
		require.NoError(t, to.Wait(from.Signal()))
		n := node(t, "add", id(last+1), desc(last, 1), desc(1, 1))
		if last > 1 {
			n.Drop = 1
		}
		submit(t, to, n)
		last++
		if i == 20 {
			x.kill()
		}
	}
	require.NoError(t, core.Sync(ctx, streams[0]))
	require.NoError(t, streams[1].Close())
	require.ErrorIs(t, streams[1].Submit(nil, nil), core.ErrClosed)
	require.ErrorIs(t, streams[1].Signal().Wait(ctx), core.ErrClosed)
	x.kill()
	require.Equal(t, f32(93), read(t, streams[2], desc(last, 1)))
	require.EqualValues(t, 2, extension[core.MemoryStats](t, d).Memory().Tensors)
	require.NoError(t, d.Close())
	require.ErrorIs(t, s.Submit(nil, nil), core.ErrClosed)
}

// The tensors of a chain of donating steps are recomputed after a loss, without holding more than three of them at a time.
func TestDonated(t *testing.T) {
	var x births
	_, d, s := x.device(t, restore.Options{})
	ps := extension[core.Programs](t, d)
	write(t, s, desc(1, 1), 1)
	prog, err := ps.Define(ctx, s, addProgram(t, 1), []op.TensorID{id(1)})
	require.NoError(t, err)
	write(t, s, desc(2, 1), 5)
	const steps = 100
	for i := uint64(2); i < 2+steps; i++ {
		require.NoError(t, ps.Run(s, core.Run{Program: prog, Inputs: []op.TensorID{id(i)}, Donated: []bool{true}, Outputs: []op.TensorID{id(i + 1)}}))
	}
	require.NoError(t, ps.Undefine(prog))
	var most int64
	x.with = func(m *mortal, _ int) []ref.Option {
		return []ref.Option{ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			most = max(most, extension[core.MemoryStats](t, m.opened).Memory().Tensors)
			return ref.Eval(n, in)
		})}
	}
	x.kill()
	require.Equal(t, f32(5), read(t, s, desc(2+steps, 1)), "x -> -(x+1), an even number of times")
	require.EqualValues(t, 2, extension[core.MemoryStats](t, d).Memory().Tensors, "the result and the constant")
	require.Less(t, most, int64(4), "too many tensors during the recomputation")
}

// With a small journal, old commands are forgotten. After a loss, their tensors and dependent results are stale; other tensors remain
// usable.
func TestStale(t *testing.T) {
	var x births
	_, d, s := x.device(t, restore.Options{Journal: 100})
	write(t, s, desc(1, 1), 1)
	const last = 1001
	for i := uint64(2); i <= last; i++ { // a chain: each node depends on all previous ones
		n := node(t, "neg", id(i), desc(i-1, 1))
		if i > 2 {
			n.Drop = 1
		}
		submit(t, s, n)
	}
	require.Equal(t, f32(1), read(t, s, desc(last, 1)))
	x.kill()
	require.ErrorIs(t, readError(s, desc(last, 1)), core.ErrStale)
	require.Equal(t, f32(1), read(t, s, desc(1, 1)))
	bad, good := node(t, "add", id(last+1), desc(last, 1), desc(1, 1)), node(t, "neg", id(last+2), desc(1, 1))
	bad.Drop = 1
	submit(t, s, bad, good)
	require.ErrorIs(t, readError(s, desc(last+1, 1)), core.ErrStale)
	require.Equal(t, f32(-1), read(t, s, desc(last+2, 1)))
	err := core.Sync(ctx, s)
	require.ErrorIs(t, err, core.ErrStale)
	var n *core.NodeError
	require.ErrorAs(t, err, &n)
	require.Equal(t, "add", n.Op)
	require.NoError(t, core.Sync(ctx, s), "once")
	_, err = extension[core.Programs](t, d).Define(ctx, s, addProgram(t, 1), []op.TensorID{id(last + 1)})
	require.ErrorIs(t, err, core.ErrStale)
	require.NoError(t, s.Submit(nil, []op.TensorID{id(last + 1)}))
	require.NoError(t, core.Sync(ctx, s))
}

func TestCanceledRecovery(t *testing.T) {
	var x births
	_, _, s := x.device(t, restore.Options{})
	write(t, s, desc(1, 1), 3)
	x.kill()
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, core.Read(canceled, s, id(1), make([]byte, 4)), core.ErrCanceled)
	require.Equal(t, f32(3), read(t, s, desc(1, 1)))
}
