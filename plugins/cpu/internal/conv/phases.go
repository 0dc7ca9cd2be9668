package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// In a convolution of a dilated input, most taps of the kernel read holes. The pattern of the other taps repeats with the dilation. So the
// convolution is split into phases: each is a convolution of the undilated input with every dilation-th tap, and its outputs are dilation
// positions apart. The input gradient of a strided convolution has this form.

// phase computes the output at positions first, first+dilation, and so on: it is a convolution of the input, padded by lo, without strides.
type phase struct {
	plan                  *Plan // see planPhases
	first, taps, dilation []int // by axis: the first output, the first element of the kernel, and the step of both
	lo, out, kernel       []int // by axis: padding, outputs and elements of the kernel
	base, reach, end      int   // see jointLayout
	offsets               []int
}

// setPhases sets the phases of a plan with input dilation, without strides and kernel dilation. Other plans have none.
func (p *Plan) setPhases() {
	phases := 1
	for _, a := range p.axes {
		if a.stride != 1 || a.kernelDilation != 1 || a.kernel == 0 || a.in == 0 {
			return
		}
		phases *= a.dilation
	}
	if phases == 1 || phases > maxPlanPhases || p.outSize == 0 || p.outputs*p.batch*p.depth() == 0 {
		return
	}
	for i := range phases {
		n := len(p.axes)
		steps := make([]int, 6*n)
		part := func(i int) []int { return steps[i*n:][:n:n] }
		ph := phase{first: part(0), taps: part(1), dilation: part(2), lo: part(3), out: part(4), kernel: part(5)}
		empty := false
		for d := n - 1; d >= 0; d-- {
			a := &p.axes[d]
			r := i % a.dilation
			i /= a.dilation
			k := ((a.lo-r)%a.dilation + a.dilation) % a.dilation
			ph.out[d], ph.kernel[d] = (a.out-r+a.dilation-1)/a.dilation, max(0, (a.kernel-k+a.dilation-1)/a.dilation)
			ph.first[d], ph.taps[d], ph.dilation[d], ph.lo[d] = r, k, a.dilation, -(r+k-a.lo)/a.dilation
			empty = empty || ph.out[d] <= 0
		}
		if !empty {
			p.phases = append(p.phases, ph)
		}
	}
	if p.joint = newJointLayout(p); !p.prefersJoint() {
		p.joint = nil
	}
}

// planPhases creates the plans of the phases, which only some strategies need.
func (p *Plan) planPhases() error {
	p.phasePlans.Do(func() {
		x, w := []int{p.batch, p.channels}, []int{p.outputs, p.channels / p.groups}
		for _, a := range p.axes {
			x, w = append(x, a.in), append(w, 0)
		}
		for i := range p.phases {
			ph := &p.phases[i]
			hi := make([]int, len(ph.lo))
			for d := range hi {
				hi[d] = ph.out[d] + ph.kernel[d] - 1 - p.axes[d].in - ph.lo[d]
				w[2+d] = ph.kernel[d]
			}
			var err error
			if ph.plan, err = New(x, w, Params{PadLo: ph.lo, PadHi: hi, Groups: p.groups}); err != nil {
				p.phasePlansErr = err
			}
		}
	})
	return p.phasePlansErr
}

// maxPlanPhases bounds the phases of a plan.
const maxPlanPhases = 64

// separatePhases computes the phases one after the other. It does not support AddPlan, because a phase computes into separate memory.
type separatePhases[T micro.Number] struct{}

func (separatePhases[T]) fits(p *Plan) bool { return len(p.phases) > 0 }

func (separatePhases[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if use == fallback || !finite(w) || p.planPhases() != nil {
		return nil
	}
	kernel := make([]int, len(p.axes))
	for i, a := range p.axes {
		kernel[i] = a.kernel
	}
	ready := &phaseWeights[T]{}
	for _, ph := range p.phases {
		part := make([]T, 0, ph.plan.outputs*ph.plan.depth())
		offsets := ph.within(kernel, nil, 0, 0)
		for i := range p.outputs * (p.channels / p.groups) {
			for _, o := range offsets {
				part = append(part, w[i*p.taps+o])
			}
		}
		ready.phases = append(ready.phases, pack(exactStrategies[T](), pool, ph.plan, part, kept))
	}
	return ready
}

// phaseWeights are the weights of all phases.
type phaseWeights[T micro.Number] struct {
	partial
	phases []*Weights[T]
}

func (w *phaseWeights[T]) elements() int {
	n := 0
	for _, ph := range w.phases {
		for _, c := range ph.choices {
			n += c.elements()
		}
	}
	return n
}

func (w *phaseWeights[T]) run(r *run[T]) bool {
	if r.accumulate {
		return false
	}
	p := r.plan
	spare, _ := p.spare.Get().(*[]T)
	if spare == nil {
		spare = new([]T)
	}
	for i := range p.phases {
		ph := &p.phases[i]
		size := ph.plan.outSize
		*spare = resize(*spare, p.batch*p.outputs*size)
		part := *spare
		w.phases[i].compute(r.pool, r.x, part, false, r.epilogue)
		r.pool.For(p.batch*p.outputs, padGrain/size+1, func(lo, hi int) {
			for c := lo; c < hi; c++ {
				storePhase(ph, r.out[c*p.outSize:][:p.outSize], part[c*size:][:size], p.axes, 0)
			}
		})
	}
	p.spare.Put(spare)
	return true
}

// within appends the indices, in the full kernel, of the taps of a phase.
func (ph *phase) within(kernel, list []int, d, base int) []int {
	if d == len(kernel) {
		return append(list, base)
	}
	for k := ph.taps[d]; k < kernel[d]; k += ph.dilation[d] {
		list = ph.within(kernel, list, d+1, base*kernel[d]+k)
	}
	return list
}

// finite reports whether w contains no NaN or infinity. Their product with the zero of a hole is NaN, so that holes must not be
// skipped.
func finite[T micro.Number](w []T) bool {
	if kern := micro.Active[T](); kern.Dot != nil {
		var zeros [1024]T
		var sums [16]T
		for len(w) > 0 {
			n := min(len(w), len(zeros))
			rows := min(len(w)/n, len(sums))
			kern.Dot(zeros[:n], w, n, sums[:rows])
			for _, v := range sums[:rows] {
				if v != v {
					return false
				}
			}
			w = w[rows*n:]
		}
		return true
	}
	for _, v := range w {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// storePhase copies a channel of a phase to its positions in the output channel, from axis d on.
func storePhase[T micro.Number](ph *phase, to, from []T, axes []axis, d int) {
	step, n := ph.dilation[d], ph.plan.axes[d].out
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
		storePhase(ph, to[at*toRow:][:toRow], from[i*fromRow:][:fromRow], axes, d+1)
	}
}
