package conv

import (
	"sync/atomic"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// dotProducts computes long convolutions (see longKernels) of one image, which
// have too few columns for a matrix product. The weight gradients of depthwise
// layers, and of layers with one input channel, have this form. Each output is
// the sum of one dot product for each channel. With zeros in the gaps between
// its rows, a channel of the kernel is one vector, which is multiplied by a
// contiguous part of the input.
type dotProducts[T micro.Number] struct{}

func (dotProducts[T]) fits(p *Plan) bool {
	if micro.Active[T]().Dot == nil || len(p.axes) != 2 || p.batch != 1 || p.outSize == 0 || p.outSize > maxLongOutputs || p.taps < minTapsPerOutput*p.outSize || p.channels == 0 {
		return false
	}
	for _, a := range p.axes {
		if a.phases != 0 || a.kernelDilation != 1 || a.stride != 1 {
			return false
		}
	}
	return p.axes[1].kernel >= 2*minTapsPerOutput
}

func (dotProducts[T]) pack(_ *par.Pool, p *Plan, w []T, use use) prepared[T] {
	unpacked := directTaps[T]{}.fits(p) || longKernels[T]{}.fits(p)
	if use == kept && !unpacked && len(p.phases) == 0 {
		return nil // a product with packed weights is faster
	}
	return &dotWeights[T]{w: w}
}

// dotWeights contains unpacked weights.
type dotWeights[T micro.Number] struct {
	partial
	w []T
}

// elements returns zero: the strategy for refused inputs holds the same weights.
func (w *dotWeights[T]) elements() int { return 0 }

// run refuses an input that is not finite, because the zeros in the gaps would turn all outputs into NaN.
func (w *dotWeights[T]) run(r *run[T]) bool {
	p, kern := r.plan, micro.Active[T]()
	planes := r.x
	if !p.unpadded {
		spare, _ := p.spare.Get().(*[]T)
		if spare == nil {
			spare = new([]T)
		}
		defer p.spare.Put(spare)
		*spare = resize(*spare, p.channels*p.paddedSize)
		planes = *spare
	}
	zeros := make([]T, p.paddedSize)
	var infinite atomic.Bool
	r.pool.For(p.channels, padGrain/p.paddedSize+1, func(lo, hi int) {
		var sum [1]T
		for c := lo; c < hi; c++ {
			plane := planes[c*p.paddedSize:][:p.paddedSize]
			if !p.unpadded {
				clear(plane)
				padAxes(plane, r.x[c*p.inSize:][:p.inSize], p.axes)
			}
			if kern.Dot(plane, zeros, 0, sum[:]); sum[0] != sum[0] {
				infinite.Store(true)
			}
		}
	})
	if infinite.Load() {
		return false
	}
	r.pool.For(p.outputs, minWork()/(p.depth()*p.outSize)+1, func(lo, hi int) {
		rows, cols := &p.axes[0], &p.axes[1]
		kernel, sums := make([]T, (rows.kernel-1)*rows.step+cols.kernel), make([]T, cols.out)
		channels, perGroup := p.channels/p.groups, p.outputs/p.groups
		for o := lo; o < hi; o++ {
			out := r.out[o*p.outSize:][:p.outSize]
			if !r.accumulate {
				clear(out)
			}
			for c := range channels {
				taps := w.w[(o*channels+c)*p.taps:][:p.taps]
				for y := range rows.kernel {
					copy(kernel[y*rows.step:][:cols.kernel], taps[y*cols.kernel:])
				}
				plane := planes[(o/perGroup*channels+c)*p.paddedSize:][:p.paddedSize]
				for y := range rows.out {
					kern.Dot(kernel, plane[y*rows.step:], 1, sums)
					for x, v := range sums {
						out[y*cols.out+x] += v
					}
				}
			}
			r.epilogue.Rows(o).Apply(out, p.outSize, 1, p.outSize)
		}
	})
	return true
}
