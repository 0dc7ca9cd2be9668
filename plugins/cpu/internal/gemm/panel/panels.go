package panel

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Grain is the least number of elements that a thread packs at a time.
const Grain = 16 << 10

// Panels is an operand in packed form: for each block of the inner dimension, the panels of all lines.
type Panels[T micro.Number] struct {
	Kernel *micro.Kernel[T]
	Data   []T
	Width  int // lines of a panel
	Padded int // lines, rounded up to complete panels
}

// New packs the lines x k matrix src into new memory.
func New[T micro.Number](pool *par.Pool, kernel *micro.Kernel[T], width, lines, lineStride, k, depthStride int, src []T) Panels[T] {
	return Into(pool, Aligned[T](micro.CeilDiv(lines, width)*width*k), kernel, width, lines, lineStride, k, depthStride, src)
}

// Into packs the lines x k matrix src into data, which the result refers to.
func Into[T micro.Number](pool *par.Pool, data []T, kernel *micro.Kernel[T], width, lines, lineStride, k, depthStride int, src []T) Panels[T] {
	n := micro.CeilDiv(lines, width)
	packed := Panels[T]{Kernel: kernel, Width: width, Padded: n * width, Data: data}
	kc := kernel.Depth(k)
	for pc := 0; pc < k; pc += kc {
		depth := min(kc, k-pc)
		pool.For(n, Grain/(depth*width)+1, func(lo, hi int) {
			l0, l1 := lo*width, min(hi*width, lines)
			Pack(packed.Block(pc, depth, lo), src[l0*lineStride+pc*depthStride:], l1-l0, lineStride, depth, depthStride, width, kernel)
		})
	}
	return packed
}

// Block returns the panels of a block of the inner dimension, beginning with number panel. The block has depth inner elements and begins at
// pc.
func (p *Panels[T]) Block(pc, depth, panel int) []T {
	return p.Data[pc*p.Padded+panel*p.Width*depth : (pc+depth)*p.Padded]
}
