package conv

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
)

// A long convolution has few output positions and a large kernel. The weight
// gradient of a convolution has this form: its images are the input channels,
// its channels are the images, and its kernel is the gradient of the output.
// One product per output row covers all images. Its rows are the outputs, its
// columns are the positions of the row, by image within a position, and its
// inner dimension is channels times taps. Since images are innermost, the
// right operand is a view of the input and needs no packing.

const (
	mostLong = 64 // places
	worthTap = 4  // taps for each place
	shortRow = 20 // of the kernel, for which exchanging the roles is as good
)

// isLong reports whether the plan is long and there is a kernel for it.
func isLong[T gemm.Number](p *Plan) bool { return p.long && gemm.CanTurn[T]() }

func (p *Plan) chooseLong() bool {
	if len(p.axes) != 2 || p.groups != 1 || p.outSize == 0 || p.outSize > mostLong || p.taps < worthTap*p.outSize {
		return false
	}
	x := &p.axes[1]
	if x.kernel < shortRow && p.turned {
		return false
	}
	return x.advance == 1 && x.phases == 0 && p.axes[0].phases == 0 && x.kernel >= worthTap && p.channels > 0 && p.batch > 0
}

// long is the memory of one execution.
type long[T gemm.Number] struct {
	*run[T]
	kern    *gemm.Kernel[T]
	images  []T // [channels, padded place, image]
	kernels []T // panels of outputs, [channel, tap, output]
	sums    []T // [row of the output, output, place, image]
	room    []T // a padded channel of all images, for each part of the first loop
}

var longScratch sync.Map // by element type: *sync.Pool

func takeLong[T gemm.Number](r *run[T]) *long[T] {
	var zero T
	pool, _ := longScratch.LoadOrStore(any(zero), &sync.Pool{})
	l, ok := pool.(*sync.Pool).Get().(*long[T])
	if !ok {
		l = &long[T]{}
	}
	p := r.plan
	l.run, l.kern = r, gemm.Active[T]()
	l.images = room(l.images, p.channels*p.paddedSize*p.batch)
	l.kernels = room(l.kernels, (p.outputs+l.kern.MR-1)/l.kern.MR*l.kern.MR*p.depth())
	l.sums = room(l.sums, p.outSize*p.outputs*p.batch)
	return l
}

func giveLong[T gemm.Number](l *long[T]) {
	var zero T
	l.run = nil
	if pool, ok := longScratch.Load(any(zero)); ok && len(l.images)+len(l.kernels) <= 16<<20 {
		pool.(*sync.Pool).Put(l)
	}
}

// room is a slice of n elements of unknown values.
func room[T gemm.Number](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// runLong computes a long convolution.
func (r *run[T]) runLong() {
	p := r.plan
	l := takeLong(r)
	panels := (p.outputs + l.kern.MR - 1) / l.kern.MR
	r.pool.For(p.channels, padGrain/max(p.paddedSize*p.batch, 1)+1, l.turn)
	r.pool.For(panels, padGrain/(l.kern.MR*p.depth())+1, l.pack)
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
	r.pool.For(p.batch, leastWork()/(p.outputs*p.outSize)+1, l.finish)
	giveLong(l)
}

// turn brings channels lo to hi of all images into the order of images.
func (l *long[T]) turn(lo, hi int) {
	p := l.plan
	var padded []T
	if !p.plain {
		padded = make([]T, p.batch*p.paddedSize)
	}
	for c := lo; c < hi; c++ {
		src, line := l.x[c*p.inSize:], p.channels*p.inSize
		if !p.plain {
			for b := range p.batch {
				padAxes(padded[b*p.paddedSize:][:p.paddedSize], src[b*line:][:p.inSize], p.axes)
			}
			src, line = padded, p.paddedSize
		}
		l.kern.Transpose(l.images[c*p.paddedSize*p.batch:], src, p.batch, line, p.paddedSize, p.batch)
	}
}

// pack brings panels lo to hi of the outputs' kernels into tiles' order.
func (l *long[T]) pack(lo, hi int) {
	p, mr := l.plan, l.kern.MR
	depth := p.depth()
	for i := lo; i < hi; i++ {
		l.kern.Transpose(l.kernels[i*mr*depth:], l.weights.plain[i*mr*depth:], min(mr, p.outputs-i*mr), depth, depth, mr)
	}
}

// multiply computes row y of the output for panels lo to hi.
func (l *long[T]) multiply(y, lo, hi int) {
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

// finish brings images lo to hi into the order of the output.
func (l *long[T]) finish(lo, hi int) {
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
