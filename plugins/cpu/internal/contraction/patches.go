package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

const (
	// patchBytes bounds the memory of the patches that are gathered at a time. At least leastPlaces patches are.
	patchBytes, leastPlaces = 512 << 10, 256
	// leastOutputs is the fewest outputs of a group for which patches are worth their copy.
	leastOutputs = 4
	// patchGrain is the fewest bytes of patches that are worth another thread.
	patchGrain = 64 << 10
)

// patches is a convolution of bytes as a product of the weights with the patches of the input.
type patches struct {
	channels, outputs, taps int // of a group
	groups                  int
	in, kern, out           shape.Shape // spatial
	stride, lo, dilation    []int
	inSize, places          int
	plain                   bool // the patches are the input
}

// prepareByteConv makes the kernel of a convolution of bytes that multiplies them as they are, nil where there is none or
// where it does not pay.
func prepareByteConv(env *kernel.Env, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	x, w, y, a := in[0].Shape, in[1].Shape, n.Outputs[0].Shape, n.Attrs
	groups, rank := max(1, a.Int("groups")), len(x)-2
	p := &patches{channels: w[1], outputs: w[0] / groups, taps: w[2:].Size(), groups: groups, in: x[2:], kern: w[2:], out: y[2:],
		stride: orAll(a.Ints("strides"), rank, 1), lo: orAll(a.Ints("pad_lo"), rank, 0), dilation: orAll(a.Ints("kernel_dilation"), rank, 1),
		inSize: x[2:].Size(), places: y[2:].Size()}
	for _, d := range a.Ints("input_dilation") {
		if d != 1 {
			return nil
		}
	}
	if p.outputs < leastOutputs {
		return nil
	}
	p.plain = p.taps == 1 && p.in.Equal(p.out)
	for d := range rank {
		p.plain = p.plain && p.stride[d] == 1 && p.lo[d] == 0
	}
	if run := preparePlanes(env, n, in, s); run != nil && !p.plain {
		return run
	}
	depth := p.channels * p.taps
	var packed []*gemm.PackedBytes
	if s.Weight != nil && depth > 0 {
		data, zero := make([]byte, s.Weight.Size()), constantZeros(env, s.Zero)
		kernel.Read(env.Pool, data, *s.Weight)
		for g := range groups {
			packed = append(packed, gemm.PackBytesA(env.Pool, p.outputs, depth, p.group(gemm.ByteMat{Signed: s.Weight.DType == dtype.I8,
				RowStride: depth, ColStride: 1, Data: data, Zero: zero}, g)))
		}
	} else if s.Weight != nil {
		return nil
	}
	return func(c *kernel.Call) error {
		o := s.operands(c)
		x := c.Contiguous(o.x)
		out := c.Alloc(0)
		if out.Size() == 0 {
			return nil
		}
		var left gemm.ByteMat
		if packed == nil {
			left = byteMat(c, c.Contiguous(o.w), depth, 1, o.wZero)
		}
		p.run(c, left, packed, byteMat(c, x, p.inSize, 1, o.xZero), x.View.Shape[0], out, s.Finish)
		return nil
	}
}

// group is the weights of one group.
func (p *patches) group(w gemm.ByteMat, g int) gemm.ByteMat {
	w.Data = w.Data[min(len(w.Data), g*p.outputs*p.channels*p.taps):]
	if len(w.Zero) > 1 {
		w.Zero = w.Zero[g*p.outputs:][:p.outputs]
	}
	return w
}

// orAll is values, or n times one value where there are none.
func orAll(values []int, n, one int) []int {
	if values != nil {
		return values
	}
	all := make([]int, n)
	for i := range all {
		all[i] = one
	}
	return all
}

// run convolves with weights that are packed by group, or w. The results are sums, or what finish makes of them.
func (p *patches) run(c *kernel.Call, w gemm.ByteMat, packed []*gemm.PackedBytes, x gemm.ByteMat, images int, out kernel.Array, finish *Finish) {
	depth := p.channels * p.taps
	chunk := p.places
	var buffer []byte
	if !p.plain {
		chunk = min(chunk, max(leastPlaces, patchBytes/max(depth, 1)/leastPlaces*leastPlaces))
		buffer = kernel.TempOf[byte](c, depth*chunk)
	}
	var sums []int32
	var to outcome
	if finish == nil {
		sums = kernel.Flat[int32](out)
	} else {
		chunk = min(chunk, max(leastPlaces, sumBytes/4/p.outputs/leastPlaces*leastPlaces))
		sums, to = kernel.TempOf[int32](c, p.outputs*chunk), finish.outcome(out)
	}
	zero := byte(0) // padding is 0 when the zero point is taken off
	if len(x.Zero) > 0 {
		zero = byte(x.Zero[0])
	}
	for i := range images * p.groups {
		group, at := i%p.groups, i*p.outputs*p.places
		from := x.Data[min(len(x.Data), i*p.channels*p.inSize):]
		args := gemm.ByteArgs{M: p.outputs, K: depth}
		if packed != nil {
			args.PackedA = packed[group]
		} else {
			args.A = p.group(w, group)
		}
		for p0 := 0; p0 < p.places; p0 += chunk {
			p1 := min(p0+chunk, p.places)
			args.N, args.B = p1-p0, x
			if p.plain {
				args.B.Data = from[min(len(from), p0):]
			} else {
				args.B.Data, args.B.RowStride = buffer, p1-p0
				c.Pool.For(depth, patchGrain/(p1-p0)+1, func(lo, hi int) {
					for r := lo; r < hi; r++ {
						p.row(buffer[r*(p1-p0):][:p1-p0], from[r/p.taps*p.inSize:], r%p.taps, p0, zero)
					}
				})
			}
			if finish == nil {
				args.C, args.LDC = sums[at+p0:], p.places
				gemm.MulBytes(c.Pool, &args)
				continue
			}
			args.C, args.LDC = sums, p1-p0
			gemm.MulBytes(c.Pool, &args)
			c.Pool.For(p.outputs, finishGrain/(p1-p0)+1, func(lo, hi int) {
				for o := lo; o < hi; o++ {
					finish.row(to, at+o*p.places+p0, sums[o*(p1-p0):][:p1-p0], group*p.outputs+o)
				}
			})
		}
	}
}

// row writes what one tap of the kernel sees of a channel, from place p0 on.
func (p *patches) row(dst, channel []byte, tap, p0 int, zero byte) {
	last := len(p.in) - 1
	var at, index [shape.MaxRank]int // of the tap, in the padded input, less the low padding; of the line
	rest := p0 / p.out[last]
	for d := last; d >= 0; d-- {
		at[d] = tap%p.kern[d]*p.dilation[d] - p.lo[d]
		tap /= p.kern[d]
		if d < last {
			index[d] = rest % p.out[d]
			rest /= p.out[d]
		}
	}
	first := p0 % p.out[last]
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

// line takes elements of src, stride apart, from place at on, which may lie outside.
func (p *patches) line(dst, src []byte, at, stride int, zero byte) {
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
