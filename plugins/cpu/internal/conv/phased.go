package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// A convolution of a dilated input meets holes with most elements of its
// kernel: with the others for each place, and which ones they are repeats with
// the dilation. So it is cut into phases, convolutions of the input as it is
// with every dilation-th element of the kernel, whose outputs lie a dilation
// apart. (This is the gradient of the input of a convolution with strides.)

// phase is the part of the output at places first, first+dilation ...
type phase struct {
	*Plan
	first, taps, dilation []int // by axis: of the output, the first element of the kernel, and the steps of both
}

// cut makes the phases of a plan that has them: dilated, no strides and no
// dilated kernel.
func (p *Plan) cut(params Params, xShape, wShape []int) error {
	phases := 1
	for _, a := range p.axes {
		if a.stride != 1 || a.kernelDilation != 1 || a.kernel == 0 || a.in == 0 {
			return nil
		}
		phases *= a.dilation
	}
	if phases == 1 || phases > mostPhases || p.outSize == 0 || p.outputs*p.batch*p.depth() == 0 {
		return nil
	}
	for i := range phases {
		n := len(p.axes)
		ph := phase{first: make([]int, n), taps: make([]int, n), dilation: make([]int, n)}
		part := Params{PadLo: make([]int, n), PadHi: make([]int, n), Groups: params.Groups}
		kernel := append([]int(nil), wShape...)
		empty := false
		for d := n - 1; d >= 0; d-- {
			a := &p.axes[d]
			r := i % a.dilation
			i /= a.dilation
			k := ((a.lo-r)%a.dilation + a.dilation) % a.dilation
			out, left := (a.out-r+a.dilation-1)/a.dilation, max(0, (a.kernel-k+a.dilation-1)/a.dilation)
			empty = empty || out <= 0
			ph.first[d], ph.taps[d], ph.dilation[d], kernel[2+d] = r, k, a.dilation, left
			part.PadLo[d] = -(r + k - a.lo) / a.dilation
			part.PadHi[d] = out + left - 1 - a.in - part.PadLo[d]
		}
		if empty {
			continue
		}
		var err error
		if ph.Plan, err = New(xShape, kernel, part); err != nil {
			return err
		}
		p.phases = append(p.phases, ph)
	}
	return nil
}

// mostPhases bounds the plans that one is cut into.
const mostPhases = 64

// phaseWeights prepares the weights of all phases. It gives nil where holes
// must be computed: a zero times a weight that is not finite is NaN.
func phaseWeights[T gemm.Number](pool *par.Pool, p *Plan, w []T) []*Weights[T] {
	if len(p.phases) == 0 || !finite(w[:p.outputs*p.depth()]) {
		return nil
	}
	kernel := make([]int, len(p.axes))
	for i, a := range p.axes {
		kernel[i] = a.kernel
	}
	var all []*Weights[T]
	for _, ph := range p.phases {
		part := make([]T, 0, ph.outputs*ph.depth())
		offsets := ph.within(kernel, nil, 0, 0)
		for i := range p.outputs * (p.channels / p.groups) {
			for _, o := range offsets {
				part = append(part, w[i*p.taps+o])
			}
		}
		all = append(all, PackWeights(pool, ph.Plan, part))
	}
	return all
}

// within lists the places of a phase's kernel in the whole one.
func (ph *phase) within(kernel, list []int, d, base int) []int {
	if d == len(kernel) {
		return append(list, base)
	}
	for k := ph.taps[d]; k < kernel[d]; k += ph.dilation[d] {
		list = ph.within(kernel, list, d+1, base*kernel[d]+k)
	}
	return list
}

func finite[T gemm.Number](w []T) bool {
	for _, v := range w {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// runPhases computes the phases one after the other.
func (r *run[T]) runPhases() error {
	p := r.plan
	spare, _ := p.spare.Get().(*[]T)
	if spare == nil {
		spare = new([]T)
	}
	for i, ph := range p.phases {
		*spare = room(*spare, ph.batch*ph.outputs*ph.outSize)
		part := *spare
		if err := RunPacked(r.pool, ph.Plan, r.x, r.weights.phases[i], part, r.epilogue); err != nil {
			return err
		}
		r.pool.For(p.batch*p.outputs, padGrain/ph.outSize+1, func(lo, hi int) {
			for c := lo; c < hi; c++ {
				spread(&ph, r.out[c*p.outSize:][:p.outSize], part[c*ph.outSize:][:ph.outSize], p.axes, 0)
			}
		})
	}
	p.spare.Put(spare)
	return nil
}

// spread copies a channel of a phase to its places in that of the whole, from
// axis d on.
func spread[T gemm.Number](ph *phase, to, from []T, axes []axis, d int) {
	step, n := ph.dilation[d], ph.axes[d].out
	if d == len(axes)-1 {
		at := ph.first[d]
		for _, v := range from[:n] {
			to[at] = v
			at += step
		}
		return
	}
	toRow, fromRow := len(to)/axes[d].out, len(from)/n
	for i := range n {
		at := ph.first[d] + i*step
		spread(ph, to[at*toRow:][:toRow], from[i*fromRow:][:fromRow], axes, d+1)
	}
}
