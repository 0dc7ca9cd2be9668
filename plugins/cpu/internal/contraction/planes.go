package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// planes is a convolution of bytes with constant weights over one or two spatial dimensions. The input is copied into
// padded planes of units of a few channels each, one set of planes for each phase of the strides. Each tap of the kernel
// then reads one contiguous run of such a plane. Sums are computed for full padded rows, and those in the padding are dropped.
type planes struct {
	channels, outputs, groups int // channels and outputs of a group
	in, out, phases           [2]int
	lo                        [2]int
	rows, width               int // of a plane
	count, group              int // planes of a phase, channels of a unit
	starts                    []int
	seen                      []bool // the phases in which taps lie
	packed                    []*gemm.PackedBytes
	signed                    bool
	finish                    *Finish
}

// preparePlanes returns the kernel of such a convolution, or nil for other nodes.
func preparePlanes(env *kernel.Env, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	x, w, y, a := in[0].Shape, in[1].Shape, n.Outputs[0].Shape, n.Attrs
	rank := len(x) - 2
	if s.Weight == nil || rank > 2 || w.Size() == 0 || y.Size() == 0 || x.Size() == 0 {
		return nil
	}
	groups := max(1, a.Int("groups"))
	p := &planes{channels: w[1], outputs: w[0] / groups, groups: groups, group: gemm.ByteGroup(), signed: in[0].DType == dtype.I8, finish: s.Finish}
	two := func(s []int, one int) (v [2]int) {
		v[0] = one
		copy(v[2-rank:], orAll(s, rank, one))
		return v
	}
	stride, dilation, kern := two(a.Ints("strides"), 1), two(a.Ints("kernel_dilation"), 1), two(w[2:], 1)
	p.in, p.out, p.lo = two(x[2:], 1), two(y[2:], 1), two(a.Ints("pad_lo"), 0)
	p.phases = stride
	p.count = (p.channels + p.group - 1) / p.group
	p.rows = p.out[0] + (kern[0]-1)*dilation[0]/stride[0]
	p.width = p.out[1] + (kern[1]-1)*dilation[1]/stride[1]
	p.seen = make([]bool, stride[0]*stride[1])
	if float64(p.width) > 1.5*float64(p.out[1]) { // much is computed for nothing
		return nil
	}
	for ky := range kern[0] {
		for kx := range kern[1] {
			dy, dx := ky*dilation[0], kx*dilation[1]
			phase := dy%stride[0]*stride[1] + dx%stride[1]
			p.seen[phase] = true
			for c := range p.count {
				p.starts = append(p.starts, ((phase*p.count+c)*p.rows+dy/stride[0])*p.width+dx/stride[1])
			}
		}
	}
	data, zero, taps := make([]byte, s.Weight.Size()), constantZeros(env, s.Zero), w[2:].Size()
	kernel.Read(env.Pool, data, *s.Weight)
	depth := p.channels * taps
	for g := range groups {
		one := gemm.ByteMat{Signed: s.Weight.DType == dtype.I8, RowStride: depth, Data: data[g*p.outputs*depth:], Zero: zero}
		if len(zero) > 1 {
			one.Zero = zero[g*p.outputs:][:p.outputs]
		}
		packed := gemm.PackBytesTaps(env.Pool, p.outputs, p.channels, taps, one)
		p.packed = append(p.packed, packed)
		s.keep(packed.Size())
	}
	return func(c *kernel.Call) error {
		o := s.operands(c)
		p.run(c, c.Contiguous(o.x), o.xZero, c.Alloc(0))
		return nil
	}
}

// run convolves.
func (p *planes) run(c *kernel.Call, x kernel.Array, xZero *kernel.Array, out kernel.Array) {
	zero := byte(0)
	if xZero != nil {
		zero = kernel.Flat[byte](c.Contiguous(*xZero))[0]
	}
	plane, size := p.rows*p.width, p.in[0]*p.in[1]
	flat := kernel.TempOf[int32](c, p.count*size)
	units := kernel.TempOf[int32](c, p.phases[0]*p.phases[1]*p.count*plane+p.width+gemm.UnitSlack)
	lines := max(1, min(p.out[0], sumBytes/4/(p.outputs*p.width)))
	sums := kernel.TempOf[int32](c, p.outputs*lines*p.width)
	var to, wide outcome
	var plain []int32
	if p.finish == nil {
		plain = kernel.Flat[int32](out)
	} else if to = p.finish.outcome(out); p.width != p.out[1] {
		if p.finish.Quantize {
			wide.bytes = kernel.TempOf[byte](c, p.outputs*lines*p.width)
		} else {
			wide.floats = kernel.TempOf[float32](c, p.outputs*lines*p.width)
		}
	}
	right := gemm.ByteUnits{Starts: p.starts, Flip: gemm.FlipsB(p.signed), Zero: byteNumber(x.DType, zero)}
	data := kernel.Flat[byte](x)
	places := p.out[0] * p.out[1]
	for i := range x.View.Shape[0] * p.groups {
		p.fill(c, flat, units, data[i*p.channels*size:][:p.channels*size], zero)
		group := i % p.groups
		for y0 := 0; y0 < p.out[0]; y0 += lines {
			h := min(lines, p.out[0]-y0)
			n := h * p.width
			right.Units = units[y0*p.width:]
			gemm.MulBytes(c.Pool, &gemm.ByteArgs{M: p.outputs, N: n, K: len(p.starts) * p.group, PackedA: p.packed[group], Units: &right, C: sums, LDC: n})
			c.Pool.For(p.outputs, finishGrain/n+1, func(lo, hi int) {
				for o := lo; o < hi; o++ {
					at := (i*p.outputs+o)*places + y0*p.out[1]
					own := sums[o*n:][:n]
					switch {
					case p.finish == nil:
						dropEnds(plain[at:], own, h, p.out[1], p.width)
					case p.width == p.out[1]:
						p.finish.row(to, at, own, group*p.outputs+o)
					default:
						p.finish.row(wide, o*n, own, group*p.outputs+o)
						if wide.bytes != nil {
							dropEnds(to.bytes[at:], wide.bytes[o*n:], h, p.out[1], p.width)
						} else {
							dropEnds(to.floats[at:], wide.floats[o*n:], h, p.out[1], p.width)
						}
					}
				}
			})
		}
	}
}

// dropEnds copies the first n elements of each line.
func dropEnds[T any](dst, src []T, lines, n, width int) {
	for l := range lines {
		copy(dst[l*n:][:n], src[l*width:])
	}
}

// fill makes the planes of one group of an image.
func (p *planes) fill(c *kernel.Call, flat, units []int32, x []byte, zero byte) {
	size, plane := p.in[0]*p.in[1], p.rows*p.width
	still := p.phases == [2]int{1, 1} && p.lo == [2]int{} && p.rows == p.in[0] && p.width == p.in[1]
	c.Pool.For(p.count, patchGrain/(4*size)+1, func(lo, hi int) {
		for u := lo; u < hi; u++ {
			channels := min(p.group, p.channels-u*p.group)
			one := flat[u*size:][:size]
			if still {
				one = units[u*size:][:size]
			}
			gemm.PackUnits(one, x[u*p.group*size:], size, channels, size, p.signed)
			if still {
				continue
			}
			pad := gemm.UnitOf(zero, channels, p.signed)
			for phase, seen := range p.seen {
				if !seen {
					continue
				}
				p.phase(units[(phase*p.count+u)*plane:][:plane], one, phase/p.phases[1], phase%p.phases[1], pad)
			}
		}
	})
}

// phase makes one plane: every stride-th element of the padded input.
func (p *planes) phase(dst, src []int32, dy, dx int, pad int32) {
	for r := range p.rows {
		to, iy := dst[r*p.width:][:p.width], r*p.phases[0]+dy-p.lo[0]
		if iy < 0 || iy >= p.in[0] {
			fillUnits(to, pad)
			continue
		}
		line, ix := src[iy*p.in[1]:][:p.in[1]], dx-p.lo[1]
		step := p.phases[1]
		before := 0
		if ix < 0 {
			before = min((-ix+step-1)/step, p.width)
			fillUnits(to[:before], pad)
		}
		ix += before * step
		n := 0
		if ix < len(line) {
			n = min((len(line)-ix+step-1)/step, p.width-before)
		}
		if step == 1 {
			copy(to[before:][:n], line[min(ix, len(line)):])
		} else {
			for k := range to[before:][:n] {
				to[before+k] = line[ix]
				ix += step
			}
		}
		fillUnits(to[before+n:], pad)
	}
}

func fillUnits(dst []int32, v int32) {
	for i := range dst {
		dst[i] = v
	}
}
