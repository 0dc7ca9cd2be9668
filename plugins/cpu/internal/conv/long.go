package conv

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// longKernels computes convolutions with few output positions and a large
// kernel. The weight gradient of a convolution has this form: its images are
// the input channels, its channels are the images, and its kernel is the
// gradient of the output. One product per output row covers all images. Its
// rows are the outputs. Its columns are the images at each position of the
// row. Its inner dimension is channels times taps. Since
// images are innermost, the right operand is a view of the input and needs no
// packing.
type longKernels[T micro.Number] struct{}

const (
	maxLongOutputs   = 64 // positions
	minTapsPerOutput = 4
)

func (longKernels[T]) fits(p *Plan) bool {
	if !gemm.CanTranspose[T]() || len(p.axes) != 2 || p.groups != 1 || p.outSize == 0 || p.outSize > maxLongOutputs || p.taps < minTapsPerOutput*p.outSize {
		return false
	}
	x := &p.axes[1]
	return x.advance == 1 && x.phases == 0 && p.axes[0].phases == 0 && x.kernel >= minTapsPerOutput && p.channels > 0 && p.batch > 0
}

func (longKernels[T]) pack(_ *par.Pool, _ *Plan, w []T, _ use) prepared[T] {
	return &longWeights[T]{w: w}
}

// longWeights contains unpacked weights.
type longWeights[T micro.Number] struct {
	total
	w []T
}

func (w *longWeights[T]) elements() int { return len(w.w) }

// longRun is the workspace of one execution.
type longRun[T micro.Number] struct {
	*run[T]
	w       []T
	kern    *micro.Kernel[T]
	images  []T // [channels, padded position, image]
	kernels []T // panels of outputs, [channel, tap, output]
	sums    []T // [row of the output, output, position, image]
}

var longScratch sync.Map // by element type: *sync.Pool

func takeLong[T micro.Number](r *run[T], w []T) *longRun[T] {
	var zero T
	pool, _ := longScratch.LoadOrStore(any(zero), &sync.Pool{})
	l, ok := pool.(*sync.Pool).Get().(*longRun[T])
	if !ok {
		l = &longRun[T]{}
	}
	p := r.plan
	l.run, l.w, l.kern = r, w, micro.Active[T]()
	l.images = resize(l.images, p.channels*p.paddedSize*p.batch)
	l.kernels = resize(l.kernels, (p.outputs+l.kern.MR-1)/l.kern.MR*l.kern.MR*p.depth())
	l.sums = resize(l.sums, p.outSize*p.outputs*p.batch)
	return l
}

func giveLong[T micro.Number](l *longRun[T]) {
	var zero T
	l.run, l.w = nil, nil
	if pool, ok := longScratch.Load(any(zero)); ok && len(l.images)+len(l.kernels) <= 16<<20 {
		pool.(*sync.Pool).Put(l)
	}
}

// resize returns a slice of n elements with undefined values. It is s if s is large enough.
func resize[T micro.Number](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (w *longWeights[T]) run(r *run[T]) bool {
	p := r.plan
	l := takeLong(r, w.w)
	panels := (p.outputs + l.kern.MR - 1) / l.kern.MR
	r.pool.For(p.channels, padGrain/max(p.paddedSize*p.batch, 1)+1, l.imagesInnermost)
	r.pool.For(panels, padGrain/(l.kern.MR*p.depth())+1, l.packKernels)
	parts := 1
	if threads := r.pool.Threads(); threads > 1 {
		parts = min(panels, 2*threads)
	}
	rows := p.axes[0].out
	r.pool.For(rows*parts, 1, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			part := t % parts
			l.multiply(t/parts, panels*part/parts, panels*(part+1)/parts)
		}
	})
	r.pool.For(p.batch, minWork()/(p.outputs*p.outSize)+1, l.store)
	giveLong(l)
	return true
}

// imagesInnermost transposes channels lo to hi of the input: images become the
// innermost dimension.
func (l *longRun[T]) imagesInnermost(lo, hi int) {
	p := l.plan
	var padded []T
	if !p.unpadded {
		padded = make([]T, p.batch*p.paddedSize)
	}
	for c := lo; c < hi; c++ {
		src, line := l.x[c*p.inSize:], p.channels*p.inSize
		if !p.unpadded {
			for b := range p.batch {
				padAxes(padded[b*p.paddedSize:][:p.paddedSize], src[b*line:][:p.inSize], p.axes)
			}
			src, line = padded, p.paddedSize
		}
		l.kern.Transpose(l.images[c*p.paddedSize*p.batch:], src, p.batch, line, p.paddedSize, p.batch)
	}
}

// packKernels packs panels lo to hi of the kernels.
func (l *longRun[T]) packKernels(lo, hi int) {
	p, mr := l.plan, l.kern.MR
	depth := p.depth()
	for i := lo; i < hi; i++ {
		l.kern.Transpose(l.kernels[i*mr*depth:], l.w[i*mr*depth:], min(mr, p.outputs-i*mr), depth, depth, mr)
	}
}

// multiply computes row y of the output for panels lo to hi.
func (l *longRun[T]) multiply(y, lo, hi int) {
	p, mr, nr := l.plan, l.kern.MR, l.kern.NR
	rows, cols := &p.axes[0], &p.axes[1]
	width := cols.out * p.batch
	step := cols.kernelDilation * p.batch
	for c := range p.channels {
		for ky := range rows.kernel {
			k := (c*rows.kernel + ky) * cols.kernel
			from := l.images[(c*p.paddedSize+(y*rows.stride+ky*rows.kernelDilation)*rows.step)*p.batch:]
			for i := lo; i < hi; i++ {
				a := l.kernels[i*mr*p.depth()+k*mr:]
				sums := l.sums[(y*p.outputs+i*mr)*width:]
				for j := 0; j < width; j += nr {
					l.kern.Tile(min(mr, p.outputs-i*mr), min(nr, width-j), cols.kernel, a, 1, mr, from[j:], step, sums[j:], width, k > 0, nil, 0, 0)
				}
			}
		}
	}
}

// store transposes the sums of images lo to hi into the output and applies the
// epilogue.
func (l *longRun[T]) store(lo, hi int) {
	p := l.plan
	rows, cols := p.axes[0].out, p.axes[1].out
	for b := lo; b < hi; b++ {
		out := l.out[b*p.outputs*p.outSize:][:p.outputs*p.outSize]
		for o := range p.outputs {
			for y := range rows {
				from := l.sums[(y*p.outputs+o)*cols*p.batch+b:]
				to := out[o*p.outSize+y*cols:][:cols]
				for x := range to {
					if l.accumulate {
						to[x] += from[x*p.batch]
					} else {
						to[x] = from[x*p.batch]
					}
				}
			}
		}
		if l.epilogue != nil {
			l.epilogue.Apply(out, p.outSize, p.outputs, p.outSize)
		}
	}
}
