package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// anything returns n numbers: special values, then random bits and normally distributed numbers.
func anything(rng *rand.Rand, n int) []float32 {
	x := append([]float32(nil), specials...)
	for len(x) < n {
		x = append(x, math.Float32frombits(rng.Uint32()), float32(rng.NormFloat64()))
	}
	return x[:n]
}

// is checks that two values are equal. It calls require.Equal only if they differ, because that is slow for millions of elements.
func is[T comparable](t *testing.T, want, got T, what ...any) {
	if want != got {
		t.Helper()
		require.Equal(t, want, got, what...)
	}
}

func TestStorage(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		all := make([]uint16, 1<<16)
		for i := range all {
			all[i] = uint16(i)
		}
		d := make([]float32, len(all))
		require.Equal(t, len(all), FromF16(d, all))
		for i, v := range d {
			same(t, dtype.Float16(i).Float32(), v, "f16 ", i)
		}
		require.Equal(t, len(all), FromBF16(d, all))
		for i, v := range d {
			same(t, dtype.BFloat16(i).Float32(), v, "bf16 ", i)
		}
		x := anything(rng, 1<<17)
		for i := range 1 << 16 { // the midpoints of neighbouring f16 numbers
			x[i+100] = (dtype.Float16(i).Float32() + dtype.Float16(i+1).Float32()) / 2
		}
		h := make([]uint16, len(x))
		require.Equal(t, len(x), ToF16(h, x))
		for i, v := range x {
			same(t, dtype.ToFloat16(v).Float32(), dtype.Float16(h[i]).Float32(), v)
		}
		require.Equal(t, len(x), ToBF16(h, x))
		for i, v := range x {
			is(t, uint16(dtype.ToBFloat16(v)), h[i], v)
		}
		ints := make([]int32, len(x))
		require.Equal(t, len(x), ToI32(ints, x))
		for i, v := range x {
			want := int32(0)
			switch {
			case v >= 1<<31:
				want = math.MaxInt32
			case v <= -1<<31:
				want = math.MinInt32
			case v == v:
				want = int32(v)
			}
			is(t, want, ints[i], v)
		}
		for i := range ints {
			ints[i] = int32(rng.Uint32())
		}
		require.Equal(t, len(ints), FromI32(x, ints))
		for i, v := range ints {
			is(t, float32(v), x[i])
		}
		bytes, signed := make([]uint8, 256), make([]int8, 256)
		for i := range bytes {
			bytes[i], signed[i] = uint8(i), int8(i)
		}
		FromU8(x[:256], bytes)
		FromI8(x[256:512], signed)
		for i := range bytes {
			require.Equal(t, float32(i), x[i])
			require.Equal(t, float32(int8(i)), x[256+i])
		}
		for i := range 256 {
			x[i] = float32(i)*3.37 - 400
		}
		x[7], x[8], x[9] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
		for _, signs := range []bool{false, true} {
			zero, lo, hi := float32(3), float32(0), float32(255)
			if signs {
				zero, lo, hi = -2, -128, 127
			}
			require.Equal(t, 256, Quantize(bytes, x[:256], 1.7, zero, lo, hi))
			for i, v := range x[:256] {
				r := float32(math.RoundToEven(float64(v / 1.7)))
				if r != r {
					r = 0
				}
				require.Equal(t, uint8(int32(min(max(r+zero, lo), hi))), bytes[i], v)
			}
		}
		DequantizeU8(x[:256], bytes, 0.3, 7)
		DequantizeI8(x[256:512], signed, 0.3, -7)
		for i := range 256 {
			require.Equal(t, float32(int32(bytes[i])-7)*0.3, x[i])
			require.Equal(t, float32(int32(signed[i])+7)*0.3, x[256+i])
		}
		a, b, cond := anything(rng, 96), random(rng, 96), make([]uint8, 96)
		for i := range cond {
			cond[i] = uint8(rng.IntN(2))
		}
		out := make([]float32, 96)
		require.Equal(t, 96, Choose(out, cond, a, b))
		for i, v := range b {
			if cond[i] != 0 {
				v = a[i]
			}
			require.Equal(t, math.Float32bits(v), math.Float32bits(out[i]))
		}
		require.Zero(t, ToF16(h[:active.lanes-1], x[:active.lanes-1]), "fewer elements than a vector")
	})
}

func TestStream(t *testing.T) {
	each(t, func(t *testing.T) {
		x := make([]byte, 3000)
		for i := range x {
			x[i] = byte(i * 7)
		}
		for at := range 70 {
			for _, n := range []int{0, 1, 63, 255, 256, 257, 320, 2000} {
				d := make([]byte, 3000)
				Stream(d[at:at+n], x[at/3:][:n])
				require.Equal(t, x[at/3:][:n], d[at:at+n])
				require.Equal(t, make([]byte, at), d[:at])
				require.Equal(t, make([]byte, 3000-at-n), d[at+n:])
			}
		}
	})
}

func TestLines(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for n := 1; n < 20000; n += 1 + n/3 {
			x := random(rng, n)
			var sum, squares, magnitude float64
			most, least := x[0], x[0]
			for _, v := range x {
				sum += float64(v)
				d := float64(v - 0.25)
				squares += d * d
				magnitude += math.Abs(float64(v))
				most, least = max(most, v), min(least, v)
			}
			require.InDelta(t, sum, Sum(x), magnitude*1e-6)
			require.InDelta(t, sum, Total(x), magnitude*1e-12)
			require.InDelta(t, squares, Squares(x, 0.25), squares*1e-12)
			require.Equal(t, most, Greatest(x))
			require.Equal(t, least, Least(x))
			for _, v := range specials {
				x[rng.IntN(n)] = v
				most, least = x[0], x[0]
				for _, v := range x {
					most, least = max(most, v), min(least, v)
				}
				same(t, most, Greatest(x))
				same(t, least, Least(x))
			}
		}
		zeros := make([]float32, 40)
		same(t, 0, Greatest(zeros))
		zeros[33] = float32(math.Copysign(0, -1))
		same(t, 0, Greatest(zeros))
		same(t, zeros[33], Least(zeros))
	})
}

func TestTranspose(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for lines := 1; lines < 40; lines++ {
			for depth := 1; depth < 40; depth += 1 + depth/5 {
				line, width := depth+rng.IntN(3), lines+rng.IntN(3)
				src, dst := random(rng, (lines-1)*line+depth), random(rng, (depth-1)*width+lines)
				want := append([]float32(nil), dst...)
				for l := range lines {
					for p := range depth {
						want[p*width+l] = src[l*line+p]
					}
				}
				Transpose(lines, depth, dst, width, src, line)
				require.Equal(t, want, dst)
			}
		}
	})
}
