package window

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// MaxFrom is like Max, but indices count elements within the axes from the one with number axis on. For a tensor [batch, channels,
// spatial...] axis is 2, whether or not all spatial axes have windows. axis must not be greater than the number of the first axis with a
// window.
func MaxFrom[T micro.Number](pool *par.Pool, p *Plan, axis int, x, out []T, index []int64) {
	x, out = x[:p.planes*p.inSize], out[:p.planes*p.outSize]
	if axis < 0 || axis > p.outer {
		panic("window: axis of MaxFrom lies after the first axis with a window")
	}
	if index != nil {
		index = index[:len(out)]
	}
	if len(out) == 0 {
		return
	}
	planes := 1 // planes that share one count of indices
	for _, a := range p.axes[axis:p.outer] {
		planes *= a.in
	}
	lowest := Lowest[T]()
	x32, native := any(x).([]float32)
	out32, _ := any(out).([]float32)
	native = native && index == nil && p.FastMax()
	pool.For(p.planes, p.grain(), func(lo, hi int) {
		var walk walker
		var buffer []float32
		if native {
			buffer = p.paddedRows(lowestFinite)
		}
		for i := lo; i < hi; i++ {
			from, to := x[i*p.inSize:][:p.inSize], out[i*p.outSize:][:p.outSize]
			var at []int64
			if index != nil {
				at = index[i*p.outSize:][:p.outSize]
			}
			if native {
				p.maxFast(x32[i*p.inSize:][:p.inSize], out32[i*p.outSize:][:p.outSize], buffer, float32(lowest))
			} else if len(p.plane) == 2 {
				max2(p.plane, from, to, at, lowest)
			} else {
				maxAny(&walk, p.plane, from, to, at, lowest)
			}
			if base := int64(i % planes * p.inSize); base != 0 {
				for o, v := range at {
					if v >= 0 {
						at[o] = v + base
					}
				}
			}
		}
	})
}

// Lowest returns the identity of the maximum: minus infinity for floats, the
// least integer otherwise.
func Lowest[T micro.Number]() T {
	var v any
	var zero T
	switch any(zero).(type) {
	case float32:
		v = float32(math.Inf(-1))
	case float64:
		v = math.Inf(-1)
	case int64:
		v = int64(math.MinInt64)
	case int32:
		v = int32(math.MinInt32)
	case int16:
		v = int16(math.MinInt16)
	case int8:
		v = int8(math.MinInt8)
	default:
		return 0
	}
	return v.(T)
}

// max2 computes the maxima over a plane of two axes.
func max2[T micro.Number](axes []axis, x, out []T, index []int64, lowest T) {
	rows, cols := &axes[0], &axes[1]
	lo, hi := cols.interior()
	for i := range rows.out {
		r0, r1, top := rows.within(i)
		row := out[i*cols.out:][:cols.out]
		for o := 0; o < len(row); o++ {
			c0, c1, left := 0, cols.size, o*cols.stride-cols.lo
			if o == lo && lo < hi && index == nil && r0 < r1 {
				maxInterior(rows, cols, row[lo:hi], x[top*cols.in+left:], r1-r0)
				o = hi - 1
				continue
			}
			if o < lo || o >= hi {
				c0, c1, left = cols.within(o)
			}
			best, place := lowest, -1
			if r0 < r1 && c0 < c1 {
				best, place = maxWindow(x, top*cols.in+left, r1-r0, rows.dilation*cols.in, c1-c0, cols.dilation)
			}
			row[o] = best
			if index != nil {
				index[i*cols.out+o] = int64(place)
			}
		}
	}
}

// maxInterior computes maxima without their indices, for windows without
// padding. from begins at the first row. The built-in max propagates NaN and
// needs no branch.
func maxInterior[T micro.Number](rows, cols *axis, to, from []T, height int) {
	for r := range height {
		line := from[r*rows.dilation*cols.in:]
		for i := range to {
			best := line[0]
			if cols.dilation == 1 {
				for _, v := range line[1:cols.size] {
					best = max(best, v)
				}
			} else {
				for c := 1; c < cols.size; c++ {
					best = max(best, line[c*cols.dilation])
				}
			}
			if r > 0 {
				best = max(to[i], best)
			}
			to[i] = best
			if i+1 < len(to) {
				line = line[cols.stride:]
			}
		}
	}
}

// maxWindow returns the maximum of height x width elements and its index in x. at is the index of the first element; rowStep and colStep
// are the distances between rows and between columns.
func maxWindow[T micro.Number](x []T, at, height, rowStep, width, colStep int) (T, int) {
	best, place := x[at], at
	for range height {
		for k := at; k < at+width*colStep; k += colStep {
			// Not v > best: this comparison is true for NaN.
			if v := x[k]; !(v <= best) && best == best {
				best, place = v, k
			}
		}
		at += rowStep
	}
	return best, place
}

func maxAny[T micro.Number](w *walker, axes []axis, x, out []T, index []int64, lowest T) {
	w.start(axes)
	for o := range out {
		best, place := lowest, -1
		for ok := w.window(axes); ok; ok = w.tap(axes) {
			if v := x[w.offset]; v > best || place < 0 || v != v && best == best {
				best, place = v, w.offset
			}
		}
		out[o] = best
		if index != nil {
			index[o] = int64(place)
		}
		w.next(axes)
	}
}
