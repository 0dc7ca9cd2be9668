package byteconv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

// paddedPlanes computes convolutions with constant weights over one or two spatial dimensions. The input is copied into padded planes, one
// set for each phase of the strides. An element of a plane is a unit: the bytes of a few adjacent channels. Each tap of the kernel then
// reads one contiguous run of such a plane. Sums are computed for full padded rows, and sums in the padding are dropped.
type paddedPlanes struct{}

// maxWidth bounds the length of a padded row, as a multiple of the outputs that are kept of it.
const maxWidth = 1.5

func (paddedPlanes) fits(p *Plan, constant bool) bool {
	if !constant || p.pointwise || len(p.in) > 2 || p.groups*p.outputs*p.depth() == 0 || p.images*p.groups*p.outputs*p.outSize == 0 || p.inSize == 0 {
		return false
	}
	last := len(p.out) - 1
	return float64(p.paddedLength(last)) <= maxWidth*float64(p.out[last])
}

// paddedLength returns the number of elements of each phase that the outputs
// along axis d read.
func (p *Plan) paddedLength(d int) int {
	return p.out[d] + (p.kernel[d]-1)*p.dilation[d]/p.stride[d]
}

func (paddedPlanes) pack(pool *par.Pool, p *Plan, w *quantized.Mat) Kernel {
	rank := len(p.in)
	two := func(s []int, one int) (v [2]int) {
		v[0] = one
		copy(v[2-rank:], s)
		return v
	}
	k := &planeKernel{Plan: p, unit: quantized.Group(), rows: 1, in: two(p.in, 1), out: two(p.out, 1), phases: two(p.stride, 1), padLo: two(p.padLo, 0)}
	dilation, size := two(p.dilation, 1), two(p.kernel, 1)
	k.count = (p.channels + k.unit - 1) / k.unit
	k.width = p.paddedLength(rank - 1)
	if rank == 2 {
		k.rows = p.paddedLength(0)
	}
	k.read = make([]bool, k.phases[0]*k.phases[1])
	for ky := range size[0] {
		for kx := range size[1] {
			dy, dx := ky*dilation[0], kx*dilation[1]
			phase := dy%k.phases[0]*k.phases[1] + dx%k.phases[1]
			k.read[phase] = true
			for c := range k.count {
				k.starts = append(k.starts, ((phase*k.count+c)*k.rows+dy/k.phases[0])*k.width+dx/k.phases[1])
			}
		}
	}
	for g := range p.groups {
		k.packed = append(k.packed, quantized.PackTaps(pool, p.outputs, p.channels, p.taps, p.weights(*w, g)))
	}
	return k
}

type planeKernel struct {
	*Plan
	in, out, phases, padLo [2]int // by row and column
	rows, width            int    // of a plane
	count, unit            int    // planes of a phase, channels in a unit
	starts                 []int  // of the runs that taps read, by tap and plane
	read                   []bool // the phases that taps read
	packed                 []*quantized.Packed
}

// Bytes implements Kernel.
func (p *planeKernel) Bytes() int { return packedBytes(p.packed) }

// Run implements Kernel.
func (p *planeKernel) Run(c *kernel.Call, in *Args) {
	right := quantized.Units{Starts: p.starts, Flip: quantized.FlipsB(in.X.Signed)}
	if len(in.X.Zero) > 0 {
		right.Zero = in.X.Zero[0]
	}
	plane := p.rows * p.width
	flat := kernel.TempOf[int32](c, p.count*p.inSize)
	units := kernel.TempOf[int32](c, p.phases[0]*p.phases[1]*p.count*plane+p.width+quantized.UnitSlack)
	lines := max(1, min(p.out[0], maxSumBytes/4/(p.outputs*p.width)))
	sums := kernel.TempOf[int32](c, p.outputs*lines*p.width)
	e := in.Epilogue
	var to, wide requantize.Output
	var plain []int32
	if e == nil {
		plain = kernel.Flat[int32](in.Out)
	} else if to = e.Output(in.Out); p.width != p.out[1] {
		if e.Quantize {
			wide.Bytes = kernel.TempOf[byte](c, p.outputs*lines*p.width)
		} else {
			wide.Floats = kernel.TempOf[float32](c, p.outputs*lines*p.width)
		}
	}
	for i := range p.images * p.groups {
		p.fill(c, flat, units, in.X.Data[i*p.channels*p.inSize:][:p.channels*p.inSize], byte(right.Zero), in.X.Signed)
		group := i % p.groups
		for y0 := 0; y0 < p.out[0]; y0 += lines {
			h := min(lines, p.out[0]-y0)
			n := h * p.width
			right.Units = units[y0*p.width:]
			quantized.Mul(c.Pool, &quantized.Args{M: p.outputs, N: n, K: len(p.starts) * p.unit, PackedA: p.packed[group], Units: &right, C: sums, LDC: n})
			c.Pool.For(p.outputs, requantize.Grain/n+1, func(lo, hi int) {
				for o := lo; o < hi; o++ {
					at := (i*p.outputs+o)*p.outSize + y0*p.out[1]
					own := sums[o*n:][:n]
					switch {
					case e == nil:
						dropEnds(plain[at:], own, h, p.out[1], p.width)
					case p.width == p.out[1]:
						e.Row(to, at, own, group*p.outputs+o)
					default:
						e.Row(wide, o*n, own, group*p.outputs+o)
						if wide.Bytes != nil {
							dropEnds(to.Bytes[at:], wide.Bytes[o*n:], h, p.out[1], p.width)
						} else {
							dropEnds(to.Floats[at:], wide.Floats[o*n:], h, p.out[1], p.width)
						}
					}
				}
			})
		}
	}
}

// dropEnds copies the first n elements of each line of width elements.
func dropEnds[T any](dst, src []T, lines, n, width int) {
	for l := range lines {
		copy(dst[l*n:][:n], src[l*width:])
	}
}

// fill writes the planes of one group of an image.
func (p *planeKernel) fill(c *kernel.Call, flat, units []int32, x []byte, zero byte, signed bool) {
	size, plane := p.inSize, p.rows*p.width
	unpadded := p.phases == [2]int{1, 1} && p.padLo == [2]int{} && p.rows == p.in[0] && p.width == p.in[1]
	c.Pool.For(p.count, copyGrain/(4*size)+1, func(lo, hi int) {
		for u := lo; u < hi; u++ {
			channels := min(p.unit, p.channels-u*p.unit)
			one := flat[u*size:][:size]
			if unpadded {
				one = units[u*size:][:size]
			}
			quantized.PackUnits(one, x[u*p.unit*size:], size, channels, size, signed)
			if unpadded {
				continue
			}
			pad := quantized.UnitOf(zero, channels, signed)
			for phase, read := range p.read {
				if read {
					p.phase(units[(phase*p.count+u)*plane:][:plane], one, phase/p.phases[1], phase%p.phases[1], pad)
				}
			}
		}
	})
}

// phase writes one plane: every stride-th element of the padded input.
func (p *planeKernel) phase(dst, src []int32, dy, dx int, pad int32) {
	for r := range p.rows {
		to, iy := dst[r*p.width:][:p.width], r*p.phases[0]+dy-p.padLo[0]
		if iy < 0 || iy >= p.in[0] {
			fillUnits(to, pad)
			continue
		}
		line, ix := src[iy*p.in[1]:][:p.in[1]], dx-p.padLo[1]
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
			if n > 0 { // else ix may be outside the input
				copy(to[before:][:n], line[ix:])
			}
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
