// Package depthwise computes convolutions of planes of float32 with a small square kernel each, in assembly. Package conv calls it. It must
// not start threads. The input is not copied: zeros around a plane are never stored. They take part in the sum, so an infinite or NaN
// weight over them results in NaN.
package depthwise

import "unsafe"

// Plan is a convolution of planes of one shape. It is immutable and safe for
// concurrent use.
type Plan struct {
	size, stride                     int
	inRows, inCols, outRows, outCols int
	top, left                        int
	masks                            []uint16 // masks of each block of columns, blockMasks each
}

const (
	// lanes is the number of columns of a block.
	lanes = 16
	// blockMasks is the number of masks of a block: one for the elements that each column of the kernel (or pair of columns) reads, and one
	// for the results.
	blockMasks = 8
)

// New returns the plan of a convolution. in and out are the rows and columns of an input and an output plane. Each input plane is padded
// with zeros: top is the number of rows above, left is the number of columns before, and as many rows and columns follow below and after as
// out needs. New returns nil for kernels and strides without a loop in assembly.
func New(in, out [2]int, size, stride, top, left int) *Plan {
	if size != 3 && size != 5 || stride != 1 && stride != 2 || top < 0 || left < 0 || in[0] == 0 || in[1] == 0 || out[0] == 0 || out[1] == 0 {
		return nil
	}
	p := &Plan{size: size, stride: stride, inRows: in[0], inCols: in[1], outRows: out[0], outCols: out[1], top: top, left: left}
	for x := 0; x < out[1]; x += lanes {
		var masks [blockMasks]uint16
		first := x*stride - left
		if stride == 1 {
			for k := range size {
				masks[k] = p.within(first + k)
			}
		} else {
			for k := 0; k < size; k += 2 {
				masks[k], masks[k+1] = p.within(first+k), p.within(first+k+lanes)
			}
		}
		masks[blockMasks-1] = 1<<min(lanes, out[1]-x) - 1
		p.masks = append(p.masks, masks[:]...)
	}
	return p
}

// within returns the mask of those columns first, first+1, ..., first+lanes-1 that are inside the input.
func (p *Plan) within(first int) uint16 {
	var m uint16
	for l := range lanes {
		if c := first + l; c >= 0 && c < p.inCols {
			m |= 1 << l
		}
	}
	return m
}

// Has reports whether the processor supports the loop of the plan.
func (p *Plan) Has() bool { return loop(p.size, p.stride) != nil }

// call is the argument of the loops in assembly, which know its fields by
// offset. Distances are in bytes.
type call struct {
	channels                int
	dst, src, weights, bias *float32
	masks                   *uint16
	rows, inRows            int
	inRow, outRow           int
	inChannel, outChannel   int
	top, left               int
	blocks                  int
	lo, hi                  float32
}

// Run computes rows y0 to y1 of consecutive planes, one for each element of bias. It adds the bias and clamps the results to [lo, hi]. src
// and dst contain the planes, weights the kernel of each plane.
func (p *Plan) Run(dst, src, weights, bias []float32, lo, hi float32, y0, y1 int) {
	n := len(bias)
	if n == 0 || y0 >= y1 {
		return
	}
	_, _, _ = dst[:n*p.outRows*p.outCols], src[:n*p.inRows*p.inCols], weights[:n*p.size*p.size]
	_ = dst[y0*p.outCols : y1*p.outCols]
	c := call{
		channels: n, dst: &dst[y0*p.outCols], src: &src[0], weights: &weights[0], bias: &bias[0], masks: &p.masks[0],
		rows: y1 - y0, inRows: p.inRows, inRow: 4 * p.inCols, outRow: 4 * p.outCols,
		inChannel: 4 * p.inRows * p.inCols, outChannel: 4 * p.outRows * p.outCols,
		top: y0*p.stride - p.top, left: -4 * p.left, blocks: len(p.masks) / blockMasks, lo: lo, hi: hi,
	}
	loop(p.size, p.stride)((*byte)(unsafe.Pointer(&c)))
}
