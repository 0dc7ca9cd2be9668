package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// leaky keeps a copy of every result of neg.
type leaky struct {
	base
	dev core.Device
}

func (l leaky) Submit(nodes []op.Node, free []op.TensorID) error {
	if err := l.Stream.Submit(nodes, nil); err != nil {
		return err
	}
	for i := range nodes {
		if nodes[i].Op == op.Neg {
			n, err := op.New(op.Copy, nodes[i].Outputs)
			if err != nil {
				return err
			}
			n.Outputs[0].ID = l.dev.NewIDs(1)
			if err := l.Stream.Submit([]op.Node{n}, nil); err != nil {
				return err
			}
		}
	}
	return l.Stream.Submit(nil, free)
}

// late is a stream that keeps submitted work pending until the next Read, and that Read does not wait for the work.
type late struct {
	base
	mu      sync.Mutex
	pending []func()
}

// work passes the pending work to the good stream. The caller holds mu.
func (l *late) work() {
	for _, f := range l.pending {
		f()
	}
	l.pending = nil
}

func (l *late) Submit(nodes []op.Node, free []op.TensorID) error {
	nodes, free = slices.Clone(nodes), slices.Clone(free)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, func() { _ = l.Stream.Submit(nodes, free) })
	return nil
}

func (l *late) Read(id op.TensorID, dst []byte) core.Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	good := l.Stream.Read(id, dst)
	l.work()
	return answer{good, func(ctx context.Context, good core.Ticket) error {
		if err := good.Wait(ctx); err != nil {
			clear(dst) // the contents before the kernel has run
		}
		return nil
	}}
}

func (l *late) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.work()
	return l.Stream.Close()
}

// mistaken returns a fault that replaces one sentinel error by another.
func mistaken(from, to error) func(s core.Stream) core.Stream {
	wait := func(ctx context.Context, good core.Ticket) error {
		err := good.Wait(ctx)
		var ne *core.NodeError
		switch {
		case !errors.Is(err, from):
			return err
		case errors.As(err, &ne):
			return &core.NodeError{Op: ne.Op, Outputs: ne.Outputs, Err: to}
		}
		return to
	}
	return func(s core.Stream) core.Stream { return signaling{base{reading{base{s}, wait}}, wait} }
}

// forgetful ignores the generation of the ids that are read.
type forgetful struct{ base }

func (f forgetful) Read(id op.TensorID, dst []byte) core.Ticket {
	return f.Stream.Read(op.NewTensorID(0, id.Sequence()), dst)
}

// lenient removes repeated ids from a list of frees, so that a double free is not reported.
func lenient(nodes []op.Node, free []op.TensorID) ([]op.Node, []op.TensorID) {
	slices.Sort(free)
	return nodes, slices.Compact(free)
}

// swallowing loses the failure of an event whose wait is canceled.
func swallowing(ctx context.Context, good core.Ticket) error {
	err := good.Wait(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
	}
	return err
}

// causeless returns core.ErrCanceled without the cause of the cancellation.
func causeless(ctx context.Context, good core.Ticket) error {
	if err := good.Wait(ctx); !errors.Is(err, core.ErrCanceled) {
		return err
	}
	return core.ErrCanceled
}

// overrunning overwrites with zeros the u8 tensor that was written before the operand of a neg.
type overrunning struct {
	base
	written []op.Desc
}

func (o *overrunning) Write(ctx context.Context, d op.Desc, data []byte) error {
	o.written = append(o.written, d)
	return o.Stream.Write(ctx, d, data)
}

func (o *overrunning) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) > 0 && nodes[0].Op == op.Neg && len(o.written) > 1 {
		if d := o.written[len(o.written)-2]; d.DType == dtype.U8 {
			if err := o.Stream.Submit(nil, []op.TensorID{d.ID}); err != nil {
				return err
			}
			if err := o.Stream.Write(context.Background(), d, make([]byte, d.Bytes())); err != nil {
				return err
			}
		}
	}
	return o.Stream.Submit(nodes, free)
}

func onStream(f func(s core.Stream) core.Stream) tampered { return tampered{stream: f} }

func onSubmit(f func(nodes []op.Node, free []op.TensorID) ([]op.Node, []op.TensorID)) tampered {
	return onStream(func(s core.Stream) core.Stream { return submitting{base{s}, f} })
}

func onRead(f func(ctx context.Context, good core.Ticket) error) tampered {
	return onStream(func(s core.Stream) core.Stream { return reading{base{s}, f} })
}

func onEvent(f func(ctx context.Context, good core.Ticket) error) tampered {
	return onStream(func(s core.Stream) core.Stream { return signaling{base{s}, f} })
}

func onDevice(f func(d core.Device) core.Device) tampered { return tampered{device: f} }

// shaken reports a damaged guard band once ids have been requested.
type shaken struct {
	core.Device
	ran bool
}

func (s *shaken) NewIDs(n int) op.TensorID {
	s.ran = true
	return s.Device.NewIDs(n)
}

func (s *shaken) CheckGuards() error {
	if s.ran {
		return errors.New("byte 4 behind t7")
	}
	return nil
}

func (s *shaken) Extend(target any) bool {
	if t, ok := target.(*conformance.GuardChecker); ok {
		*t = s
		return true
	}
	return s.Device.Extend(target)
}

// caught checks that a backend with a fault passes claims/info and fails the case id, and that a backend without a fault passes both. Some
// faults show only while work is pending, and on a busy machine the work may be done before the case looks. caught then repeats the case,
// 30 times at most, on devices that compute more and more slowly, until the fault shows. On a device that is as slow, a backend without a
// fault must pass the case.
func caught(t *testing.T, id string, fault tampered) {
	t.Helper()
	start := time.Now()
	requireStatus(t, conformance.Passed, checkBeside(t, id, tampered{}))
	fault.limit = max(500*time.Millisecond, 10*time.Since(start))
	tries := 30
	if fault.Backend != nil { // the fault does not depend on pending work
		tries = 1
	}
	var last conformance.Result
	for i := range tries {
		if i > 0 {
			fault.slow = min(25*time.Microsecond<<i, 2*time.Millisecond)
		}
		if last = checkBeside(t, id, fault); last.Status != conformance.Failed {
			continue
		}
		if !fault.hangs {
			require.NotContains(t, last.Reason, "hang:", "a fault that only the time limit catches must be marked as hanging")
		}
		if fault.slow > 0 {
			requireStatus(t, conformance.Passed, checkBeside(t, id, tampered{slow: fault.slow}))
		}
		t.Logf("try %d: %s", i+1, last.Reason)
		return
	}
	require.Fail(t, "a fault is not caught", "%s: %d tries of %s: %s %s", t.Name(), tries, id, last.Status, last.Reason)
}

// checkBeside runs claims/info, which must pass, and the case id, and returns the result of the latter.
func checkBeside(t *testing.T, id string, b tampered) conformance.Result {
	t.Helper()
	o := conformance.Options{Run: "^(" + id + "|claims/info)$", Shrink: -1}
	if b.hangs {
		o.Timeout = b.limit + 1000*b.slow
	}
	r, err := conformance.Check(context.Background(), b.open, o)
	require.NoError(t, err)
	require.Len(t, r.Results, 2)
	if !b.hangs || !strings.Contains(r.Results[0].Reason, "hang:") { // on a busy machine even claims/info may exceed the short time limit
		requireStatus(t, conformance.Passed, r.Results[0])
	}
	return r.Results[1]
}

func requireStatus(t *testing.T, want conformance.Status, r conformance.Result) {
	t.Helper()
	require.Equal(t, want, r.Status, "%s: %s", r.ID, r.Reason)
}

func (b tampered) open() (core.Backend, error) {
	switch {
	case b.Backend != nil:
	case b.slow > 0:
		b.Backend = ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			time.Sleep(b.slow)
			return ref.Eval(n, in)
		}))
	default:
		b.Backend = ref.New()
	}
	return b, nil
}

// hanging marks a fault that is caught by the time limit of a case.
func hanging(b tampered) tampered {
	b.hangs = true
	return b
}

// A stream that treats tensors, memory or contexts wrongly is caught by the named case.
func TestMutantStreamsAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		fault tampered
		id    string // a case that fails
	}{
		{"free does nothing", onSubmit(func(n []op.Node, _ []op.TensorID) ([]op.Node, []op.TensorID) { return n, nil }), "stream/free"},
		{"write keeps the caller's data", onStream(func(s core.Stream) core.Stream { return &borrower{base: base{s}} }), "stream/write-copies"},
		{"events forget failures", onEvent(quiet), "stream/sync-once"},
		{"errors lose their identity", onRead(mumbled), "stream/poison"},
		{"drop is ignored", onSubmit(func(n []op.Node, f []op.TensorID) ([]op.Node, []op.TensorID) {
			for i := range n {
				n[i].Drop = 0
			}
			return n, f
		}), "neg/f32/matrix/dropped"},
		{"calls after close are accepted", onStream(func(s core.Stream) core.Stream { return zombie{base{s}} }), "stream/closed"},
		{"leak", tampered{device: func(d core.Device) core.Device { return leaking{d} }}, "neg/f32/matrix/leak"},
		{"late event", onStream(func(s core.Stream) core.Stream { return &late{base: base{s}} }), "lifecycle/late-result"},
		{"index reported as shape", onStream(mistaken(core.ErrIndex, core.ErrShape)), "errors/index"},
		{"short memory reported as fault", onStream(mistaken(core.ErrOutOfMemory, core.ErrKernel)), "lifecycle/out-of-memory"},
		{"generation is ignored", onStream(func(s core.Stream) core.Stream { return forgetful{base{s}} }), "lifecycle/stale"},
		{"double free is accepted", onSubmit(lenient), "lifecycle/double-free"},
		{"canceled event swallows failures", onEvent(swallowing), "cancel/keeps-failure"},
		{"cause of a cancellation is lost", onRead(causeless), "stream/canceled"},
		{"neighbour is overwritten", onStream(func(s core.Stream) core.Stream { return &overrunning{base: base{s}} }), "neg/f32/matrix/guard"},
		{"guard band is overwritten", onDevice(func(d core.Device) core.Device { return &shaken{Device: d} }), "add/f32/same/plain"},
		{"read hangs", hanging(onRead(func(context.Context, core.Ticket) error { select {} })), "add/f32/same/plain"},
	} {
		t.Run(m.name, func(t *testing.T) {
			caught(t, m.id, m.fault)
		})
	}
}

type leaking struct{ core.Device }

func (l leaking) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := l.Device.OpenStream(ctx)
	return leaky{base{s}, l}, err
}

// Results that change from run to run fail a case if the backend claims to be deterministic. Otherwise the case is skipped.
func TestNondeterminismIsCaught(t *testing.T) {
	t.Parallel()
	for _, claims := range []bool{true, false} {
		flip := 0.0
		open := func() (core.Backend, error) {
			b := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
				out, err := ref.Eval(n, in)
				if n.Op == op.Exp && err == nil && len(out[0].F) > 0 {
					out[0].F[0] *= 1 + flip // the last bit
					flip = 0x1p-23 - flip
				}
				return out, err
			}), ref.Declaring(func(c *core.Capabilities) { c.Deterministic = claims }))
			return b, nil
		}
		r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^exp/f32/matrix/(twice|plain)$", Shrink: -1})
		require.NoError(t, err)
		want := [3]int{1, 1, 0}
		if !claims {
			want = [3]int{1, 0, 1}
		}
		require.Equal(t, want, [3]int{r.Passed, r.Failed, r.Skipped})
	}
}

// A product that accumulates f16 in f16 is caught.
func TestNarrowAccumulationIsCaught(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if n.Op == op.MatMul && err == nil && in[0].Desc.DType == dtype.F16 && len(in[0].Desc.Shape) == 2 && !n.Attrs.Bool("transpose_a") && !n.Attrs.Bool("transpose_b") {
			k, cols := in[0].Desc.Shape[1], in[1].Desc.Shape[1]
			for i := range out[0].F {
				s := 0.0
				for e := range k {
					s = ref.Round(dtype.F16, s+ref.Round(dtype.F16, in[0].F[i/cols*k+e]*in[1].F[e*cols+i%cols]))
				}
				out[0].F[i] = s
			}
		}
		return out, err
	}))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^matmul/f16/"})
	require.NoError(t, err)
	require.NotZero(t, r.Failed)
	require.NotZero(t, r.Passed)
}

// caughtAlone checks that a backend with a fault fails the case id, which a backend without faults skips.
func caughtAlone(t *testing.T, id string, fault tampered) {
	t.Helper()
	r, err := conformance.Check(context.Background(), fault.open, conformance.Options{Run: "^" + id + "$", Shrink: -1})
	require.NoError(t, err)
	require.Len(t, r.Results, 1)
	require.Equal(t, conformance.Failed, r.Results[0].Status, r.Results[0].Reason)
	t.Log(r.Results[0].Reason)
}
