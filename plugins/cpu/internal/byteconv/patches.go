package byteconv

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

// patchProduct multiplies the weights by patches of the input, which it gathers in parts of bounded size.
type patchProduct struct{}

// At most patchBytes of patches are gathered at a time, but at least
// minPositions patches.
const patchBytes, minPositions = 512 << 10, 256

func (patchProduct) fits(p *Plan, constant bool) bool { return !constant || p.depth() > 0 }

func (patchProduct) pack(pool *par.Pool, p *Plan, w *quantized.Mat) Kernel {
	k := &patchKernel{Plan: p}
	if w == nil {
		return k
	}
	for g := range p.groups {
		k.packed = append(k.packed, quantized.PackA(pool, p.outputs, p.depth(), p.weights(*w, g)))
	}
	return k
}

type patchKernel struct {
	*Plan
	packed []*quantized.Packed // by group; nil if weights come with each run
}

// Bytes implements Kernel.
func (p *patchKernel) Bytes() int { return packedBytes(p.packed) }

func packedBytes(packed []*quantized.Packed) int {
	n := 0
	for _, w := range packed {
		n += w.Size()
	}
	return n
}

// Run implements Kernel.
func (p *patchKernel) Run(c *kernel.Call, in *Args) {
	depth, chunk := p.depth(), p.outSize
	var buffer []byte
	if !p.pointwise {
		chunk = min(chunk, max(minPositions, patchBytes/max(depth, 1)/minPositions*minPositions))
		buffer = kernel.TempOf[byte](c, depth*chunk)
	}
	var sums []int32
	var to requantize.Output
	if in.Epilogue == nil {
		sums = kernel.Flat[int32](in.Out)
	} else {
		chunk = min(chunk, max(minPositions, maxSumBytes/4/p.outputs/minPositions*minPositions))
		sums, to = kernel.TempOf[int32](c, p.outputs*chunk), in.Epilogue.Output(in.Out)
	}
	x := in.X
	x.RowStride, x.ColStride = p.inSize, 1
	zero := byte(0) // the value of padding
	if len(x.Zero) > 0 {
		zero = byte(x.Zero[0])
	}
	for i := range p.images * p.groups {
		group, first := i%p.groups, i*p.outputs*p.outSize
		from := x.Data[min(len(x.Data), i*p.channels*p.inSize):]
		args := quantized.Args{M: p.outputs, K: depth}
		if p.packed != nil {
			args.PackedA = p.packed[group]
		} else {
			args.A = p.weights(in.W, group)
		}
		for j0 := 0; j0 < p.outSize; j0 += chunk {
			j1 := min(j0+chunk, p.outSize)
			n := j1 - j0
			args.N, args.B = n, x
			if p.pointwise {
				args.B.Data = from[min(len(from), j0):]
			} else {
				args.B.Data, args.B.RowStride = buffer, n
				c.Pool.For(depth, copyGrain/n+1, func(lo, hi int) {
					for r := lo; r < hi; r++ {
						p.row(buffer[r*n:][:n], from[r/p.taps*p.inSize:], r%p.taps, j0, zero)
					}
				})
			}
			if in.Epilogue == nil {
				args.C, args.LDC = sums[first+j0:], p.outSize
				quantized.Mul(c.Pool, &args)
				continue
			}
			args.C, args.LDC = sums, n
			quantized.Mul(c.Pool, &args)
			c.Pool.For(p.outputs, requantize.Grain/n+1, func(lo, hi int) {
				for o := lo; o < hi; o++ {
					in.Epilogue.Row(to, first+o*p.outSize+j0, sums[o*n:][:n], group*p.outputs+o)
				}
			})
		}
	}
}

// row copies the elements of a channel that one tap of the kernel reads, beginning at output position j0.
func (p *Plan) row(dst, channel []byte, tap, j0 int, zero byte) {
	last := len(p.in) - 1
	var at, index [shape.MaxRank]int // at: offset of the tap in a window, less the low padding; index: output position of the line
	rest := j0 / p.out[last]
	for d := last; d >= 0; d-- {
		at[d] = tap%p.kernel[d]*p.dilation[d] - p.padLo[d]
		tap /= p.kernel[d]
		if d < last {
			index[d] = rest % p.out[d]
			rest /= p.out[d]
		}
	}
	first := j0 % p.out[last]
	for len(dst) > 0 {
		n := min(p.out[last]-first, len(dst))
		base, inside := 0, true
		for d := range last {
			i := index[d]*p.stride[d] + at[d]
			inside = inside && uint(i) < uint(p.in[d])
			base = base*p.in[d] + i
		}
		if inside {
			p.line(dst[:n], channel[base*p.in[last]:][:p.in[last]], first*p.stride[last]+at[last], p.stride[last], zero)
		} else {
			fill(dst[:n], zero)
		}
		dst, first = dst[n:], 0
		for d := last - 1; d >= 0; d-- {
			if index[d]++; index[d] < p.out[d] {
				break
			}
			index[d] = 0
		}
	}
}

// line copies every stride-th element of src, beginning at position at. Positions in the padding become zero.
func (p *Plan) line(dst, src []byte, at, stride int, zero byte) {
	if stride == 1 && at >= 0 && at+len(dst) <= len(src) {
		copy(dst, src[at:])
		return
	}
	before := 0
	if at < 0 {
		before = min((-at+stride-1)/stride, len(dst))
	}
	fill(dst[:before], zero)
	dst = dst[before:]
	at += before * stride
	n := 0
	if at < len(src) {
		n = min((len(src)-at+stride-1)/stride, len(dst))
	}
	if stride == 1 && n > 0 {
		copy(dst[:n], src[at:])
	} else {
		for i := range dst[:n] {
			dst[i] = src[at]
			at += stride
		}
	}
	fill(dst[n:], zero)
}

func fill(dst []byte, v byte) {
	for i := range dst {
		dst[i] = v
	}
}
