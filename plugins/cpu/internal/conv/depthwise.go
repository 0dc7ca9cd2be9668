package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/depthwise"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// depthwisePlan returns the plan of a convolution with one input and one output for each group. It returns nil for other convolutions, and
// for kernels and strides that package depthwise does not support.
func (p *Plan) depthwisePlan() *depthwise.Plan {
	if len(p.axes) != 2 || p.channels != p.groups || p.outputs != p.groups || p.outSize == 0 || p.inSize == 0 {
		return nil
	}
	y, x := &p.axes[0], &p.axes[1]
	for _, a := range p.axes {
		if a.kernel != y.kernel || a.stride != y.stride || a.kernelDilation != 1 || a.dilation != 1 {
			return nil
		}
	}
	return depthwise.New([2]int{y.in, x.in}, [2]int{y.out, x.out}, y.kernel, y.stride, y.lo, x.lo)
}

// depthwisePlanes computes plane by plane from the unpadded input.
type depthwisePlanes[T micro.Number] struct{}

func (depthwisePlanes[T]) fits(p *Plan) bool {
	return isFloat32[T]() && p.depthwise != nil && p.depthwise.Has()
}

func (depthwisePlanes[T]) pack(_ *par.Pool, p *Plan, w []T, _ use) prepared[T] {
	return &depthwiseWeights[T]{w: any(w).([]float32), noBias: make([]float32, p.outputs)}
}

// depthwiseWeights contains unpacked weights.
type depthwiseWeights[T micro.Number] struct {
	total
	w, noBias []float32
}

func (w *depthwiseWeights[T]) elements() int { return len(w.w) }

// run computes all planes. It divides them into bands of rows if there are few.
func (w *depthwiseWeights[T]) run(r *run[T]) bool {
	p := r.plan
	x, out := any(r.x).([]float32), any(r.out).([]float32)
	lo, hi, bias := float32(math.Inf(-1)), float32(math.Inf(1)), w.noBias
	if e := any(r.epilogue).(*micro.Epilogue[float32]); e != nil {
		if e.BiasRow != nil {
			bias = e.BiasRow
		}
		if e.HasClamp {
			lo, hi = e.Lo, e.Hi
		}
	}
	planes, rows := p.batch*p.outputs, p.axes[0].out
	bands := 1
	if least := 4 * r.pool.Threads(); r.pool.Threads() > 1 && planes < least {
		bands = min((least+planes-1)/planes, rows)
	}
	work := p.outSize * p.taps / bands
	r.pool.For(planes*bands, minDirectWork()/4/max(work, 1)+1, func(i, end int) {
		for i < end {
			plane, band := i/bands, i%bands
			c, n := plane%p.outputs, 1
			if bands == 1 {
				n = min(end-i, p.outputs-c)
			}
			p.depthwise.Run(out[plane*p.outSize:], x[plane*p.inSize:], w.w[c*p.taps:], bias[c:c+n], lo, hi, band*rows/bands, (band+1)*rows/bands)
			i += n
		}
	})
	return true
}
