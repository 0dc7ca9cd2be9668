package gpt2_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

var tiny = gpt2.Config{Layers: 2, Heads: 4, Size: 32, Vocabulary: 97, Context: 16}

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open(context.Background(), "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	d.Seed(1)
	return d
}

// parameters computes the number of parameters: embeddings, 12·D² + 13·D per layer, and the last norm.
func parameters(c gpt2.Config) int {
	return (c.Vocabulary+c.Context)*c.Size + c.Layers*(12*c.Size*c.Size+13*c.Size) + 2*c.Size
}

func TestParameters(t *testing.T) {
	require.Equal(t, 124_439_808, parameters(gpt2.Small)) // as the published weights have
	require.Equal(t, 1_557_611_200, parameters(gpt2.XL))
	trained, all := nn.Count(gpt2.New(open(t), tiny))
	require.Equal(t, parameters(tiny), trained)
	require.Equal(t, trained, all)
}

// The loss before training is close to the logarithm of the vocabulary size.
func TestFirstLoss(t *testing.T) {
	d := open(t)
	m := gpt2.New(d, tiny)
	x, y := d.RandomInt(dtype.I64, 0, 97, 4, 16), d.RandomInt(dtype.I64, 0, 97, 4, 16)
	loss, err := m.Loss(x, y).Float64(context.Background())
	require.NoError(t, err)
	require.InDelta(t, math.Log(97), loss, 0.05)
}

// A later token changes no earlier score, and decoding step by step results in the same scores as all tokens at once.
func TestCausalAndCache(t *testing.T) {
	ctx, d := context.Background(), open(t)
	m := gpt2.New(d, tiny)
	nn.Eval(m)
	x := tensor.From(d, []int64{1, 5, 9, 2, 7, 3}, 1, 6)
	whole, err := tensor.Data[float32](ctx, m.Forward(x))
	require.NoError(t, err)
	changed, err := tensor.Data[float32](ctx, m.Forward(tensor.From(d, []int64{1, 5, 9, 2, 7, 90}, 1, 6)))
	require.NoError(t, err)
	require.Equal(t, whole[:5*97], changed[:5*97])
	require.NotEqual(t, whole[5*97:], changed[5*97:])

	var c gpt2.Cache
	for _, part := range []struct{ from, n int }{{0, 3}, {3, 1}, {4, 2}} {
		got, err := tensor.Data[float32](ctx, m.Decode(x.Narrow(1, part.from, part.n), &c))
		require.NoError(t, err)
		require.InDeltaSlice(t, whole[part.from*97:(part.from+part.n)*97], got, 1e-5)
	}
	require.Equal(t, 6, c.Len())
}

func TestRefuses(t *testing.T) {
	d := open(t)
	m := gpt2.New(d, tiny)
	err := tensor.Try(func() { m.Forward(d.Zeros(dtype.I64, 1, 17)) })
	require.ErrorIs(t, err, core.ErrShape)
	require.ErrorContains(t, err, "17 positions, want at most 16")
	require.ErrorIs(t, tensor.Try(func() { m.Forward(d.Zeros(dtype.I64, 4)) }), core.ErrShape)
}
