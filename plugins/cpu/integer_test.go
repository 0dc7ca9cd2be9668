package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestIntegerProduct multiplies bytes at their extremes, on both sides of the depth up to which f32 is exact.
func TestIntegerProduct(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 255, 256, 257, 40000} {
		const m, n = 3, 5
		x, w := make([]uint8, m*k), make([]int8, k*n)
		for i := range x {
			x[i] = uint8(255 - rng.IntN(2))
		}
		for i := range w {
			w[i] = int8(-128 + rng.IntN(2))
		}
		want := make([]int32, m*n)
		for i := range m {
			for p := range k {
				for j := range n {
					want[i*n+j] += (int32(x[i*k+p])) * (int32(w[p*n+j]) - 127)
				}
			}
		}
		in := list(put(b, x, m, k), put(b, w, k, n), put(b, []uint8{0}), put(b, []int8{127}))
		require.Equal(t, want, get[int32](b, b.do(op.MatMulInteger, in)[0]), "%d deep", k)
	}
}

// TestIntegerBatch multiplies batches with zero points per row and per column.
func TestIntegerBatch(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shared := range []bool{false, true} { // one right operand for all
		const batch, m, n, k = 3, 17, 21, 30
		rights := batch
		if shared {
			rights = 1
		}
		x, w, xz, wz := randomBytes[int8](rng, batch*m*k), randomBytes[uint8](rng, rights*k*n), randomBytes[int8](rng, m), randomBytes[uint8](rng, n)
		want := make([]int32, batch*m*n)
		for at := range want {
			i, r, c := at/(m*n), at/n%m, at%n
			for p := range k {
				want[at] += (int32(x[(i*m+r)*k+p]) - int32(xz[r])) * (int32(w[(i%rights*k+p)*n+c]) - int32(wz[c]))
			}
		}
		in := list(put(b, x, batch, m, k), put(b, w, rights, k, n), put(b, xz, m, 1), put(b, wz, n))
		require.Equal(t, want, get[int32](b, b.do(op.MatMulInteger, in)[0]), "shared %v", shared)
		// One zero point for each matrix, which the kernels for bytes do not support: the product is computed in floats.
		in[2] = put(b, xz[:batch], batch, 1, 1)
		for at := range want {
			i, r, c := at/(m*n), at/n%m, at%n
			want[at] = 0
			for p := range k {
				want[at] += (int32(x[(i*m+r)*k+p]) - int32(xz[i])) * (int32(w[(i%rights*k+p)*n+c]) - int32(wz[c]))
			}
		}
		require.Equal(t, want, get[int32](b, b.do(op.MatMulInteger, in)[0]), "shared %v", shared)
	}
}

func randomBytes[T int8 | uint8](rng *rand.Rand, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = T(rng.Uint32())
	}
	return all
}

// TestIntegerConvolution convolves with strides, dilation, groups and paddings, also where patches are cut into parts.
func TestIntegerConvolution(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		images, channels, rows, cols, outputs, taps, groups int
		stride, lo, hi, dilation                            [2]int
	}{
		{2, 6, 19, 23, 10, 3, 2, [2]int{2, 1}, [2]int{1, 2}, [2]int{0, 1}, [2]int{1, 2}},
		{1, 3, 9, 8, 5, 1, 1, [2]int{1, 1}, [2]int{}, [2]int{}, [2]int{1, 1}},
		{1, 3, 9, 8, 5, 1, 1, [2]int{3, 2}, [2]int{}, [2]int{}, [2]int{1, 1}},
		{1, 250, 20, 21, 9, 3, 1, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
		{1, 8, 12, 12, 8, 3, 8, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
		{1, 2, 4, 3, 4, 3, 1, [2]int{2, 3}, [2]int{4, 5}, [2]int{6, 5}, [2]int{1, 1}},
		{1, 2, 9, 9, 4, 3, 1, [2]int{1, 1}, [2]int{-2, -1}, [2]int{-1, 2}, [2]int{2, 1}},
	} {
		per := c.channels / c.groups
		x, w := randomBytes[uint8](rng, c.images*c.channels*c.rows*c.cols), randomBytes[int8](rng, c.outputs*per*c.taps*c.taps)
		xz, wz := uint8(rng.Uint32()), randomBytes[int8](rng, c.outputs)
		size := func(d, n int) int { return (n+c.lo[d]+c.hi[d]-c.dilation[d]*(c.taps-1)-1)/c.stride[d] + 1 }
		oh, ow := size(0, c.rows), size(1, c.cols)
		want := make([]int32, c.images*c.outputs*oh*ow)
		for at := range want {
			i, o, y, z := at/(c.outputs*oh*ow), at/(oh*ow)%c.outputs, at/ow%oh, at%ow
			for p := range per * c.taps * c.taps {
				r := y*c.stride[0] - c.lo[0] + p/c.taps%c.taps*c.dilation[0]
				s := z*c.stride[1] - c.lo[1] + p%c.taps*c.dilation[1]
				if r < 0 || r >= c.rows || s < 0 || s >= c.cols {
					continue
				}
				ch := o/(c.outputs/c.groups)*per + p/(c.taps*c.taps)
				want[at] += (int32(x[((i*c.channels+ch)*c.rows+r)*c.cols+s]) - int32(xz)) * (int32(w[o*per*c.taps*c.taps+p]) - int32(wz[o]))
			}
		}
		in := list(put(b, x, c.images, c.channels, c.rows, c.cols), put(b, w, c.outputs, per, c.taps, c.taps), put(b, []uint8{xz}, []int{}...), put(b, wz, c.outputs))
		got := b.do(op.ConvInteger, in, op.Ints("strides", c.stride[:]...), op.Ints("pad_lo", c.lo[:]...), op.Ints("pad_hi", c.hi[:]...),
			op.Ints("kernel_dilation", c.dilation[:]...), op.Ints("input_dilation", 1, 1), op.Int("groups", c.groups))[0]
		require.Equal(t, want, get[int32](b, got), "%+v", c)
	}
}

func BenchmarkIntegerProduct(b *testing.B) {
	bed := newBed(b)
	for _, n := range []int{64, 256, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := list(put(bed, make([]uint8, n*n), n, n), put(bed, make([]int8, n*n), n, n))
			for b.Loop() {
				z := bed.do(op.MatMulInteger, in)[0]
				bed.Free([]op.TensorID{z.ID})
				require.NoError(b, bed.Sync(ctx))
			}
			b.ReportMetric(float64(b.N)*2*float64(n*n*n)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}

func BenchmarkIntegerConvolution(b *testing.B) {
	bed := newBed(b)
	for _, c := range [][4]int{{64, 56, 64, 3}, {256, 14, 256, 3}, {256, 14, 1024, 1}, {3, 224, 64, 7}, {32, 56, 4, 3}} {
		channels, side, outputs, taps := c[0], c[1], c[2], c[3]
		b.Run(fmt.Sprint(c), func(b *testing.B) {
			in := list(put(bed, make([]uint8, channels*side*side), 1, channels, side, side), put(bed, make([]int8, outputs*channels*taps*taps), outputs, channels, taps, taps))
			for b.Loop() {
				z := bed.do(op.ConvInteger, in, op.Ints("strides", 1, 1), op.Ints("pad_lo", taps/2, taps/2), op.Ints("pad_hi", taps/2, taps/2),
					op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1), op.Int("groups", 1))[0]
				bed.Free([]op.TensorID{z.ID})
				require.NoError(b, bed.Sync(ctx))
			}
			b.ReportMetric(float64(b.N)*2*float64(side*side*outputs*channels*taps*taps)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}
