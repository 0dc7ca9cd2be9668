package cpu

import (
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

func BenchmarkIntegerProduct(b *testing.B) {
	bed := newBed(b)
	const n = 512
	in := list(put(bed, make([]uint8, n*n), n, n), put(bed, make([]int8, n*n), n, n))
	for b.Loop() {
		z := bed.do(op.MatMulInteger, in)[0]
		bed.Free([]op.TensorID{z.ID})
		require.NoError(b, bed.Sync(ctx))
	}
	b.ReportMetric(float64(b.N)*2*n*n*n/b.Elapsed().Seconds()/1e9, "Gop/s")
}
