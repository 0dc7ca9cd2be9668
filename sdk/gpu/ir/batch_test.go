package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// doubled returns a launch that doubles n numbers at the beginning of a slot, or from an offset on.
func doubled(slot, offset, n int) ir.Launch {
	b := ir.New("doubled", 32)
	x := b.Buffer("x", dtype.F32, ir.Read|ir.Write)
	count, two := b.Scalar("n", dtype.I32), b.Scalar("two", dtype.F32)
	i := b.Add(b.Mul(b.Block(0), b.Int(32)), b.Thread())
	b.If(b.Lt(i, count), func() { b.Store(x, i, b.Mul(b.Load(x, i), two)) })
	return ir.Launch{Kernel: b.Kernel(), Grid: [3]int{(n + 31) / 32, 1, 1},
		Args: []ir.Arg{{Slot: slot, Offset: int64(4 * offset)}, {Bits: uint64(n)}, {Bits: 0x40000000}}}
}

func TestBatch(t *testing.T) {
	l, ok := ir.Batch([]ir.Launch{doubled(0, 0, 5), doubled(1, 0, 70), doubled(0, 5, 64)})
	require.True(t, ok)
	require.Equal(t, 3, l.Kernel.Members)
	require.Equal(t, [3]int{6, 1, 1}, l.Grid)
	require.Equal(t, []int32{0, 1, 4}, l.Starts)
	require.Len(t, l.Args, 7, "the factor is the same in all members")
	require.Equal(t, 3*8+16+8+16, l.Kernel.ParamBytes())
	bytes := []int64{4 * 70, 4 * 70}
	require.NoError(t, ir.Check(l, bytes, ir.Limits{Params: 64}))
	for _, order := range []interp.Order{interp.Forward, interp.Backward, interp.Shuffled} {
		x, y := make([]float32, 70), make([]float32, 70)
		for i := range x {
			x[i], y[i] = float32(i), float32(-i)
		}
		require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(x), dtype.Bytes(y)}, interp.Options{Order: order}))
		for i := range x {
			want := float32(2 * i)
			if i == 69 {
				want = 69
			}
			require.Equal(t, []float32{want, float32(-2 * i)}, []float32{x[i], y[i]}, "element %d", i)
		}
	}
}

// TestCheckOfBatches checks that Check finds faults of a batched launch and of its members.
func TestCheckOfBatches(t *testing.T) {
	for name, c := range map[string]struct {
		limits ir.Limits
		wrong  func(l *ir.Launch)
		text   string
	}{
		"member":     {wrong: func(l *ir.Launch) { l.Args[3].Bits = 71 }, text: "member 1: .*has 70 elements"},
		"arguments":  {wrong: func(l *ir.Launch) { l.Args = l.Args[1:] }, text: "4 arguments and 2 starts for 2 members, want 5 arguments"},
		"starts":     {wrong: func(l *ir.Launch) { l.Starts = l.Starts[1:] }, text: "1 starts"},
		"empty":      {wrong: func(l *ir.Launch) { l.Starts = []int32{0, 4} }, text: "a member without blocks"},
		"rows":       {wrong: func(l *ir.Launch) { l.Grid[1] = 2 }, text: "in grid"},
		"parameters": {wrong: func(*ir.Launch) {}, limits: ir.Limits{Params: 47}, text: "48 bytes of parameters, at most 47"},
		"grid":       {wrong: func(*ir.Launch) {}, limits: ir.Limits{Grid: [3]int{3, 1, 1}}, text: "grid"},
		"each":       {wrong: func(l *ir.Launch) { l.Kernel.Members = 0 }, text: "one of each member"},
	} {
		t.Run(name, func(t *testing.T) {
			l, ok := ir.Batch([]ir.Launch{doubled(0, 0, 5), doubled(1, 0, 70)})
			require.True(t, ok)
			c.wrong(&l)
			err := ir.Check(l, []int64{4 * 70, 4 * 70}, c.limits)
			require.Error(t, err)
			require.Regexp(t, c.text, err.Error())
		})
	}
	other := doubled(0, 0, 5)
	other.Grid[1] = 2
	for _, ls := range [][]ir.Launch{nil, {other}, {doubled(0, 0, 5), other}} {
		_, ok := ir.Batch(ls)
		require.False(t, ok)
	}
	l, _ := ir.Batch([]ir.Launch{doubled(0, 0, 5), doubled(1, 0, 70)})
	_, ok := ir.Batch([]ir.Launch{l, l})
	require.False(t, ok)
}
