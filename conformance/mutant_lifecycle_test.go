package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// base is a wrapped stream that keeps its optional interfaces.
type base struct{ core.Stream }

func (b base) Unwrap() any { return b.Stream }

// leaky keeps a copy of every result of neg.
type leaky struct {
	base
	hidden op.TensorID
}

func (l *leaky) Submit(nodes []op.Node) error {
	if err := l.Stream.Submit(nodes); err != nil {
		return err
	}
	for i := range nodes {
		if nodes[i].Op == op.Neg {
			n, err := op.New(op.Copy, nodes[i].Outputs)
			if err != nil {
				return err
			}
			l.hidden++
			n.Outputs[0].ID = 1<<40 + l.hidden
			if err := l.Stream.Submit([]op.Node{n}); err != nil {
				return err
			}
		}
	}
	return nil
}

// late works some time after the submission, and its Read does not wait for that.
type late struct {
	core.Stream
	mu sync.Mutex
	wg sync.WaitGroup
}

func (l *late) Submit(nodes []op.Node) error {
	nodes = slices.Clone(nodes)
	l.wg.Go(func() {
		time.Sleep(time.Millisecond)
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.Stream.Submit(nodes)
	})
	return nil
}

func (l *late) Write(ctx context.Context, d op.Desc, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Stream.Write(ctx, d, data)
}

func (l *late) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Stream.Read(ctx, id, dst); err != nil {
		clear(dst) // what is there before the kernel has run
	}
	return nil
}

func (l *late) Close() error {
	l.wg.Wait()
	return l.Stream.Close()
}

// mistaken gives one sentinel for another.
type mistaken struct {
	base
	from, to error
}

func (m mistaken) swap(err error) error {
	var ne *core.NodeError
	switch {
	case !errors.Is(err, m.from):
		return err
	case errors.As(err, &ne):
		return &core.NodeError{Op: ne.Op, Outputs: ne.Outputs, Err: m.to}
	}
	return m.to
}

func (m mistaken) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	return m.swap(m.Stream.Read(ctx, id, dst))
}
func (m mistaken) Sync(ctx context.Context) error { return m.swap(m.Stream.Sync(ctx)) }

// forgetful drops the generation of ids.
type forgetful struct{ base }

func (f forgetful) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	return f.Stream.Read(ctx, op.NewTensorID(0, id.Sequence()), dst)
}

// lenient frees an id twice without a word.
type lenient struct{ base }

func (l lenient) Free(ids []op.TensorID) error {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return l.Stream.Free(slices.Compact(ids))
}

// swallowing forgets failures when a Sync is given up.
type swallowing struct{ base }

func (s swallowing) Sync(ctx context.Context) error {
	err := s.Stream.Sync(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
	}
	return err
}

// causeless cancels without saying why.
type causeless struct{ base }

func (c causeless) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := c.Stream.Read(ctx, id, dst); !errors.Is(err, core.ErrCanceled) {
		return err
	}
	return core.ErrCanceled
}

// overrunning writes over the tensor that was written before the operands of a neg.
type overrunning struct {
	base
	written []op.Desc
}

func (o *overrunning) Write(ctx context.Context, d op.Desc, data []byte) error {
	o.written = append(o.written, d)
	return o.Stream.Write(ctx, d, data)
}

func (o *overrunning) Submit(nodes []op.Node) error {
	if nodes[0].Op == op.Neg && len(o.written) > 1 {
		if d := o.written[len(o.written)-2]; d.DType == dtype.U8 {
			if err := o.Stream.Write(context.Background(), d, make([]byte, d.Bytes())); err != nil {
				return err
			}
		}
	}
	return o.Stream.Submit(nodes)
}

// confused keeps one program and gives it every id.
type confused struct {
	base
	core.Programs
	real core.ProgramID
}

func (c *confused) Unwrap() any { return nil }

func (c *confused) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	id, err := c.Programs.Define(ctx, p, consts)
	c.real = id
	return id, err
}

func (c *confused) Run(_ core.ProgramID, in, out []op.TensorID) error {
	return c.Programs.Run(c.real, in, out)
}

// immortal keeps programs that are given up.
type immortal struct {
	base
	core.Programs
}

func (immortal) Unwrap() any                     { return nil }
func (immortal) Undefine(_ core.ProgramID) error { return nil }

// stuck never answers a Read.
type stuck struct{ base }

func (stuck) Read(context.Context, op.TensorID, []byte) error { select {} }

// shaken has a guard band that was written.
type shaken struct {
	base
	ran bool
}

func (s *shaken) Submit(nodes []op.Node) error {
	s.ran = true
	return s.Stream.Submit(nodes)
}

func (s *shaken) CheckGuards() error {
	if s.ran {
		return errors.New("byte 4 behind t7")
	}
	return nil
}

func programs(s core.Stream) core.Programs {
	p, _ := core.As[core.Programs](s)
	return p
}

// A stream that treats tensors, programs or contexts wrongly is caught by the case that is named, and passes others.
func TestMutantLivesAreCaught(t *testing.T) {
	for _, m := range []struct {
		name string
		wrap func(core.Stream) core.Stream
		id   string // a case that fails
	}{
		{"leak", func(s core.Stream) core.Stream { return &leaky{base: base{s}} }, "neg/f32/matrix/leak"},
		{"late event", func(s core.Stream) core.Stream { return &late{Stream: s} }, "lifecycle/late-result"},
		{"index reported as shape", func(s core.Stream) core.Stream { return mistaken{base{s}, core.ErrIndex, core.ErrShape} }, "errors/index"},
		{"short memory reported as fault", func(s core.Stream) core.Stream { return mistaken{base{s}, core.ErrOutOfMemory, core.ErrKernel} }, "lifecycle/out-of-memory"},
		{"generation is ignored", func(s core.Stream) core.Stream { return forgetful{base{s}} }, "lifecycle/stale"},
		{"double free is taken", func(s core.Stream) core.Stream { return lenient{base{s}} }, "lifecycle/double-free"},
		{"canceled sync swallows failures", func(s core.Stream) core.Stream { return swallowing{base{s}} }, "cancel/keeps-failure"},
		{"cause of a cancellation is lost", func(s core.Stream) core.Stream { return causeless{base{s}} }, "stream/canceled"},
		{"neighbour is overwritten", func(s core.Stream) core.Stream { return &overrunning{base: base{s}} }, "neg/f32/matrix/guard"},
		{"guard band is overwritten", func(s core.Stream) core.Stream { return &shaken{base: base{s}} }, "add/f32/same/plain"},
		{"programs are mixed up", func(s core.Stream) core.Stream { return &confused{base: base{s}, Programs: programs(s)} }, "program/two"},
		{"programs are not given up", func(s core.Stream) core.Stream { return immortal{base{s}, programs(s)} }, "program/undefine-twice"},
		{"read hangs", func(s core.Stream) core.Stream { return stuck{base{s}} }, "add/f32/same/plain"},
	} {
		t.Run(m.name, func(t *testing.T) {
			open := func() (core.Backend, error) { return wrapped{ref.New(), m.wrap}, nil }
			r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^(" + m.id + "|claims/info)$", Timeout: 300 * time.Millisecond, Shrink: -1})
			require.NoError(t, err)
			require.Len(t, r.Results, 2)
			require.Equal(t, conformance.Passed, r.Results[0].Status)
			require.Equal(t, conformance.Failed, r.Results[1].Status, "not caught")
		})
	}
}

// shared gives every stream the same tensors.
type shared struct {
	core.Backend
	once   sync.Once
	stream core.Stream
	mu     sync.Mutex
}

type part struct {
	base
	mu *sync.Mutex
}

func (p part) Submit(nodes []op.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Stream.Submit(nodes)
}

func (p part) Close() error { return nil }

func (s *shared) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	var err error
	s.once.Do(func() { s.stream, err = s.Backend.OpenStream(ctx, device) })
	return part{base{s.stream}, &s.mu}, err
}

// unstoppable leaves its streams open when it is closed.
type unstoppable struct{ core.Backend }

func (unstoppable) Close() error { return nil }

// refusing claims what Supports then refuses.
type refusing struct{ core.Backend }

func (r refusing) Supports(n *op.Node, in []op.Desc) error {
	if n.Op == op.Neg {
		return core.ErrUnsupported
	}
	return r.Backend.Supports(n, in)
}

// boasting names a feature that its streams lack.
type boasting struct{ core.Backend }

func (b boasting) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	s, err := b.Backend.OpenStream(ctx, device)
	return struct{ core.Stream }{s}, err
}

// A backend that is wrong as a whole is caught.
func TestMutantBackendsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name string
		wrap func(core.Backend) core.Backend
		id   string
	}{
		{"streams share tensors", func(b core.Backend) core.Backend { return &shared{Backend: b} }, "concurrent/updates"},
		{"close leaves streams open", func(b core.Backend) core.Backend { return unstoppable{b} }, "close/backend-at-work"},
		{"claimed primitive is refused", func(b core.Backend) core.Backend { return refusing{b} }, "neg/f32/matrix/plain"},
		{"feature that is not there", func(b core.Backend) core.Backend { return boasting{b} }, "claims/features"},
	} {
		t.Run(m.name, func(t *testing.T) {
			open := func() (core.Backend, error) { return m.wrap(ref.New()), nil }
			r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^" + m.id + "$", Shrink: -1})
			require.NoError(t, err)
			require.Equal(t, 1, r.Failed, "not caught")
		})
	}
}

// Results that change from run to run are caught where the backend says that it is deterministic, and only there.
func TestNondeterminismIsCaught(t *testing.T) {
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
			}))
			b.Capabilities().Deterministic = claims
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
