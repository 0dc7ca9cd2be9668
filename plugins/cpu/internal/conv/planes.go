package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/depthwise"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
)

// layPlanes lays out a plan of one input and one output for each group, for
// kernels and strides that package depthwise has.
func (p *Plan) layPlanes() *depthwise.Plan {
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

// inPlanes reports whether planes are computed from the unpadded input.
func inPlanes[T gemm.Number](p *Plan) bool {
	_, ok := any([]T(nil)).([]float32)
	return ok && p.depthwise != nil && p.depthwise.Has()
}

// runPlanes computes all planes: in bands of rows where they are few.
func (r *run[T]) runPlanes() {
	p := r.plan
	x, w, out := any(r.x).([]float32), any(r.weights.plain).([]float32), any(r.out).([]float32)
	e, _ := any(r.epilogue).(*gemm.Epilogue[float32])
	lo, hi := float32(math.Inf(-1)), float32(math.Inf(1))
	var bias []float32
	if e != nil {
		bias = e.BiasRow
		if e.HasClamp {
			lo, hi = e.Lo, e.Hi
		}
	}
	if bias == nil {
		bias = p.noBias
	}
	planes, rows := p.batch*p.outputs, p.axes[0].out
	bands := 1
	if least := 4 * r.pool.Threads(); r.pool.Threads() > 1 && planes < least {
		bands = min((least+planes-1)/planes, rows)
	}
	work := p.outSize * p.taps / bands
	r.pool.For(planes*bands, leastDirect()/4/max(work, 1)+1, func(i, end int) {
		for i < end {
			plane, band := i/bands, i%bands
			c, n := plane%p.outputs, 1
			if bands == 1 {
				n = min(end-i, p.outputs-c)
			}
			p.depthwise.Run(out[plane*p.outSize:], x[plane*p.inSize:], w[c*p.taps:], bias[c:c+n], lo, hi, band*rows/bands, (band+1)*rows/bands)
			i += n
		}
	})
}
