package window

import "github.com/goburn/burn/plugins/cpu/internal/gemm/micro"

// sum2 sums over a plane of two axes: rows of the window are added to the
// output row one after the other.
func sum2[T micro.Number](axes []axis, x, out []T) {
	rows, cols := &axes[0], &axes[1]
	lo, hi := cols.interior()
	for i := range rows.out {
		to := out[i*cols.out:][:cols.out]
		clear(to)
		t0, t1, at := rows.within(i)
		for ; t0 < t1; t0++ {
			from := x[at*cols.in:][:cols.in]
			for o := range lo {
				to[o] += sumEdge(cols, from, o)
			}
			if lo < hi {
				sumInterior(cols, to[lo:hi], from[lo*cols.stride-cols.lo:])
			}
			for o := hi; o < cols.out; o++ {
				to[o] += sumEdge(cols, from, o)
			}
			at += rows.dilation
		}
	}
}

// interior returns the outputs [lo, hi) whose windows contain no padding.
func (a *axis) interior() (lo, hi int) {
	for lo < a.out {
		if t0, t1, _ := a.within(lo); t0 == 0 && t1 == a.size {
			break
		}
		lo++
	}
	hi = a.out
	for hi > lo {
		if t0, t1, _ := a.within(hi - 1); t0 == 0 && t1 == a.size {
			break
		}
		hi--
	}
	return lo, hi
}

func sumEdge[T micro.Number](a *axis, row []T, o int) T {
	var sum T
	t0, t1, at := a.within(o)
	for ; t0 < t1; t0++ {
		sum += row[at]
		at += a.dilation
	}
	return sum
}

func sumInterior[T micro.Number](a *axis, to, from []T) {
	reach := (a.size-1)*a.dilation + 1
	for i := range to {
		sum := from[0]
		if a.dilation == 1 {
			for _, v := range from[1:a.size] {
				sum += v
			}
		} else {
			for at := a.dilation; at < reach; at += a.dilation {
				sum += from[at]
			}
		}
		to[i] += sum
		if i+1 < len(to) {
			from = from[a.stride:]
		}
	}
}

func sumAny[T micro.Number](w *walker, axes []axis, x, out []T) {
	w.start(axes)
	for o := range out {
		var sum T
		for ok := w.window(axes); ok; ok = w.tap(axes) {
			sum += x[w.offset]
		}
		out[o] = sum
		w.next(axes)
	}
}
