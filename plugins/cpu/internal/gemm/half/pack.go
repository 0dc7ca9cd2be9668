package half

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Packed is the packed right operand of many products of 16-bit floats. Packed
// elements have 16 bits. It is immutable and safe for concurrent use, and
// contains a copy of the elements.
type Packed struct {
	n, k      int
	wide      *micro.Kernel[float32]
	pairs     []float32 // panels of pairs, or nil
	subnormal bool      // of pairs
	halves    []uint16  // panels of k rows of wide.NR columns, if pairs is nil
}

// Size returns the size of the packed form in bytes.
func (p *Packed) Size() int { return 4*len(p.pairs) + 2*len(p.halves) }

// Pack packs the k x n matrix b for the kernels in use.
func Pack(pool *par.Pool, t *Type, k, n int, b gemm.Mat[uint16]) *Packed {
	p := &Packed{n: n, k: k, wide: micro.Active[float32]()}
	nr := p.wide.NR
	panels, units := micro.CeilDiv(n, nr), micro.CeilDiv(k, 2)
	r := &product{args: &Args{Type: t}, wide: p.wide}
	if pairsFor(t, p.wide) != nil {
		r.paired = true
		p.pairs = panel.Aligned[float32](panels * nr * units)
	} else {
		p.halves = make([]uint16, panels*nr*k)
	}
	if k == 0 {
		return p
	}
	pool.For(panels, panel.Grain/(k*nr)+1, func(lo, hi int) {
		j0, j1 := lo*nr, min(hi*nr, n)
		src := b.Data[j0*b.ColStride:]
		if p.pairs == nil {
			packPlain(p.halves[j0*k:], src, j1-j0, b.ColStride, k, b.RowStride, nr)
		} else if r.pack(nil, p.pairs[j0*units:hi*nr*units], src, j1-j0, b.ColStride, k, b.RowStride, nr) {
			r.subnormal.Store(true)
		}
	})
	p.subnormal = r.subnormal.Load()
	return p
}

// packPlain is like pack, but copies the 16-bit elements unchanged.
func packPlain(dst, src []uint16, lines, lineStride, depth, depthStride, width int) {
	panel.Pack(dst, src, lines, lineStride, depth, depthStride, width, micro.Active[uint16]())
}

// widen writes float32 panels to dst, beginning with column j0.
func (p *Packed) widen(t *Type, dst []float32, j0 int) {
	nr := p.wide.NR
	if p.pairs == nil {
		t.Decode(dst, p.halves[j0*p.k:][:len(dst)])
		return
	}
	units := micro.CeilDiv(p.k, 2)
	for len(dst) > 0 {
		from := p.pairs[j0*units:][:units*nr]
		for q := range p.k {
			to, pairs := dst[q*nr:][:nr], from[q/2*nr:][:nr]
			for l, pair := range pairs {
				bits := math.Float32bits(pair)
				if q%2 == 0 {
					bits <<= 16
				}
				to[l] = math.Float32frombits(bits &^ 0xffff)
			}
		}
		dst = dst[p.k*nr:]
		j0 += nr
	}
}

// packedRows is the number of rows of contiguous lines that are packed into all panels before the next rows. It must be even, because a pair
// contains elements of two rows.
const packedRows = 16

// pack packs a lines x depth matrix into panels of width lines, widened or in pairs. It reports whether pairs contain subnormal numbers. It
// fills an incomplete pair at the end of the inner dimension, and missing lines of the last panel, with zeros.
func (r *product) pack(w *workspace, dst []float32, src []uint16, lines, lineStride, depth, depthStride, width int) bool {
	step, group, subnormal := depth, 1, false
	if r.paired {
		group = 2
	}
	units := micro.CeilDiv(depth, group)
	if rest := lines % width; rest != 0 {
		clear(dst[(lines-rest)*units:][:units*width])
	}
	if lineStride == 1 {
		step = packedRows
	}
	for p := 0; p < depth; p += step {
		rows := min(step, depth-p)
		from := src[p*depthStride:]
		if !r.paired && lineStride == 1 && !r.strips(min(lines, width), width) {
			from = from[:(rows-1)*depthStride+lines]
			r.packRows(w, dst[p*width:], from, lines, rows, depth, depthStride, width)
			continue
		}
		for l := 0; l < lines; l += width {
			to, n := dst[l*units+p/group*width:][:micro.CeilDiv(rows, group)*width], min(width, lines-l)
			if !r.paired {
				r.packWide(w, to, from[l*lineStride:], n, lineStride, rows, depthStride, width)
				continue
			}
			packPairs(to, from[l*lineStride:], n, lineStride, rows, depthStride, width)
			subnormal = active.pairs.subnormal(len(to), &to[0]) || subnormal
		}
	}
	return subnormal
}

// strips reports whether loops.strip can pack a panel of width lines of which the first lines are present.
func (r *product) strips(lines, width int) bool {
	loops := loopsFor(r.args.Type)
	return loops != nil && (loops.masked && width <= 2*loops.lanes || lines == 2*loops.lanes && width == lines)
}

const transposedPairs = 16

// packPairs packs one panel of pairs.
func packPairs(dst []float32, src []uint16, lines, lineStride, depth, depthStride, width int) {
	kern, whole := active.pairs, depth/2
	at := func(l, p int) uint32 { return uint32(src[l*lineStride+p*depthStride]) }
	switch {
	case whole == 0:
	case lineStride == 1:
		_, _ = src[(2*whole-1)*depthStride+lines-1], dst[(whole-1)*width+lines-1]
		kern.zip(lines, whole, &src[0], depthStride, &dst[0], width)
	case depthStride == 1:
		_, _ = src[(lines-1)*lineStride+2*whole-1], dst[(whole-1)*width+lines-1]
		for l := 0; l < lines; l += transposedPairs {
			kern.transpose(min(transposedPairs, lines-l), whole, (*float32)(unsafe.Pointer(&src[l*lineStride])), lineStride, &dst[l], width)
		}
	default:
		for l := range lines {
			for u := range whole {
				dst[u*width+l] = math.Float32frombits(at(l, 2*u) | at(l, 2*u+1)<<16)
			}
		}
	}
	if depth%2 != 0 {
		for l := range lines {
			dst[whole*width+l] = math.Float32frombits(at(l, depth-1))
		}
	}
}

// wideBlock is the number of elements of a line that are widened before they are copied to a panel.
const wideBlock = 128

// packWide packs one panel of float32.
func (r *product) packWide(w *workspace, dst []float32, src []uint16, lines, lineStride, depth, depthStride, width int) {
	decode := r.args.Type.Decode
	if lineStride == 1 {
		if loops := loopsFor(r.args.Type); loops.masked || lines == width {
			_, _ = src[(depth-1)*depthStride+lines-1], dst[(depth-1)*width+lines-1]
			loops.strip(lines, depth, &src[0], depthStride, &dst[0], width)
			return
		}
		for p := range depth {
			decode(dst[p*width:][:lines], src[p*depthStride:][:lines])
		}
		return
	}
	w.line = panel.Grow(w.line, lines*wideBlock)
	w.halves = panel.Grow(w.halves, wideBlock)
	for p := 0; p < depth; p += wideBlock {
		n := min(wideBlock, depth-p)
		for l := range lines {
			from := src[l*lineStride+p*depthStride:]
			if depthStride != 1 {
				for q := range n {
					w.halves[q] = from[q*depthStride]
				}
				from = w.halves
			}
			decode(w.line[l*wideBlock:][:n], from[:n])
		}
		panel.Pack(dst[p*width:], w.line, lines, wideBlock, n, 1, width, r.wide)
	}
}

// packRows packs rows of contiguous lines into all panels. Each panel has depth
// rows in total.
func (r *product) packRows(w *workspace, dst []float32, src []uint16, lines, rows, depth, row, width int) {
	w.line = panel.Grow(w.line, rows*lines)
	for p := range rows {
		r.args.Type.Decode(w.line[p*lines:][:lines], src[p*row:][:lines])
	}
	for l := 0; l < lines; l += width {
		panel.Pack(dst[l*depth:], w.line[l:], min(width, lines-l), 1, rows, lines, width, r.wide)
	}
}
