package interp_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// TestFragPack checks that a result of 16 × 16 that is packed as a factor and multiplied by the identity is the result, rounded to the
// factor's type.
func TestFragPack(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		mma := ir.MMA{M: 16, N: 8, K: 16, Type: d}
		b := ir.New("pack", 32)
		b.SetSubgroup(32)
		x, unit, y := b.Buffer("x", dtype.F32, ir.Read), b.Shared("unit", d, 256), b.Buffer("y", dtype.F32, ir.Write)
		b.For(b.Thread(), b.Int(256), 32, func(i ir.Value) {
			on := b.Eq(b.Div(i, b.Int(16)), b.Rem(i, b.Int(16)))
			b.SharedStore(unit, i, b.Cast(d, b.Select(on, b.Float(dtype.F32, 1), b.Float(dtype.F32, 0))))
		})
		b.Barrier()
		first, packed := b.Fragments("first", mma, ir.C, 3), b.Fragments("packed", mma, ir.A, 2)
		factor, second := b.Fragments("factor", mma, ir.B, 1), b.Fragments("second", mma, ir.C, 2)
		region := func(c, e int) ir.Value {
			row := b.Add(b.Div(b.Lane(), b.Int(4)), b.Int(8*(e/2)))
			return b.Add(b.Mul(row, b.Int(16)), b.Add(b.Mul(b.Rem(b.Lane(), b.Int(4)), b.Int(2)), b.Int(8*c+e%2)))
		}
		for c := range 2 {
			b.FragFill(second, b.Int(c), b.Float(dtype.F32, 0))
			b.FragFill(first, b.Int(c+1), b.Float(dtype.F32, 0))
			for e := range 4 {
				b.FragSet(first, b.Int(c+1), e, b.Load(x, region(c, e)))
			}
		}
		b.FragPack(packed, b.Int(1), first, b.Int(1))
		for c := range 2 {
			b.FragLoad(factor, b.Int(0), unit, b.Int(8*c), b.Int(16), false)
			b.FragMMA(second, b.Int(c), packed, b.Int(1), factor, b.Int(0))
			for e := range 4 {
				b.Store(y, region(c, e), b.FragGet(second, b.Int(c), e))
			}
		}
		in, out := make([]float32, 256), make([]float32, 256)
		for i := range in {
			in[i] = float32(i)*0.37 - 40
		}
		l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
		require.NoError(t, ir.Check(l, []int64{1024, 1024}, ir.Limits{}))
		require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(in), dtype.Bytes(out)}, interp.Options{Races: true}))
		for i, v := range in {
			want := dtype.Float16From64(float64(v)).Float32()
			if d == dtype.BF16 {
				want = dtype.BFloat16From64(float64(v)).Float32()
			}
			require.Equal(t, want, out[i], "%v element %d", d, i)
		}
	}
}

// TestExp2Fast checks that Exp2Fast equals Exp2 for normal results, and is 0 for a subnormal one.
func TestExp2Fast(t *testing.T) {
	b := ir.New("exp2", 4)
	x, y := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write)
	b.Store(y, b.Thread(), b.Unary(ir.Exp2Fast, b.Load(x, b.Thread())))
	in, out := []float32{3, -126, -127, 0.5}, make([]float32, 4)
	l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
	require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(in), dtype.Bytes(out)}, interp.Options{}))
	require.Equal(t, []float32{8, 0x1p-126, 0, 1.4142135}, out)
}
