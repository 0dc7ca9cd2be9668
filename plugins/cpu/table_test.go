package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// exempt lists ops that a complete backend would have, with the reason why this one does not.
var exempt = map[op.Code]string{}

// claimed lists the composites that have kernels of their own.
var claimed = []op.Code{op.Reciprocal, op.Rsqrt, op.Square, op.Sign, op.Trunc, op.Asinh, op.Acosh, op.Atanh, op.IsInf, op.NotEqual,
	op.Greater, op.GreaterEqual, op.LessEqual, op.FloorMod, op.Clamp,
	op.Relu, op.LeakyRelu, op.PRelu, op.Elu, op.Selu, op.Celu, op.Sigmoid, op.HardSigmoid, op.HardSwish, op.Silu, op.Gelu, op.Mish,
	op.Softplus, op.Softsign, op.ThresholdedRelu, op.Softmax, op.LogSoftmax,
	op.Mean, op.Variance, op.LogSumExp, op.BatchNorm, op.LayerNorm, op.RMSNorm, op.GroupNorm,
	op.Linear, op.AvgPool, op.LSTM, op.GRU, op.Attention, op.GatherElements, op.ScatterElements, op.CacheWrite, op.TopK, op.Quantize, op.Dequantize, op.MatMulInteger, op.ConvInteger, op.RandomBitsAt}

func TestEveryPrimitiveHasAKernelForEveryType(t *testing.T) {
	for _, c := range op.All() {
		row := op.Lookup(c)
		rule, ok := rules()[c]
		if reason, skip := exempt[c]; skip {
			require.NotEmpty(t, reason)
			require.False(t, ok, "%s has a kernel and an exemption", row.Name)
			continue
		}
		if row.Class != op.Primitive {
			continue
		}
		require.True(t, ok, row.Name)
		want := dtype.Any
		switch {
		case len(row.Operands) > 0:
			want = row.Operands[0].Types
		case c == op.Iota:
			want = dtype.Numbers // C3 of the row
		case c == op.RandomBits:
			want = dtype.SetOf(dtype.I32, dtype.U32) // C2 of the row
		}
		require.Equal(t, want, rule.Types, row.Name)
	}
}

func TestClaims(t *testing.T) {
	var got []op.Code
	for c := range rules() {
		if op.Lookup(c).Class == op.Composite {
			require.Equal(t, op.Lookup(c).Operands[0].Types, rules()[c].Types, c.String())
			got = append(got, c)
		}
	}
	require.ElementsMatch(t, claimed, got)
}

func TestSupports(t *testing.T) {
	_, b := open(t, core.Config{})
	caps := b.dev.Capabilities()
	x := op.DescOf(dtype.F32, 2)
	n, err := op.New(op.Neg, list(x))
	require.NoError(t, err)
	require.NoError(t, caps.Check(&n, list(x)))
	n.Version = 9
	require.ErrorIs(t, caps.Check(&n, list(x)), core.ErrUnsupported)
	idx := op.DescOf(dtype.I64, 2)
	n, err = op.New(op.OneHot, list(idx), op.Int("depth", 3), op.Int("axis", 1), op.Type("dtype", dtype.F32))
	require.NoError(t, err)
	require.ErrorIs(t, caps.Check(&n, list(idx)), core.ErrUnsupported, "the host decomposes it")
}

func TestOptions(t *testing.T) {
	for _, c := range []core.Config{{Threads: -1}, {Options: map[string]string{"memory_limit": "x"}},
		{Options: map[string]string{"memory_limit": "-1"}}, {Options: map[string]string{"speed": "1"}}} {
		_, err := New(c)
		require.ErrorIs(t, err, core.ErrAttr)
	}
	b, err := core.Open("cpu", core.Config{Options: map[string]string{"memory_limit": "3g"}})
	require.NoError(t, err)
	require.EqualValues(t, 3<<30, b.Info().Devices[0].Memory)
	_, err = b.Open(ctx, 1)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NoError(t, b.Close())
	_, err = b.Open(ctx, 0)
	require.ErrorIs(t, err, core.ErrClosed)
}
