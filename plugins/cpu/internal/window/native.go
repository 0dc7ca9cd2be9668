package window

import (
	"slices"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
)

// native is the loops in assembly over lines of windows, by what poolShapes says: dst[y*dstRow+i] is the sum or maximum of
// src[y*lineStep+r*srcRow+i*stride+t] for r < rows and t < size. What maximum reports is whether all it met was finite: if
// not, it may have dropped a NaN. They trust their arguments.
type native struct {
	sum [len(poolShapes)]sumFunc
	max [len(poolShapes)]maxFunc
}

type (
	sumFunc func(lines, rows, cols int, dst *float32, dstRow int, src *float32, srcRow, lineStep int)
	maxFunc func(lines, rows, cols int, dst *float32, dstRow int, src *float32, srcRow, lineStep int) bool
)

// poolShapes are the widths and strides of windows that there are loops for.
var poolShapes = [...][2]int{{2, 1}, {3, 1}, {5, 1}, {2, 2}, {3, 2}, {3, 3}}

// active is nil where there are none.
var active = nativeLoops()

// fast is how a plan of float32 is run in assembly.
type fast struct {
	shape       int // in poolShapes, -1 if it is not there
	whole       bool
	top, bottom int // lines whose windows have all their rows
	lo, hi      int // columns whose windows have all their elements in a row
}

// chooseFast is called when the plane is laid out.
func (p *Plan) chooseFast() {
	p.fast.shape = -1
	if active == nil || len(p.plane) != 2 || p.outSize == 0 || p.planes == 0 {
		return
	}
	rows, cols := &p.plane[0], &p.plane[1]
	p.fast.whole = p.outSize == 1 && rows.all() && cols.all()
	f := &p.fast
	f.top, f.bottom = rows.interior()
	f.lo, f.hi = cols.interior()
	if cols.dilation == 1 && f.lo < f.hi && (f.lo+cols.out-f.hi)*4 <= cols.out {
		f.shape = slices.Index(poolShapes[:], [2]int{cols.size, cols.stride})
	}
}

// all reports whether the window of the only output is the axis.
func (a *axis) all() bool { return a.out == 1 && a.size == a.in && a.dilation == 1 && a.lo == 0 }

// FastSum and FastMax report whether windows of float32 are summed, or their maxima taken, in assembly.
func (p *Plan) FastSum() bool { return p.fast.shape >= 0 || p.fast.whole }

// FastMax is described with FastSum.
func (p *Plan) FastMax() bool { return p.fast.shape >= 0 }

// sumFast is sum2 for a plan that has a shape.
func (p *Plan) sumFast(x, out []float32) {
	sum, dstRow := active.sum[p.fast.shape], p.plane[1].out
	p.lines(x, out, 0, func(lines, rows, n int, dst, src []float32, srcRow, lineStep int) {
		sum(lines, rows, n, &dst[0], dstRow, &src[0], srcRow, lineStep)
	})
	for o := range p.plane[1].out {
		if o < p.fast.lo || o >= p.fast.hi {
			p.column(x, out, o, false, 0)
		}
	}
}

// maxFast is max2 for a plan that has a shape, without places.
func (p *Plan) maxFast(x, out []float32, lowest float32) {
	finite, most, dstRow := true, active.max[p.fast.shape], p.plane[1].out
	p.lines(x, out, lowest, func(lines, rows, n int, dst, src []float32, srcRow, lineStep int) {
		finite = most(lines, rows, n, &dst[0], dstRow, &src[0], srcRow, lineStep) && finite
	})
	if !finite {
		max2(p.plane, x, out, nil, lowest)
		return
	}
	for o := range p.plane[1].out {
		if o < p.fast.lo || o >= p.fast.hi {
			p.column(x, out, o, true, lowest)
		}
	}
}

// lines calls f for groups of lines that have the same number of rows, with the n columns whose windows are whole in their
// rows, and sets lines without rows to nothing.
func (p *Plan) lines(x, out []float32, nothing float32, f func(lines, rows, n int, dst, src []float32, srcRow, lineStep int)) {
	rows, cols := &p.plane[0], &p.plane[1]
	left, n := p.fast.lo*cols.stride-cols.lo, p.fast.hi-p.fast.lo
	srcRow, lineStep := rows.dilation*cols.in, rows.stride*cols.in
	for i := 0; i < rows.out; {
		r0, r1, top := rows.within(i)
		lines := 1
		if i == p.fast.top {
			lines = max(1, p.fast.bottom-p.fast.top)
		}
		dst := out[i*cols.out+p.fast.lo:][:(lines-1)*cols.out+n]
		if r0 == r1 {
			for o := range dst {
				dst[o] = nothing
			}
		} else {
			f(lines, r1-r0, n, dst, x[top*cols.in+left:][:(lines-1)*lineStep+(r1-r0-1)*srcRow+(n-1)*cols.stride+cols.size], srcRow, lineStep)
		}
		i += lines
	}
}

// column takes the maxima of the windows of column o and first, or their sums.
func (p *Plan) column(x, out []float32, o int, most bool, first float32) {
	rows, cols := &p.plane[0], &p.plane[1]
	c0, c1, left := cols.within(o)
	step, width := rows.dilation*cols.in, c1-c0
	if width == 0 {
		left = 0 // it may lie outside
	}
	for i := range rows.out {
		r0, r1, at := rows.within(i)
		result := first
		for from := at*cols.in + left; r0 < r1; r0++ {
			for _, v := range x[from : from+width] {
				if most {
					result = max(result, v)
				} else {
					result += v
				}
			}
			from += step
		}
		out[i*cols.out+o] = result
	}
}

// sumWhole sums planes lo to hi, each of which is one window.
func (p *Plan) sumWhole(x, out []float32, ones []float32, lo, hi int) {
	gemm.Active[float32]().Dot(ones, x[lo*p.inSize:hi*p.inSize], p.inSize, out[lo:hi])
}
