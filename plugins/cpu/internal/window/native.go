package window

import (
	"math"
	"slices"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// native contains the loops in assembly over lines of windows, indexed like poolShapes: dst[y*dstRow+i] is the sum or maximum of
// src[y*lineStep+r*srcRow+i*stride+t] for r < rows and t < size. maximum reports whether all elements were finite: if not, it may have
// ignored a NaN. The loops do not check their arguments.
type native struct {
	sum [len(poolShapes)]sumFunc
	max [len(poolShapes)]maxFunc
}

type (
	sumFunc func(lines, rows, cols int, dst *float32, dstRow int, src *float32, srcRow, lineStep int)
	maxFunc func(lines, rows, cols int, dst *float32, dstRow int, src *float32, srcRow, lineStep int) bool
)

// poolShapes lists the widths and strides of windows that have loops.
var poolShapes = [...][2]int{{2, 1}, {3, 1}, {5, 1}, {2, 2}, {3, 2}, {3, 3}}

// active is nil on processors without these loops.
var active = nativeLoops()

// fast describes how a plan of float32 is run in assembly.
type fast struct {
	shape       int  // index in poolShapes, or -1 if there is no loop
	whole       bool // each plane is a single window without padding
	top, bottom int  // range of the lines whose windows are complete
	padded      bool // rows are copied with their padding
	width       int  // elements of a row with its padding
}

// chooseFast sets p.fast.
func (p *Plan) chooseFast() {
	p.fast.shape = -1
	if active == nil || len(p.plane) != 2 || p.outSize == 0 || p.planes == 0 {
		return
	}
	rows, cols := &p.plane[0], &p.plane[1]
	p.fast.whole = p.outSize == 1 && rows.all() && cols.all()
	f := &p.fast
	f.top, f.bottom = rows.interior()
	f.width = cols.in
	if lo, hi := cols.interior(); lo > 0 || hi < cols.out || cols.lo != 0 {
		f.padded = true
		f.width = max((cols.out-1)*cols.stride+cols.size, max(0, cols.lo))
	}
	empty := false // a window, within a row, that covers padding only
	for _, o := range []int{0, cols.out - 1} {
		t0, t1, _ := cols.within(o)
		empty = empty || t0 == t1
	}
	if cols.dilation == 1 && !empty && rows.in > 0 && cols.in > 0 {
		f.shape = slices.Index(poolShapes[:], [2]int{cols.size, cols.stride})
	}
}

// all reports whether the axis has one output, whose window is the whole input without padding.
func (a *axis) all() bool { return a.out == 1 && a.size == a.in && a.dilation == 1 && a.lo == 0 }

// FastSum reports whether windows of float32 are summed in assembly.
func (p *Plan) FastSum() bool { return p.fast.shape >= 0 || p.fast.whole }

// FastMax reports whether the maxima of windows of float32 are computed in assembly.
func (p *Plan) FastMax() bool { return p.fast.shape >= 0 }

// sumFast is like sum2, for a plan with loops in assembly. buffer is the result of paddedRows for zero.
func (p *Plan) sumFast(x, out, buffer []float32) {
	sum, cols := active.sum[p.fast.shape], p.plane[1].out
	p.lines(x, buffer, out, 0, func(lines, rows int, dst, src []float32, srcRow, lineStep int) {
		sum(lines, rows, cols, &dst[0], cols, &src[0], srcRow, lineStep)
	})
}

// lowestFinite is the padding of maxima. It is finite, because the loops report infinities like a NaN that they ignored.
const lowestFinite = -math.MaxFloat32

// maxFast is like max2 without indices, for a plan with loops in assembly. buffer is the result of paddedRows for lowestFinite.
func (p *Plan) maxFast(x, out, buffer []float32, lowest float32) {
	finite, most, cols := true, active.max[p.fast.shape], p.plane[1].out
	p.lines(x, buffer, out, lowest, func(lines, rows int, dst, src []float32, srcRow, lineStep int) {
		finite = most(lines, rows, cols, &dst[0], cols, &src[0], srcRow, lineStep) && finite
	})
	if !finite {
		max2(p.plane, x, out, nil, lowest)
	}
}

// band is the number of elements that are read at a time, so that they stay in the L1 cache.
const band = 4 << 10

// bandLines returns the number of lines that are reduced at a time, and the number of rows that they read.
func (p *Plan) bandLines() (lines, rows int) {
	a := &p.plane[0]
	lines = max(1, min(a.out, band/(a.stride*p.fast.width+1)))
	return lines, (lines-1)*a.stride + (a.size-1)*a.dilation + 1
}

// paddedRows returns memory for the padded rows of a band, or nil if they have no padding.
func (p *Plan) paddedRows(padding float32) []float32 {
	if !p.fast.padded {
		return nil
	}
	_, rows := p.bandLines()
	buffer := make([]float32, rows*p.fast.width)
	for i := range buffer {
		buffer[i] = padding
	}
	return buffer
}

// widen copies rows of a plane, beginning with row first, into the padded buffer and returns them.
func (p *Plan) widen(x, buffer []float32, first, rows int) []float32 {
	cols := &p.plane[1]
	if buffer == nil {
		return x[first*cols.in:][:rows*cols.in]
	}
	from, to := max(0, -cols.lo), max(0, cols.lo)
	r := vector.Rows{Count: rows, Cols: min(cols.end-from, p.fast.width-to), DstStep: p.fast.width, SrcStep: cols.in}
	if vector.Has() {
		vector.Copy(r, buffer[to:], x[first*cols.in+from:])
		return buffer
	}
	for y := range rows {
		copy(buffer[y*r.DstStep+to:][:r.Cols], x[(first+y)*cols.in+from:])
	}
	return buffer
}

// lines calls f for groups of lines whose windows have the same number of rows, and sets the results of empty windows to the value nothing.
func (p *Plan) lines(x, buffer, out []float32, nothing float32, f func(lines, rows int, dst, src []float32, srcRow, lineStep int)) {
	rows, cols := &p.plane[0], &p.plane[1]
	most, _ := p.bandLines()
	for i := 0; i < rows.out; {
		r0, r1, top := rows.within(i)
		lines := 1
		if i >= p.fast.top && i < p.fast.bottom {
			lines = min(most, p.fast.bottom-i)
		}
		dst := out[i*cols.out:][:lines*cols.out]
		i += lines
		if r0 == r1 {
			for o := range dst {
				dst[o] = nothing
			}
			continue
		}
		src := p.widen(x, buffer, top, (lines-1)*rows.stride+(r1-r0-1)*rows.dilation+1)
		f(lines, r1-r0, dst, src, rows.dilation*p.fast.width, rows.stride*p.fast.width)
	}
}

// sumWhole sums planes lo to hi, where each plane is a single window.
func (p *Plan) sumWhole(x, out []float32, ones []float32, lo, hi int) {
	micro.Active[float32]().Dot(ones, x[lo*p.inSize:hi*p.inSize], p.inSize, out[lo:hi])
}
