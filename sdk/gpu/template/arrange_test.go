package template_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/template"
)

var negativeInfinity = math.Inf(-1)

// TestConcat joins operands with runs of every length, some without elements, by units that all of them allow, and in several launches where
// there are too many operands for one.
func TestConcat(t *testing.T) {
	many := make([]int, 37)
	for i := range many {
		many[i] = i % 4
	}
	for i, c := range []struct {
		outer   int
		runs    []int
		buffers int
	}{
		{1, []int{5}, 0}, {3, []int{2, 3}, 0}, {2, []int{4, 8, 4}, 0}, {2, []int{0, 3, 0, 0, 2, 0}, 0}, {1, []int{0, 0}, 0}, {0, []int{3, 4}, 0}, {2, many, 0}, {2, many, 4}, {300, []int{1, 2}, 2},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.U8, dtype.F16, dtype.F64, dtype.Bool} {
			total := 0
			var operands []tensor
			for n, run := range c.runs {
				x := dense(d, (i+n)%3*k, c.outer, run)
				each(dimsOf(x), func(at []int) { x.set(at, float64((at[0]*7+at[1]*3+n)%2)) })
				operands = append(operands, x)
				total += run
			}
			target := hopper(4)
			target.Buffers = c.buffers
			y := dense(d, i%2*4, c.outer, total)
			in, _ := numbered(operands, nil)
			w := template.Concat(target, c.outer, c.runs, in, y.operand)
			execute(t, w, target, operands, []tensor{y})
			for _, l := range w.Launches {
				buffers := 0
				for _, p := range l.Kernel.Params {
					if p.IsBuffer() {
						buffers++
					}
				}
				require.True(t, c.buffers == 0 || buffers <= c.buffers, "%d buffers", buffers)
			}
			equal(t, y, func(at []int) float64 {
				p := at[1]
				for n, run := range c.runs {
					if p < run {
						return operands[n].get([]int{at[0], p})
					}
					p -= run
				}
				panic("beyond all runs")
			}, c.runs)
		}
	}
}

// TestPad surrounds a tensor with a value, or cuts it, on each side of each axis.
func TestPad(t *testing.T) {
	for i, c := range []struct{ dims, lo, hi []int }{
		{[]int{5}, []int{0}, []int{0}}, {[]int{5}, []int{2}, []int{3}}, {[]int{5}, []int{-2}, []int{1}}, {[]int{5}, []int{4}, []int{-4}}, {[]int{5}, []int{-3}, []int{-2}},
		{[]int{2, 3}, []int{1, 0}, []int{0, 2}}, {[]int{2, 4}, []int{0, 4}, []int{0, 4}}, {[]int{3, 2, 4}, []int{1, 0, 0}, []int{1, 0, 0}}, {[]int{3, 2, 4}, []int{0, -1, 2}, []int{2, 3, -1}},
		{[]int{1500}, []int{1}, []int{100}}, {[]int{0, 3}, []int{1, 1}, []int{1, 0}}, {[]int{2, 0}, []int{0, 2}, []int{0, 1}}, {[]int{}, []int{}, []int{}},
	} {
		for k, x := range []struct {
			d    dtype.DType
			bits uint64
			v    float64
		}{{dtype.F32, 0xc0200000, -2.5}, {dtype.U8, 200, 200}, {dtype.I8, 0xfe, -2}, {dtype.F16, 0x3c00, 1}, {dtype.F64, 0xbff8000000000000, -1.5}, {dtype.I64, 1 << 40, 1 << 40}, {dtype.BF16, 0x4049, 3.140625}, {dtype.I32, 0, 0}} {
			out := make([]int, len(c.dims))
			for a, n := range c.dims {
				out[a] = n + c.lo[a] + c.hi[a]
			}
			in, y := dense(x.d, i%3, c.dims...).fill(random(uint64(k)), 9), dense(x.d, k%3, out...)
			target := hopper(4)
			target.Grid = [3]int{2, 2, 2} // blocks are spread over three axes
			execute(t, template.Pad(target, c.dims, c.lo, c.hi, x.bits, in.operand, y.operand), target, []tensor{in}, []tensor{y})
			equal(t, y, func(at []int) float64 {
				from := slices.Clone(at)
				for a := range from {
					if from[a] -= c.lo[a]; from[a] < 0 || from[a] >= c.dims[a] {
						return x.v
					}
				}
				return in.get(from)
			}, c, x.d)
		}
	}
}

// TestCacheWrite writes neighbouring slices from a position on, of each batch or of all. A position at which they do not fit is a fault.
func TestCacheWrite(t *testing.T) {
	for i, g := range []template.Indexing{
		{Batch: 1, Outer: 1, Axis: 6, Inner: 1, Count: 2}, {Batch: 3, Outer: 2, Axis: 5, Inner: 4, Count: 3}, {Batch: 2, Outer: 1, Axis: 4, Inner: 3, Count: 4}, {Batch: 2, Outer: 2, Axis: 4, Inner: 2, Count: 0},
		{Batch: 2, Outer: 0, Axis: 4, Inner: 2, Count: 1}, {Batch: 1, Outer: 100, Axis: 7, Inner: 2, Count: 1},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.U8} {
			cache, update := dense(d, i%2, g.Batch, g.Outer, g.Axis, g.Inner).fill(random(1), 9), dense(d, k%3, g.Batch, g.Outer, g.Count, g.Inner).fill(random(2), 9)
			position, y := indicesOf(dtype.I32, uint64(i), g.Batch, 1, g.Axis-g.Count+1, 0), dense(d, k%2, g.Batch, g.Outer, g.Axis, g.Inner)
			w := template.CacheWrite(hopper(4), g, cache.operand, position.operand, update.operand, y.operand)
			operands := []tensor{cache, position, update}
			require.False(t, execute(t, w, hopper(4), operands, []tensor{y}))
			equal(t, y, func(at []int) float64 {
				if p := at[2] - int(position.get([]int{at[0], 0})); p >= 0 && p < g.Count {
					return update.get([]int{at[0], at[1], p, at[3]})
				}
				return cache.get(at)
			}, g)
			for _, bad := range []float64{-1, float64(g.Axis - g.Count + 1)} {
				position.set([]int{g.Batch - 1, 0}, bad)
				require.Equal(t, g.Count > 0 && g.Outer > 0, execute(t, w, hopper(4), operands, []tensor{y}), "%v: position %v", g, bad)
			}
		}
	}
}

// TestWindows reduces windows that begin before the tensor, end behind it, skip elements or lie outside of it, and finds the index of the
// first extreme.
func TestWindows(t *testing.T) {
	for i, w := range []template.Windows{
		{In: []int{9}, Size: []int{3}, Stride: []int{1}, Dilation: []int{1}, Before: []int{0}, Out: []int{7}},
		{In: []int{2, 9}, Size: []int{3}, Stride: []int{2}, Dilation: []int{2}, Before: []int{2}, Out: []int{2, 5}},
		{In: []int{2, 5, 6}, Size: []int{2, 3}, Stride: []int{2, 1}, Dilation: []int{1, 2}, Before: []int{1, 2}, Out: []int{2, 4, 7}},
		{In: []int{3, 4}, Size: []int{2, 2}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Before: []int{4, 0}, Out: []int{9, 3}}, // some windows have no element
		{In: []int{1, 40, 40}, Size: []int{32, 33}, Stride: []int{3, 2}, Dilation: []int{1, 1}, Before: []int{5, -1}, Out: []int{1, 3, 4}},
		{In: []int{2, 0}, Size: []int{2}, Stride: []int{1}, Dilation: []int{1}, Before: []int{1}, Out: []int{2, 1}},
		{In: []int{0, 4}, Size: []int{2}, Stride: []int{1}, Dilation: []int{1}, Before: []int{0}, Out: []int{0, 3}},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.I32, dtype.F16, dtype.I8, dtype.U8} {
			how := []template.Join{template.JoinMax, template.JoinAdd, template.JoinMin, template.JoinMax, template.JoinMin}[k]
			most := 4
			if i == 4 && d != dtype.F32 {
				continue // long windows take long
			}
			x := dense(d, i%2, w.In...).fill(random(uint64(k)), most)
			y, places := dense(d, 1, w.Out...), dense(dtype.I64, 0, w.Out...)
			results := []tensor{y, places}[:1+truth(how != template.JoinAdd)]
			at := template.Operand{}
			if how != template.JoinAdd {
				at = places.operand
			}
			execute(t, template.WindowReduce(hopper(4), w, how, how != template.JoinAdd, x.operand, y.operand, at), hopper(4), []tensor{x}, results)
			first := len(w.In) - len(w.Size)
			best := map[int]float64{}
			identity := map[dtype.DType]map[template.Join]float64{
				dtype.F32: {template.JoinMax: negativeInfinity}, dtype.F16: {template.JoinMin: -negativeInfinity}, dtype.I32: {}, dtype.I8: {template.JoinMax: -128}, dtype.U8: {template.JoinMin: 255},
			}[d][how]
			equal(t, y, func(o []int) float64 {
				acc, place := identity, -1.0
				each(w.Size, func(q []int) {
					from := append(slices.Clone(o[:first]), q...)
					number := 0
					for a := range q {
						c := o[first+a]*w.Stride[a] + q[a]*w.Dilation[a] - w.Before[a]
						if c < 0 || c >= w.In[first+a] {
							return
						}
						from[first+a], number = c, number*w.In[first+a]+c
					}
					v := x.get(from)
					switch {
					case how == template.JoinAdd:
						acc += v
					case place < 0 || how == template.JoinMax && v > acc || how == template.JoinMin && v < acc:
						acc, place = v, float64(number)
					}
				})
				best[y.index(o)-1] = place
				return acc
			}, w, d)
			if how != template.JoinAdd {
				equal(t, places, func(o []int) float64 { return best[places.index(o)] }, w, d)
			}
		}
	}
}
