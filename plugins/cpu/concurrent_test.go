package cpu

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// concurrently runs a program of one input and one output on several streams at once, and compares the bytes of all results
// with those of a single run.
func concurrently(b *bed, id core.ProgramID, in, out op.Desc) {
	b.t.Helper()
	run := func(s core.Stream) ([]byte, error) {
		y := b.dev.NewIDs(1) + 1<<20 // away from the ids that the test counts
		programs, _ := core.Extension[core.Programs](b.dev)
		if err := programs.Run(s, core.Run{Program: id, Inputs: []op.TensorID{in.ID}, Outputs: []op.TensorID{y}}); err != nil {
			return nil, err
		}
		data := make([]byte, out.Bytes())
		if err := core.Read(ctx, s, y, data); err != nil {
			return nil, err
		}
		return data, s.Submit(nil, []op.TensorID{y})
	}
	want, err := run(b.Stream)
	require.NoError(b.t, err)
	ready := b.Signal()
	var all sync.WaitGroup
	for range 4 {
		s, err := b.dev.OpenStream(ctx)
		require.NoError(b.t, err)
		require.NoError(b.t, s.Wait(ready))
		all.Go(func() {
			for range 3 {
				got, err := run(s)
				if err != nil || string(got) != string(want) {
					b.t.Errorf("the result differs from a single run, or the run failed: %v", err)
				}
			}
			if err := s.Close(); err != nil {
				b.t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestConcurrentLayers runs a program on several streams at once, for each kind of kernel that keeps state between calls.
func TestConcurrentLayers(t *testing.T) {
	for name, c := range map[string]struct {
		input shape.Shape
		build func(k *sketch, x op.Desc) op.Desc
	}{
		"conv":      {shape.Of(2, 8, 30, 30), func(k *sketch, x op.Desc) op.Desc { return k.Do(op.Relu, k.conv(x, k.constant(16, 8, 3, 3), 1)) }},
		"winograd":  {shape.Of(1, 32, 28, 28), func(k *sketch, x op.Desc) op.Desc { return k.conv(x, k.constant(32, 32, 3, 3), 1) }},
		"1x1":       {shape.Of(1, 32, 14, 14), func(k *sketch, x op.Desc) op.Desc { return k.conv(x, k.constant(24, 32, 1, 1), 1) }},
		"depthwise": {shape.Of(1, 16, 20, 20), func(k *sketch, x op.Desc) op.Desc { return k.conv(x, k.constant(16, 1, 3, 3), 16) }},
		"product, bias": {shape.Of(40, 50), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.MatMul, x, k.constant(50, 60)), k.constant(60))
		}},
		"norm": {shape.Of(20, 64), func(k *sketch, x op.Desc) op.Desc {
			return k.With(op.LayerNorm, list(x, k.constant(64), k.constant(64)), op.Int("axis", 1))
		}},
		"softmax, reduce": {shape.Of(20, 64), func(k *sketch, x op.Desc) op.Desc {
			return k.Reduce(op.Sum, k.With(op.Softmax, list(x), op.Int("axis", 1)), true, 0)
		}},
		"sort, scan": {shape.Of(20, 64), func(k *sketch, x op.Desc) op.Desc { return k.With(op.CumSum, list(x), op.Int("axis", 1)) }},
		"attention":  {shape.Of(1, 2, 40, 16), func(k *sketch, x op.Desc) op.Desc { return k.With(op.Attention, list(x, x, x)) }},
		"lstm": {shape.Of(6, 2, 8), func(k *sketch, x op.Desc) op.Desc {
			return k.With(op.LSTM, list(x, k.constant(1, 48, 8), k.constant(1, 48, 12), k.constant(1, 48), k.constant(1, 2, 12), k.constant(1, 2, 12)))
		}},
		"gru": {shape.Of(6, 2, 8), func(k *sketch, x op.Desc) op.Desc {
			return k.With(op.GRU, list(x, k.constant(1, 36, 8), k.constant(1, 36, 12), k.constant(1, 36), k.constant(1, 36), k.constant(1, 2, 12)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			k, x := newSketch(c.input...)
			y := c.build(k, x)
			require.NoError(t, k.Err())
			id, _ := k.bind(t, b, y)
			concurrently(b, id, put(b, random(7, x.Shape.Size()), x.Shape...), y)
		})
	}
}

// TestStreamsShareWeights runs a product on several streams and checks that the weights are in memory once.
func TestStreamsShareWeights(t *testing.T) {
	const n = 512
	for _, sharing := range []string{"one", "all"} {
		_, b := open(t, core.Config{Threads: 2, Options: map[string]string{"threads_per_stream": sharing}})
		k, x := newSketch(4, n)
		y := k.Do(op.MatMul, x, k.constant(n, n))
		id, consts := k.bind(t, b, y)
		require.NoError(t, b.Free([]op.TensorID{consts[0].ID}))
		in := put(b, random(7, 4*n), 4, n)
		require.NoError(t, b.Sync(ctx))
		before := b.Memory().InUse
		require.Less(t, before, int64(4*n*n*5/4))
		concurrently(b, id, in, y)
		require.Equal(t, before, b.Memory().InUse)
	}
}

// TestDonation donates two tensors to each run, whose outputs replace them: memory does not grow, addresses stay the same, and donated
// ids become unknown.
func TestDonation(t *testing.T) {
	const n = 1 << 12
	b := newBed(t)
	k, p := newSketch(n)
	k.next++
	m := op.Desc{ID: k.next, DType: dtype.F32, Shape: shape.Of(n)}
	k.next++
	g := op.Desc{ID: k.next, DType: dtype.F32, Shape: shape.Of(n)}
	k.p.Inputs = list(p, m, g)
	m1 := k.Do(op.Add, k.Do(op.Mul, m, k.constant()), g)
	p1 := k.Do(op.Sub, p, k.Do(op.Mul, m1, k.constant()))
	id, _ := k.bind(t, b, p1, m1)
	programs := extension[core.Programs](b)
	param, moment := put(b, random(1, n), n), put(b, make([]float32, n), n)
	grad := put(b, random(2, n), n)
	keep := b.do(op.Copy, list(param))[0]
	require.NoError(t, b.Sync(ctx))
	start := b.Memory()
	at := []any{b.address(param.ID), b.address(moment.ID)}
	want := append([]float32(nil), get[float32](b, param)...)
	state := make([]float32, n)
	decay, rate := k.data[0][0], k.data[1][0]
	for range 20 {
		next := []op.TensorID{b.id(), b.id()}
		require.NoError(t, programs.Run(b.Stream, core.Run{Program: id, Inputs: []op.TensorID{param.ID, moment.ID, grad.ID},
			Donated: []bool{true, true, false}, Outputs: next}))
		require.ErrorIs(t, b.Read(ctx, param.ID, nil), core.ErrUnknownTensor)
		param.ID, moment.ID = next[0], next[1]
		require.Equal(t, at, []any{b.address(param.ID), b.address(moment.ID)})
		require.Equal(t, start, b.Memory())
		for i, g := range random(2, n) {
			state[i] = state[i]*decay + g
			want[i] -= state[i] * rate
		}
	}
	require.InDeltaSlice(t, want, get[float32](b, param), 1e-4)
	require.Equal(t, random(1, n), get[float32](b, keep))

	for i, r := range []core.Run{
		{Inputs: []op.TensorID{param.ID, param.ID, grad.ID}, Donated: []bool{true, false, false}},
		{Inputs: []op.TensorID{param.ID, moment.ID, grad.ID}, Donated: []bool{true}},
	} {
		r.Program, r.Outputs = id, []op.TensorID{b.id(), b.id()}
		require.ErrorIs(t, programs.Run(b.Stream, r), core.ErrAttr, fmt.Sprint(i))
	}
	require.InDeltaSlice(t, want, get[float32](b, param), 1e-4, "a refused run takes nothing")

	// A read that was queued before the run returns the elements, although the tensor is donated.
	got := make([]float32, n)
	before := b.Stream.Read(param.ID, bytesOf(got))
	require.NoError(t, programs.Run(b.Stream, core.Run{Program: id, Inputs: []op.TensorID{param.ID, moment.ID, grad.ID},
		Donated: []bool{true, true, true}, Outputs: []op.TensorID{b.id(), b.id()}}))
	require.NoError(t, b.Sync(ctx))
	require.NoError(t, before.Wait(ctx))
	require.InDeltaSlice(t, want, got, 1e-4)
}
