package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tapShapes lists the rows and vectors of the blocks that are computed together. Four independent sums hide the latency of an
// addition.
var tapShapes = [][2]int{{4, 1}, {1, 1}, {2, 2}, {1, 2}, {1, 3}, {1, 4}}

// taps writes, for a number of rows that is a multiple of r, the sums over taps of a weight times the element at an offset:
// dst[y*dstRow+i] = bound(bias + sum over t of weights[t]*src[y*srcRow+offsets[t]+i]). The last of the c vectors of a row may
// have fewer columns: cols is more than c-1 vectors and at most c.
func (k *kernels) taps(r, c int) {
	TEXT(fmt.Sprintf("%sx%dx%d", k.name("taps"), r, c), 4, fmt.Sprintf(
		"func(rows, cols int, dst *%s, dstRow int, src *%[1]s, srcRow int, offsets *int, weights *%[1]s, taps int, bias, lo, hi %[1]s)", k.typ()))
	Pragma("noescape")
	w := k.window(r, c, "weights")
	weight, lo, hi, bias := k.vec(0), k.vec(1), k.vec(2), k.vec(3)
	for _, p := range []struct {
		name string
		to   reg.VecPhysical
	}{{"bias", bias}, {"lo", lo}, {"hi", hi}} {
		k.broadcastParam(p.name, p.to)
	}
	Label("row")
	w.begin(func(sum reg.VecPhysical) { k.move(bias, sum) })
	Label("tap")
	w.next()
	k.broadcast(operand.Mem{Base: w.weights, Index: w.t, Scale: uint8(k.elem)}, weight)
	w.each(func(at operand.Mem, sum reg.VecPhysical, _ int, masked bool) {
		switch {
		case masked && k.wide:
			k.pick(VFMADD231PS, VFMADD231PD)(at, weight, w.mask.k, sum)
		case masked:
			k.loadMasked(at, w.mask, k.vec(14))
			k.fma(k.vec(14), weight, sum)
		default:
			k.fma(at, weight, sum)
		}
	})
	w.loop("tap")
	for i := range r * c {
		k.pick(VMAXPS, VMAXPD)(w.sum(i), lo, w.sum(i))
		k.pick(VMINPS, VMINPD)(w.sum(i), hi, w.sum(i))
	}
	w.store("row")
}

// most writes the maximum over taps, without weights, bias and bounds, on the same operands as taps; a NaN stays NaN.
func (k *kernels) most(r, c int) {
	TEXT(fmt.Sprintf("%sx%dx%d", k.name("most"), r, c), 4, fmt.Sprintf(
		"func(rows, cols int, dst *%s, dstRow int, src *%[1]s, srcRow int, offsets *int, taps int)", k.typ()))
	Pragma("noescape")
	w := k.window(r, c, "")
	low, quiet, v := k.vec(0), k.vec(1), k.vec(2)
	k.constant(0xff800000, low)
	k.constant(0x7fc00000, quiet)
	// The lanes that have seen a NaN.
	nanMask := []reg.OpmaskPhysical{reg.K3, reg.K4, reg.K5, reg.K6}
	nanVec := func(i int) reg.VecPhysical { return k.vec(8 + i) }
	Label("row")
	w.begin(func(sum reg.VecPhysical) { k.move(low, sum) })
	for i := range r * c {
		if k.wide {
			KXORW(nanMask[i], nanMask[i], nanMask[i])
		} else {
			k.zero(nanVec(i))
		}
	}
	Label("tap")
	w.next()
	w.each(func(at operand.Mem, sum reg.VecPhysical, i int, masked bool) {
		if masked {
			k.loadMasked(at, w.mask, v)
		} else {
			k.load(at, v)
		}
		VMAXPS(v, sum, sum)
		if k.wide {
			VCMPPS(operand.U8(3), v, v, reg.K2)
			KORW(reg.K2, nanMask[i], nanMask[i])
		} else {
			VCMPPS(operand.U8(3), v, v, k.vec(3))
			VORPS(k.vec(3), nanVec(i), nanVec(i))
		}
	})
	w.loop("tap")
	for i := range r * c {
		if k.wide {
			VMOVAPS(quiet, nanMask[i], w.sum(i))
		} else {
			VBLENDVPS(nanVec(i), quiet, w.sum(i), w.sum(i))
		}
	}
	w.store("row")
}

// window holds the registers that taps and most share. They compute blocks of the given numbers of rows and vectors; the last
// vector of a row is masked.
type window struct {
	*kernels
	rows, vectors                   int
	dst, dstRow, src, srcRow        reg.GPPhysical
	offsets, weights, taps, t, left reg.GPPhysical
	at                              []reg.GPPhysical // addresses of the rows
	off                             reg.GPPhysical
	mask                            mask
}

func (k *kernels) window(rows, vectors int, weights string) *window {
	w := &window{kernels: k, rows: rows, vectors: vectors,
		left: reg.R8, dst: reg.RDI, dstRow: reg.R9, src: reg.RSI, srcRow: reg.R10, offsets: reg.R11, weights: reg.R12, taps: reg.R13,
		t: reg.RAX, off: reg.R15, at: []reg.GPPhysical{reg.RSI, reg.RBX, reg.RCX, reg.RDX}, mask: mask{reg.K1, k.vec(15)}}
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	Load(Param("cols"), reg.RBX)
	SUBQ(operand.I32((vectors-1)*k.lanes()), reg.RBX)
	k.masksFor(reg.RBX, w.mask)
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{{"rows", w.left, false}, {"dst", w.dst, false}, {"dstRow", w.dstRow, true}, {"src", w.src, false},
		{"srcRow", w.srcRow, true}, {"offsets", w.offsets, false}, {weights, w.weights, false}, {"taps", w.taps, false}} {
		if p.name == "" {
			continue
		}
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(shift, p.to)
		}
	}
	Comment("Taps are counted from minus their number up to zero.")
	LEAQ(operand.Mem{Base: w.offsets, Index: w.taps, Scale: 8}, w.offsets)
	if weights != "" {
		LEAQ(operand.Mem{Base: w.weights, Index: w.taps, Scale: uint8(k.elem)}, w.weights)
	}
	NEGQ(w.taps)
	return w
}

func (w *window) sum(i int) reg.VecPhysical { return w.vec(4 + i) }

// begin starts a block of rows.
func (w *window) begin(start func(sum reg.VecPhysical)) {
	for y := 1; y < w.rows; y++ {
		LEAQ(operand.Mem{Base: w.at[y-1], Index: w.srcRow, Scale: 1}, w.at[y])
	}
	for i := range w.rows * w.vectors {
		start(w.sum(i))
	}
	MOVQ(w.taps, w.t)
}

func (w *window) next() { MOVQ(operand.Mem{Base: w.offsets, Index: w.t, Scale: 8}, w.off) }

func (w *window) each(f func(at operand.Mem, sum reg.VecPhysical, i int, masked bool)) {
	for i := range w.rows * w.vectors {
		v := i % w.vectors
		at := operand.Mem{Base: w.at[i/w.vectors], Index: w.off, Scale: uint8(w.elem), Disp: v * w.size()}
		f(at, w.sum(i), i, v == w.vectors-1)
	}
}

func (w *window) loop(label string) {
	INCQ(w.t)
	JNZ(operand.LabelRef(label))
}

// store writes the stores of a block of rows, and the jump to the next block.
func (w *window) store(label string) {
	for i := range w.rows * w.vectors {
		v := i % w.vectors
		to := operand.Mem{Base: w.dst, Disp: v * w.size()}
		if v < w.vectors-1 {
			w.kernels.store(w.sum(i), to)
			continue
		}
		w.storeMasked(w.sum(i), w.mask, to)
		ADDQ(w.dstRow, w.dst)
	}
	for range w.rows {
		ADDQ(w.srcRow, w.src)
	}
	SUBQ(operand.U8(w.rows), w.left)
	JG(operand.LabelRef(label))
	VZEROUPPER()
	RET()
}

// broadcastParam fills a vector with a parameter.
func (k *kernels) broadcastParam(name string, to reg.VecPhysical) {
	from, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	k.broadcast(from.Addr, to)
}

// constant fills a vector with a float32, given by its bits. It overwrites RAX.
func (k *kernels) constant(bits uint32, to reg.VecPhysical) {
	MOVL(operand.U32(bits), reg.EAX)
	VMOVD(reg.EAX, to.AsX())
	VBROADCASTSS(to.AsX(), to)
}

func (k *kernels) move(from, to reg.VecPhysical) { k.pick(VMOVAPS, VMOVAPD)(from, to) }
