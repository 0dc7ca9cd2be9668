package tensor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/tensor"
)

func stream(t *testing.T, d *tensor.Device) *tensor.Device {
	t.Helper()
	q, err := d.NewStream(ctx)
	require.NoError(t, err)
	return q
}

// empty fails if tensors are left after the garbage collector has found the unreachable ones. It syncs d and queues; other queues must be
// synced.
func empty(t *testing.T, d *tensor.Device, queues ...*tensor.Device) {
	t.Helper()
	left := int64(0)
	for range 50 {
		runtime.GC()
		for _, q := range append(queues, d) {
			require.NoError(t, q.Sync(ctx))
		}
		m, ok := d.Memory()
		require.True(t, ok)
		if left = m.Tensors; left == 0 {
			return
		}
	}
	t.Fatalf("%d tensors left", left)
}

// TestQueuesAreInOrder creates tensors on one queue and uses them on another, in both directions and through views, without explicit
// synchronisation. A tensor that is released early exists as long as it is used.
func TestQueuesAreInOrder(t *testing.T) {
	d := open(t)
	other := stream(t, d)
	require.Equal(t, d.Core(), other.Core())
	for i := range 50 {
		a := d.Full(dtype.F32, float64(i), 300, 300)
		for range 4 {
			b := a.AddScalar(1)
			a.Release()
			a = b
		}
		b := a.On(other).MulScalar(2) // on other
		a.Release()
		require.Equal(t, other.Core(), b.Device().Core())
		c := d.Ones(dtype.F32, 300, 300).Add(b) // on d
		b.Release()
		e := other.Op(op.Neg, []*tensor.Tensor{c})[0]
		c.Release()
		v := data[float32](t, e.On(d))
		require.Equal(t, -float32(2*(i+4)+1), v[0])
		require.Equal(t, v[0], v[len(v)-1])
		e.Release()
	}
	empty(t, d, other)
}

// The collector frees tensors that several queues used.
func TestGarbageOfQueuesIsCollected(t *testing.T) {
	d := open(t)
	other := stream(t, d)
	func() {
		for range 10 {
			x := d.Ones(dtype.F32, 1000)
			x.On(other).AddScalar(1).On(d).AddScalar(1)
		}
	}()
	empty(t, d, other)
}

// Close of a handle closes only its queue: tensors made on it stay valid, and compute on the first queue.
func TestCloseOfAQueue(t *testing.T) {
	d := open(t)
	other := stream(t, d)
	x := other.Iota(dtype.F32, 4).AddScalar(1)
	y := d.Ones(dtype.F32, 4)
	z := y.On(other).Add(x)
	require.NoError(t, other.Close())
	require.NoError(t, other.Close())
	require.ErrorIs(t, other.Sync(ctx), core.ErrClosed)
	require.Equal(t, []float32{2, 3, 4, 5}, data[float32](t, z))
	require.Equal(t, []float32{1, 2, 3, 4}, data[float32](t, x))
	require.Equal(t, []float32{2, 4, 6, 8}, data[float32](t, x.Add(x)))
	require.Equal(t, []float32{3, 4, 5, 6}, data[float32](t, y.Add(z)))
	_, err := tensor.Data[float32](ctx, other.Ones(dtype.F32, 1))
	require.ErrorIs(t, err, core.ErrClosed)
	third := stream(t, d)
	third.Ones(dtype.F32, 3).IndexSelect(0, tensor.From(third, []int64{9}))
	require.ErrorIs(t, third.Close(), core.ErrIndex)
	require.NoError(t, d.Sync(ctx))
}

// Eight goroutines, each with its own queue, share weights; each releases its tensors.
func TestQueuesShareWeights(t *testing.T) {
	d := open(t)
	w := d.Eye(dtype.F32, 16, 16).MulScalar(2)
	var wg sync.WaitGroup
	for g := range 8 {
		q := stream(t, d)
		wg.Go(func() {
			for i := range 40 {
				tensor.Scope(q, func(q *tensor.Device) []*tensor.Tensor {
					x := q.Full(dtype.F32, float64(g+i), 4, 16)
					v, err := tensor.Data[float32](ctx, x.MatMul(w).Sum())
					if err != nil || v[0] != float32(2*64*(g+i)) {
						t.Errorf("goroutine %d: %v, %v", g, v, err)
					}
					return nil
				})
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, float32(2), data[float32](t, w)[0])
	w.Release()
	empty(t, d)
}

// double returns a program for y = 2x, twice: its outputs are y, y and x.
func double(t *testing.T) *program.Program {
	in, two := op.DescOf(dtype.F32, 4), op.DescOf(dtype.F32)
	in.ID, two.ID = 1, 2
	next := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { next++; return next })
	y := b.Do(op.Mul, in, two)
	require.NoError(t, b.Err())
	return &program.Program{Name: "double", Inputs: []op.Desc{in}, Consts: []op.Desc{two}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, y.ID, in.ID}}
}

// A program runs on any queue, and on several concurrently. All handles on donated tensors become invalid.
func TestRunOnQueues(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) *tensor.Device{
		"programs": open,
		"replayed": func(t *testing.T) *tensor.Device { return openWith(t, &strict{}) },
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			e, err := d.Compile(ctx, double(t), []*tensor.Tensor{tensor.Scalar[float32](d, 2)})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for g := range 4 {
				q := stream(t, d)
				x := tensor.From(d, []float32{float32(g), 0, 0, 1}) // on the first queue
				wg.Go(func() {
					for range 10 {
						outs, err := e.RunOn(q, []*tensor.Tensor{x}, []bool{true})
						if err != nil {
							t.Error(err)
							return
						}
						x.Release() // does nothing
						if err := tensor.Try(func() { x.Neg() }); err == nil {
							t.Error("a donated tensor was used")
						}
						x = outs[0]
						outs[1].Release()
						outs[2].Release()
					}
					v, err := tensor.Data[float32](ctx, x)
					if err != nil || v[0] != float32(g*1024) || v[3] != 1024 {
						t.Errorf("queue %d: %v, %v", g, v, err)
					}
					x.Release()
					if err := q.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			a := tensor.From(d, []float32{1, 2, 3, 4})
			view, shared := a.On(stream(t, d)), a.Reshape(2, 2)
			outs, err := e.RunOn(d, []*tensor.Tensor{a}, []bool{true})
			require.NoError(t, err)
			require.ErrorContains(t, tensor.Try(func() { view.Neg() }), "was released")
			_, err = a.Bytes(ctx)
			require.ErrorIs(t, err, core.ErrUnknownTensor)
			require.Equal(t, []float32{1, 2, 3, 4}, data[float32](t, shared), "memory that others hold is not reused")
			require.Equal(t, []float32{2, 4, 6, 8}, data[float32](t, outs[1]))
			require.Equal(t, []float32{1, 2, 3, 4}, data[float32](t, outs[2]))
			_, err = e.RunOn(d, []*tensor.Tensor{a}, []bool{true})
			require.ErrorIs(t, err, core.ErrAttr)
			_, err = e.Run([]*tensor.Tensor{a})
			require.ErrorIs(t, err, core.ErrUnknownTensor)
			_, err = e.RunOn(d, []*tensor.Tensor{outs[0]}, []bool{true, false})
			require.ErrorIs(t, err, core.ErrAttr)
			require.Equal(t, []float32{2, 4, 6, 8}, data[float32](t, outs[0]), "an error gives nothing up")
			for _, o := range append(outs, shared) {
				o.Release()
			}
			require.NoError(t, e.Close())
			empty(t, d)
		})
	}
}

// strict is a device without programs that refuses selected nodes.
type strict struct {
	core.Device
	refuse func(nodes []op.Node) bool
	hold   <-chan struct{} // reads are not answered before it is closed
}

var errRefused = fmt.Errorf("too much: %w", core.ErrProtocol)

func (s *strict) OpenStream(ctx context.Context) (core.Stream, error) {
	q, err := s.Device.OpenStream(ctx)
	return &strictStream{q, s}, err
}

func (s *strict) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && s.Device.Extend(target)
}

type strictStream struct {
	core.Stream
	device *strict
}

func (s *strictStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if f := s.device.refuse; f != nil && f(nodes) {
		return errRefused
	}
	return s.Stream.Submit(nodes, free)
}

// strictBackend opens one device behind s.
type strictBackend struct {
	core.Backend
	s *strict
}

func (b strictBackend) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	b.s.Device = d
	return b.s, err
}

func openWith(t *testing.T, s *strict) *tensor.Device {
	t.Helper()
	p, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	d, err := tensor.On(ctx, p.With(func(b core.Backend) core.Backend { return strictBackend{b, s} }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(d.Close(), p.Close())) })
	return d
}

// A refused Submit fails its nodes and everything computed from them, on all queues; other work continues.
func TestRefusedSubmit(t *testing.T) {
	s := &strict{refuse: func(nodes []op.Node) bool {
		for i := range nodes {
			if nodes[i].Op == op.Sin {
				return true
			}
		}
		return false
	}}
	d := openWith(t, s)
	other := stream(t, d)
	x := d.Ones(dtype.F32, 3)
	require.NoError(t, d.Sync(ctx))
	bad := x.Sin()
	worse := bad.Exp().Add(x)
	far := other.Ones(dtype.F32, 3).Mul(worse)
	require.ErrorIs(t, d.Sync(ctx), core.ErrProtocol)
	require.NoError(t, d.Sync(ctx), "reported once")
	beside := x.AddScalar(1)
	for _, y := range []*tensor.Tensor{bad, worse, far, far} {
		_, err := y.Bytes(ctx)
		require.ErrorIs(t, err, core.ErrProtocol)
	}
	require.Equal(t, []float32{2, 2, 2}, data[float32](t, beside))
	e, err := d.Compile(ctx, double(t), []*tensor.Tensor{tensor.Scalar[float32](d, 2)})
	require.NoError(t, err)
	outs, err := e.RunOn(d, []*tensor.Tensor{tensor.From(d, []float32{1, 2, 3, 4}).Sin()}, []bool{true})
	require.NoError(t, err)
	_, err = outs[0].Bytes(ctx)
	require.ErrorIs(t, err, core.ErrProtocol)
	for _, y := range append(outs, bad, worse, far, beside, x) {
		y.Release()
	}
	require.NoError(t, e.Close())
	require.NoError(t, other.Sync(ctx))
	require.ErrorIs(t, d.Sync(ctx), core.ErrProtocol, "of the second refusal")
	empty(t, d, other)
}

// heldTicket is ready when hold is closed.
type heldTicket struct {
	core.Ticket
	hold <-chan struct{}
}

func (h heldTicket) Wait(ctx context.Context) error {
	select {
	case <-h.hold:
		return h.Ticket.Wait(ctx)
	case <-ctx.Done():
		_ = h.Ticket.Wait(ctx)
		return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
	}
}

func (s *strictStream) Read(id op.TensorID, dst []byte) core.Ticket {
	t := s.Stream.Read(id, dst)
	if s.device.hold != nil {
		return heldTicket{t, s.device.hold}
	}
	return t
}

// While one goroutine waits for a read, others use the queue, and the tensor that is read may be released.
func TestReadsWaitWithoutTheQueue(t *testing.T) {
	hold := make(chan struct{})
	s := &strict{}
	d := openWith(t, s)
	x := tensor.From(d, []float32{1, 2, 3})
	s.hold = hold
	type answer struct {
		v   []float32
		err error
	}
	read := make(chan answer)
	go func() {
		v, err := tensor.Data[float32](ctx, x)
		read <- answer{v, err}
	}()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := x.Bytes(ended)
	require.ErrorIs(t, err, core.ErrCanceled)
	y := x.AddScalar(1)
	require.NoError(t, d.Sync(ctx))
	close(hold)
	a := <-read
	require.NoError(t, a.err)
	require.Equal(t, []float32{1, 2, 3}, a.v)
	require.Equal(t, []float32{2, 3, 4}, data[float32](t, y))
}
