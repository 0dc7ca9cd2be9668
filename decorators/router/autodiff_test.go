package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/router"
)

// train runs five forward and backward passes of a small network on b behind autodiff. It returns the bytes of all gradients and closes b.
func train(t *testing.T, b core.Backend) []byte {
	wrapped := autodiff.Wrap(b)
	defer func() { _ = wrapped.Close() }()
	d, err := wrapped.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	grads, ok := core.Extension[core.Gradients](d)
	require.True(t, ok)
	next := func() op.TensorID { return d.NewIDs(1) }
	random := func(seed uint64, dims ...int) op.Desc {
		desc := op.Desc{ID: next(), DType: dtype.F32, Shape: dims}
		v := make([]float32, desc.Shape.Size())
		for i := range v {
			seed = seed*6364136223846793005 + 1442695040888963407
			v[i] = float32(int32(seed>>33))/(1<<31) - 0.5
		}
		require.NoError(t, s.Write(ctx, desc, dtype.Bytes(v)))
		return desc
	}
	w1, w2 := random(1, 6, 8), random(2, 8, 3)
	require.NoError(t, grads.Track([]op.TensorID{w1.ID, w2.ID}))
	var bits []byte
	for step := range uint64(5) {
		x := random(10+step, 4, 6)
		build := op.NewBuilder(next)
		h := build.Do(op.Tanh, build.Do(op.MatMul, x, w1))
		y := build.Do(op.Exp, build.Do(op.MatMul, h, w2))
		require.NoError(t, build.Err())
		for i := range build.Nodes {
			require.NoError(t, s.Submit(build.Nodes[i:i+1], nil))
		}
		got, err := grads.Backward(s, []op.Desc{y}, []op.Desc{random(20+step, 4, 3)}, []op.TensorID{w1.ID, w2.ID})
		require.NoError(t, err)
		for _, g := range got {
			data := make([]byte, g.Desc.Bytes())
			require.NoError(t, core.Read(ctx, s, g.Desc.ID, data))
			bits = append(bits, data...)
		}
	}
	require.NoError(t, core.Sync(ctx, s))
	return bits
}

// Gradients over a router are bitwise equal to those over one member, also if consecutive commands run on different members.
func TestAutodiff(t *testing.T) {
	want := train(t, processor(t))
	require.NotEmpty(t, want)
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		b, err := router.New(places(t))
		require.NoError(t, err)
		require.Equal(t, want, train(t, b))
		b, err = router.New(places(t))
		require.NoError(t, err)
		require.Equal(t, want, train(t, scattered{b}))
	})
	b, err := router.New([]*core.Place{place("a", plant(t, "matmul", "mul")), place("b", processor(t))})
	require.NoError(t, err)
	require.Equal(t, want, train(t, b))
}
