package onnx

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// exactly converts f to the integer type d in exact arithmetic: it truncates towards zero, saturates at the limits of the range and
// turns NaN into 0.
func exactly(d dtype.DType, f float64) *big.Int {
	one := big.NewInt(1)
	bits := uint(8 * d.Size())
	lo, hi := new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)
	if d.Class() == dtype.Signed {
		hi.Sub(new(big.Int).Lsh(one, bits-1), one)
		lo.Neg(new(big.Int).Lsh(one, bits-1))
	}
	switch {
	case math.IsNaN(f):
		return new(big.Int)
	case math.IsInf(f, 1):
		return hi
	case math.IsInf(f, -1):
		return lo
	}
	v, _ := new(big.Float).SetFloat64(f).Int(nil)
	if v.Cmp(lo) < 0 {
		return lo
	}
	if v.Cmp(hi) > 0 {
		return hi
	}
	return v
}

// element reads the integer that appendFloat or appendInt wrote.
func element(d dtype.DType, b []byte) *big.Int {
	v := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		v.Lsh(v, 8).Or(v, big.NewInt(int64(b[i])))
	}
	if d.Class() == dtype.Signed && b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

var borders = []float64{0, math.Copysign(0, -1), 0.5, -0.5, 0.999, -0.999, 1, -1, 1.5, -1.5, 126.9, 127, 127.9, 128, 129, -127.9, -128, -128.9, -129, 255, 255.9, 256, 32767.5, 32768, -32768.5, -32769, 65535.5, 65536,
	0x1p31 - 1, 0x1p31, 0x1p31 + 0.5, -0x1p31, -0x1p31 - 1, 0x1p32 - 1, 0x1p32, 0x1p53, 0x1p53 + 2, 0x1p62, 0x1.fffffffffffffp62, 0x1p63, 0x1.0000000000001p63, -0x1p63, -0x1.0000000000001p63, 0x1.fffffffffffffp63,
	0x1p64, 1e300, -1e300, 5e-324, math.Inf(1), math.Inf(-1), math.NaN()}

// Float constants are converted to integers on the host by the rules of cast: truncated towards zero, saturated, NaN to 0. The numbers
// are around the limits of every type.
func TestConstantsSaturate(t *testing.T) {
	for _, d := range dtype.Ints.List() {
		for _, f := range borders {
			b := appendFloat(nil, d, f)
			require.Len(t, b, d.Size())
			require.Zero(t, exactly(d, f).Cmp(element(d, b)), "%v of %v is %v, want %v", d, f, element(d, b), exactly(d, f))
			if d.Size() < 8 || d == dtype.I64 { // bytes and back
				require.Equal(t, int64(toInts(d, b)[0]), exactly(d, f).Int64(), "%v of %v", d, f)
			}
			want, _ := new(big.Float).SetInt(exactly(d, f)).Float64()
			require.Equal(t, want, toFloats(d, b)[0], "%v of %v", d, f)
			require.Equal(t, b, appendNumber(nil, d, op.ScalarFloat("", f).Value))
		}
	}
	for _, f := range borders { // everything but zero is true, NaN too
		want := byte(1)
		if f == 0 {
			want = 0
		}
		require.Equal(t, []byte{want}, appendFloat(nil, dtype.Bool, f), "%v", f)
	}
}

// Integer constants keep their low bits, whereas the same numbers as floats saturate.
func TestConstantsWrap(t *testing.T) {
	for _, d := range dtype.Ints.List() {
		size := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
		for _, v := range []int64{0, 1, -1, 127, 128, -129, 255, 256, 300, -300, 1<<15 + 1, 1<<16 - 1, 1<<31 + 3, -1<<31 - 3, 1<<32 + 7, math.MaxInt64, math.MinInt64} {
			want := new(big.Int).Mod(big.NewInt(v), size) // not negative
			if half := new(big.Int).Rsh(size, 1); d.Class() == dtype.Signed && want.Cmp(half) >= 0 {
				want.Sub(want, size)
			}
			b := appendInt(nil, d, v)
			require.Zero(t, want.Cmp(element(d, b)), "%v of %d is %v, want %v", d, v, element(d, b), want)
			require.Equal(t, b, appendNumber(nil, d, op.ScalarInt("", v).Value))
			if d != dtype.U64 || want.IsInt64() {
				require.Equal(t, want.Int64(), int64(toInts(d, b)[0]), "%v of %d", d, v)
			}
		}
	}
	require.Equal(t, []byte{1, 0}, appendInt(appendInt(nil, dtype.Bool, -7), dtype.Bool, 0))
}

// Floats of every width are rounded once, and read back exactly.
func TestConstantsOfFloats(t *testing.T) {
	for d, want := range map[dtype.DType]map[float64]float64{
		dtype.F64:  {0.1: 0.1, 1e300: 1e300},
		dtype.F32:  {0.1: float64(float32(0.1)), 1e300: math.Inf(1), 0x1.000001p0: 1, 0x1.0000010000001p0: 0x1.000002p0},
		dtype.F16:  {0.1: 0x1.998p-4, 65520: math.Inf(1), 65519.99: 65504, 1 + 0x1p-11 + 0x1p-40: 1 + 0x1p-10},
		dtype.BF16: {0.1: 0x1.9ap-4, 3.4e38: math.Inf(1), 1 + 0x1p-8 + 0x1p-40: 1 + 0x1p-7},
	} {
		for f, w := range want {
			b := appendFloat(nil, d, f)
			require.Equal(t, []float64{w}, toFloats(d, b), "%v of %v", d, f)
			require.Equal(t, []float64{-w}, toFloats(d, appendFloat(nil, d, -f)), "%v of %v", d, -f)
		}
		require.True(t, math.IsNaN(toFloats(d, appendFloat(nil, d, math.NaN()))[0]))
		require.Equal(t, []float64{-3, 40}, toFloats(d, appendInt(appendInt(nil, d, -3), d, 40)), "%v", d)
		require.Equal(t, []int{-3, 40, 0}, toInts(d, appendFloat(appendFloat(appendFloat(nil, d, -3.75), d, 40.5), d, math.NaN())), "towards zero: %v", d)
	}
	require.Equal(t, []int{math.MaxInt64, math.MinInt64}, toInts(dtype.F64, appendFloat(appendFloat(nil, dtype.F64, 1e300), dtype.F64, math.Inf(-1))))
	require.Equal(t, []float64{0, 1, 1}, toFloats(dtype.Bool, []byte{0, 1, 1}))
}

// TestPooledCountsWindows compares the number of windows with a walk over the padded dimension.
func TestPooledCountsWindows(t *testing.T) {
	for size := range 7 {
		for kernel := 1; kernel < 4; kernel++ {
			for stride := 1; stride < 4; stride++ {
				for dilation := 1; dilation < 3; dilation++ {
					for pad := range 9 {
						lo, hi := pad%3, pad/3
						w := window{kernel: []int{kernel}, strides: []int{stride}, dilation: []int{dilation}, lo: []int{lo}, hi: []int{hi}}
						span := (kernel-1)*dilation + 1
						require.Equal(t, span, w.extent(0))
						fits, ceil := 0, 0
						for start := 0; start+span <= lo+size+hi; start += stride {
							fits++
						}
						if fits > 0 { // with ceil, one more window may reach over the end if it starts before the padding there
							if ceil = fits; (fits-1)*stride+span < lo+size+hi {
								ceil++
							}
							if (ceil-1)*stride >= lo+size {
								ceil--
							}
						}
						out, reach := w.pooled(0, size, false)
						require.Equal(t, fits, out, "%+v over %d", w, size)
						if fits > 0 {
							require.Equal(t, (fits-1)*stride+span-size-lo, reach)
						}
						out, _ = w.pooled(0, size, true)
						require.Equal(t, ceil, out, "ceil: %+v over %d", w, size)
					}
				}
			}
		}
	}
}

func TestHalvesOfPadding(t *testing.T) {
	for total := -2; total < 6; total++ {
		lo, hi := halves(total, false)
		down, up := halves(total, true)
		require.Equal(t, max(total, 0), lo+hi)
		require.Equal(t, []int{lo, hi}, []int{up, down}, "the two modes mirror each other")
		require.Contains(t, []int{0, 1}, hi-lo, "the odd element goes to the end")
	}
}
