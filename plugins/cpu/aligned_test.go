package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Results that are written with non-temporal stores, with rows that are a multiple of a vector and rows that are not.
func TestAlignedNonTemporal(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test computes with tensors of 32 MB and more")
	}
	b := newBed(t)
	for _, n := range []int{64 << 17, 64<<17 + 37} {
		x, y := random(1, n), random(2, n)
		dx, dy := put(b, x, n), put(b, y, n)
		h := get[dtype.Float16](b, b.do(op.Cast, list(dx), op.Type("dtype", dtype.F16))[0])
		less := b.do(op.Less, list(dx, dy))[0]
		chosen := get[float32](b, b.do(op.Where, list(less, dx, dy))[0])
		for i, v := range chosen {
			if v != min(x[i], y[i]) || h[i] != dtype.ToFloat16(x[i]) {
				require.Failf(t, "differs", "element %d of %d: got %v and %v, want %v and %v", i, n, v, h[i], min(x[i], y[i]), dtype.ToFloat16(x[i]))
			}
		}
	}
	for _, inner := range []int{64, 61} {
		const batch, channels = 512, 256
		x := random(1, batch*channels*inner)
		var p [4][]float32
		d := list(put(b, x, batch, channels, inner))
		for i := range p {
			p[i] = random(uint64(2+i), channels)
			for k := range p[i] {
				p[i][k] = float32(math.Abs(float64(p[i][k]))) + 0.1
			}
			d = append(d, put(b, p[i], channels))
		}
		for i, v := range get[float32](b, b.do(op.BatchNorm, d, op.Float("epsilon", 1e-5))[0]) {
			k := i / inner % channels
			want := (float64(x[i])-float64(p[2][k]))/math.Sqrt(float64(p[3][k])+1e-5)*float64(p[0][k]) + float64(p[1][k])
			if !(math.Abs(float64(v)-want) < 2e-5) {
				require.Failf(t, "differs", "element %d: got %v, want %v", i, v, want)
			}
		}
	}
	const rows, cols = 4096, 1024
	x, index := random(1, rows*cols), make([]int64, 2*rows)
	for i := range index {
		index[i] = int64(i * 7 % rows)
	}
	for i, v := range get[float32](b, b.do(op.Gather, list(put(b, x, rows, cols), put(b, index, 2*rows)), op.Int("axis", 0))[0]) {
		if v != x[int(index[i/cols])*cols+i%cols] {
			require.Failf(t, "differs", "element %d: got %v", i, v)
		}
	}
}
