// Package window reduces a tensor over sliding windows: sum, maximum, and maximum with its index. Package contraction calls it. It must not
// pad or copy whole tensors.
//
// Tensors are contiguous and row-major. A window has a size on every axis of the tensor; an axis that is not reduced, such as batch or
// channels, has window, stride and dilation one and no padding. Results are equal to the bit for every thread count.
package window

import (
	"fmt"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Params are the attributes of a window reduction, one element for each axis of the tensor. A nil slice other than Size means ones, or
// zeros for the paddings. A negative padding removes elements.
type Params struct {
	Size, Stride, PadLo, PadHi, Dilation []int
}

// axis is one axis of the tensor.
type axis struct {
	in, out                int
	size, stride, dilation int
	lo                     int // padding before the input; negative if elements are removed
	begin, end             int // range of the elements that a negative padding keeps
	inStep                 int // elements between neighbours in the input
}

// Plan is a reduction of given shapes, ready to run. It is immutable and safe
// for concurrent use.
type Plan struct {
	axes []axis
	// outer is the number of leading axes along which each output equals its input. The other axes form planes, which are reduced one by one.
	outer           int
	plane           []axis // the other axes; a single one has an axis of one element before it
	planes          int
	inSize, outSize int // elements of a plane
	fast            fast
}

// maxLength bounds sizes, strides, paddings and dilations.
const maxLength = 1<<31 - 1

// New checks shape and parameters and lays out the reduction.
func New(shape []int, params Params) (*Plan, error) {
	if len(params.Size) != len(shape) {
		return nil, fmt.Errorf("window: size, got %d values, want %d", len(params.Size), len(shape))
	}
	p := &Plan{axes: make([]axis, len(shape)), planes: 1, inSize: 1, outSize: 1}
	for i := range p.axes {
		a := &p.axes[i]
		a.in = shape[i]
		if a.in < 0 {
			return nil, fmt.Errorf("window: shape, got %v, want no negative size", shape)
		}
		hi := 0
		for _, f := range []struct {
			name       string
			to         *int
			from       []int
			def, least int
		}{
			{"size", &a.size, params.Size, 1, 1},
			{"stride", &a.stride, params.Stride, 1, 1},
			{"dilation", &a.dilation, params.Dilation, 1, 1},
			{"low padding", &a.lo, params.PadLo, 0, -maxLength},
			{"high padding", &hi, params.PadHi, 0, -maxLength},
		} {
			*f.to = f.def
			if f.from == nil {
				continue
			}
			if len(f.from) != len(shape) {
				return nil, fmt.Errorf("window: %s, got %d values, want %d", f.name, len(f.from), len(shape))
			}
			if v := f.from[i]; v < f.least || v > maxLength {
				return nil, fmt.Errorf("window: %s of axis %d, got %d, want %d to %d", f.name, i, v, f.least, maxLength)
			}
			*f.to = f.from[i]
		}
		length, reach := a.in+a.lo+hi, (a.size-1)*a.dilation+1
		if length >= reach {
			a.out = (length-reach)/a.stride + 1
		}
		a.begin, a.end = max(0, -a.lo), a.in-max(0, -hi)
	}
	p.setPlanes()
	return p, nil
}

// setPlanes divides the axes into the outer axes, which enumerate the planes, and the axes of a plane.
func (p *Plan) setPlanes() {
	for p.outer < len(p.axes) && p.axes[p.outer].inPlace() {
		p.planes *= p.axes[p.outer].in
		p.outer++
	}
	for i := len(p.axes) - 1; i >= p.outer; i-- {
		a := &p.axes[i]
		a.inStep = p.inSize
		p.inSize *= a.in
		p.outSize *= a.out
	}
	p.plane = p.axes[p.outer:]
	if len(p.plane) == 1 {
		unit := axis{in: 1, out: 1, size: 1, stride: 1, dilation: 1, end: 1, inStep: p.inSize}
		p.plane = []axis{unit, p.plane[0]}
	}
	p.chooseFast()
}

// inPlace reports whether each output along the axis equals its input.
func (a *axis) inPlace() bool {
	return a.size == 1 && a.stride == 1 && a.lo == 0 && a.out == a.in && a.end == a.in
}

// OutShape returns the shape of the output.
func (p *Plan) OutShape() []int {
	shape := make([]int, len(p.axes))
	for i, a := range p.axes {
		shape[i] = a.out
	}
	return shape
}

// OutShape returns the shape of the output, or an error for invalid shapes and parameters.
func OutShape(shape []int, params Params) ([]int, error) {
	p, err := New(shape, params)
	if err != nil {
		return nil, err
	}
	return p.OutShape(), nil
}

// within returns the taps [t0, t1) of window o that are inside the input, and the index of the element at tap t0.
func (a *axis) within(o int) (t0, t1, at int) {
	at = o*a.stride - a.lo
	if at < a.begin {
		t0 = (a.begin - at + a.dilation - 1) / a.dilation
	}
	t1 = a.size
	if last := at + (a.size-1)*a.dilation; last >= a.end {
		t1 = (a.end - at + a.dilation - 1) / a.dilation
	}
	at += t0 * a.dilation
	return t0, max(t0, t1), at
}

// Sum writes the sum of each window to out. Padding counts as zero, so the sum of a window that covers padding only is zero. Integers wrap
// around.
func Sum[T micro.Number](pool *par.Pool, p *Plan, x, out []T) {
	x, out = x[:p.planes*p.inSize], out[:p.planes*p.outSize]
	if len(out) == 0 {
		return
	}
	x32, native := any(x).([]float32)
	out32, _ := any(out).([]float32)
	if native && p.fast.whole && micro.Active[float32]().Dot != nil {
		ones := make([]float32, p.inSize)
		for i := range ones {
			ones[i] = 1
		}
		pool.For(p.planes, p.grain(), func(lo, hi int) { p.sumWhole(x32, out32, ones, lo, hi) })
		return
	}
	native = native && p.fast.shape >= 0
	pool.For(p.planes, p.grain(), func(lo, hi int) {
		var walk walker
		var buffer []float32
		if native {
			buffer = p.paddedRows(0)
		}
		for i := lo; i < hi; i++ {
			from, to := x[i*p.inSize:][:p.inSize], out[i*p.outSize:][:p.outSize]
			if native {
				p.sumFast(x32[i*p.inSize:][:p.inSize], out32[i*p.outSize:][:p.outSize], buffer)
			} else if len(p.plane) == 2 {
				sum2(p.plane, from, to)
			} else {
				sumAny(&walk, p.plane, from, to)
			}
		}
	})
}

// Max writes the largest element of each window to out. If index is not nil, it writes the element's index to it, counted within the plane:
// the trailing axes from the first one with a window. Among equal elements the first is taken. NaN is larger than any number, and the first
// NaN is taken. For a window that covers padding only, the maximum is the lowest value of T (minus infinity for floats) and the index is
// -1.
func Max[T micro.Number](pool *par.Pool, p *Plan, x, out []T, index []int64) {
	MaxFrom(pool, p, p.outer, x, out, index)
}

// minWork is the least number of elements for which another thread is used in plain Go. In assembly it is nativeGain times as large.
const (
	minWork    = 4 << 10
	nativeGain = 8
)

// grain returns the least number of planes for which another thread is used.
func (p *Plan) grain() int {
	work := p.outSize
	if p.fast.shape >= 0 {
		work = (work + nativeGain - 1) / nativeGain
	}
	for _, a := range p.axes {
		if work < minWork {
			work *= a.size
		}
	}
	return minWork/max(work, 1) + 1
}
