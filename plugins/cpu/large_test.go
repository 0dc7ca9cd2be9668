package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// The tests of this file use sizes for which kernels have other code than for small tensors: non-temporal stores, partial sums, columns.

func TestNonTemporal(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test computes with tensors of 20 MB")
	}
	const rows, cols = 1283, 4099 // 20 MB, nothing aligned
	b := newBed(t)
	x, y := random(1, rows*cols), random(2, rows*cols)
	x[5], y[rows*cols-1] = float32(math.NaN()), float32(math.Inf(1))
	dx, dy := put(b, x, rows, cols), put(b, y, rows, cols)
	row := put(b, y[:cols], cols)
	same := func(d op.Desc, want func(i int) float32) {
		t.Helper()
		for i, v := range get[float32](b, d) {
			if w := want(i); math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
				require.Failf(t, "differs", "element %d: got %v, want %v", i, v, w)
			}
		}
	}
	same(b.do(op.Neg, list(dx))[0], func(i int) float32 { return -x[i] })
	same(b.do(op.Add, list(dx, dy))[0], func(i int) float32 { return x[i] + y[i] })
	same(b.do(op.Sub, list(dx, row))[0], func(i int) float32 { return x[i] - y[i%cols] })
	less := b.do(op.Less, list(dx, dy))[0]
	same(b.do(op.Where, list(less, dx, row))[0], func(i int) float32 {
		if x[i] < y[i] {
			return x[i]
		}
		return y[i%cols]
	})
	same(b.do(op.Copy, b.do(op.Permute, list(dx), op.Ints("axes", 1, 0)))[0], func(i int) float32 { return x[i%rows*cols+i/rows] })
	same(b.do(op.Concat, list(dx, dy), op.Int("axis", 1))[0], func(i int) float32 {
		if j := i % (2 * cols); j >= cols {
			return y[i/(2*cols)*cols+j-cols]
		}
		return x[i/(2*cols)*cols+i%cols]
	})
	index := make([]int64, rows)
	for i := range index {
		index[i] = int64(i * 7 % rows)
	}
	same(b.do(op.Gather, list(dx, put(b, index, rows)), op.Int("axis", 0))[0], func(i int) float32 { return x[int(index[i/cols])*cols+i%cols] })
	h := b.do(op.Cast, list(dx), op.Type("dtype", dtype.BF16))[0]
	same(b.do(op.Cast, list(h), op.Type("dtype", dtype.F32))[0], func(i int) float32 { return dtype.ToBFloat16(x[i]).Float32() })
	q := b.do(op.Quantize, list(dx, put(b, []float32{0.01}), put(b, []int8{3})))[0]
	same(b.do(op.Cast, list(q), op.Type("dtype", dtype.F32))[0], func(i int) float32 {
		r := float32(math.RoundToEven(float64(x[i] / 0.01)))
		if r != r {
			r = 0
		}
		return min(max(r+3, -128), 127)
	})
}

func TestManyRows(t *testing.T) {
	const outer, length, inner = 3, 700, 611
	b := newBed(t)
	x := random(1, outer*length*inner)
	nan := float32(math.NaN())
	x[1*length*inner+200*inner+17], x[1*length*inner+300*inner+17] = nan, nan
	x[2*length*inner+5*inner+600] = float32(math.Inf(-1))
	for axis, at := range []func(k, j int) int{
		func(k, j int) int { return k*length*inner + j },
		func(k, j int) int { return j/inner*length*inner + k*inner + j%inner },
		func(k, j int) int { return j*inner + k },
	} {
		n := []int{outer, length, inner}[axis]
		d := put(b, x, outer, length, inner)
		sum := get[float32](b, b.do(op.Sum, list(d), op.Ints("axes", axis))[0])
		most := get[float32](b, b.do(op.ReduceMax, list(d), op.Ints("axes", axis))[0])
		place := get[int64](b, b.do(op.ArgMax, list(d), op.Int("axis", axis))[0])
		low := get[int64](b, b.do(op.ArgMin, list(d), op.Int("axis", axis))[0])
		soft := get[float32](b, b.do(op.Softmax, list(d), op.Int("axis", axis))[0])
		logs := get[float32](b, b.do(op.LogSoftmax, list(d), op.Int("axis", axis))[0])
		running := get[float32](b, b.do(op.CumSum, list(d), op.Int("axis", axis), op.Flag("reverse", true))[0])
		for j := range outer * length * inner / n {
			s, m, first, last := 0.0, x[at(0, j)], 0, 0
			for k := range n {
				v := x[at(k, j)]
				s += float64(v)
				if m == m && (v > m || v != v) {
					m, first = v, k
				}
				if l := x[at(last, j)]; l == l && (v < l || v != v) {
					last = k
				}
			}
			require.Equal(t, int64(first), place[j], "argmax along %d of %d", axis, j)
			require.Equal(t, int64(last), low[j], "argmin along %d of %d", axis, j)
			if m != m {
				require.True(t, most[j] != most[j] && sum[j] != sum[j] && soft[at(0, j)] != soft[at(0, j)])
				continue
			}
			require.Equal(t, m, most[j])
			if math.IsInf(s, 0) {
				require.Equal(t, float32(s), sum[j])
				continue
			}
			require.InDelta(t, s, sum[j], 1e-4)
			total, tail := 0.0, 0.0
			for k := range n {
				total += math.Exp(float64(x[at(k, j)] - m))
			}
			for k := n - 1; k >= 0; k-- {
				v := float64(x[at(k, j)])
				tail += v
				want := math.Exp(v-float64(m)) / total
				if math.Abs(want-float64(soft[at(k, j)])) > 2e-6*want || math.Abs(v-float64(m)-math.Log(total)-float64(logs[at(k, j)])) > 4e-6 ||
					math.Abs(tail-float64(running[at(k, j)])) > 1e-4 {
					require.Failf(t, "differs", "axis %d, line %d, element %d: softmax %v want %v, log %v, sum %v want %v", axis, j, k,
						soft[at(k, j)], want, logs[at(k, j)], running[at(k, j)], tail)
				}
			}
		}
	}
	flat := put(b, x[:length*inner], length, inner) // one tensor of rows: partial sums
	for j, v := range get[float32](b, b.do(op.Sum, list(flat), op.Ints("axes", 0))[0]) {
		s := 0.0
		for k := range length {
			s += float64(x[k*inner+j])
		}
		require.InDelta(t, s, v, 2e-5)
	}
}

func TestNormsOfLongLines(t *testing.T) {
	const rows, cols = 37, 1031
	b := newBed(t)
	x, g, h := random(1, rows*cols), random(2, cols), random(3, cols)
	for i := range x {
		x[i] += 3 // a mean that is not small against the deviation
	}
	d, dg, dh := put(b, x, rows, cols), put(b, g, cols), put(b, h, cols)
	layer := get[float32](b, b.do(op.LayerNorm, list(d, dg, dh), op.Int("axis", 1), op.Float("epsilon", 1e-5))[0])
	rms := get[float32](b, b.do(op.RMSNorm, list(d, dg), op.Int("axis", 1), op.Float("epsilon", 1e-5))[0])
	for r := range rows {
		mean, squares, deviations := 0.0, 0.0, 0.0
		line := x[r*cols:][:cols]
		for _, v := range line {
			mean += float64(v) / cols
			squares += float64(v) * float64(v) / cols
		}
		for _, v := range line {
			deviations += (float64(v) - mean) * (float64(v) - mean) / cols
		}
		for j, v := range line {
			require.InDelta(t, (float64(v)-mean)/math.Sqrt(deviations+1e-5)*float64(g[j])+float64(h[j]), layer[r*cols+j], 5e-6)
			require.InDelta(t, float64(v)/math.Sqrt(squares+1e-5)*float64(g[j]), rms[r*cols+j], 1e-6)
		}
	}
}
