package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// input writes the transform of 6x6 elements d to B'dB of count vectors of tiles. Element (i, j) of d is
// src[i%4*row+j*col+i/4*down]; element (i, j) of the result is stored to dst[(6*i+j)*step]. Vectors of tiles are neighbours in
// src; in dst the second vector of a pair follows the first, and pairs are pair elements apart.
//
// With t = d4-b²d2 and u = d3-b²d1 the results for the points a and -a are t+au and t-au, and those for b and -b follow by
// exchanging a and b; the others are d0-(a²+b²)d2+d4 and d1-(a²+b²)d3+d5, because a²b² is one.
func (w *winograd) input() {
	TEXT(w.name("input"), 4, "func(count int, src *float32, row, col, down int, dst *float32, step, pair int)")
	Pragma("noescape")
	src, row, col, down, dst, step := reg.RSI, reg.R8, reg.R9, reg.R10, reg.RDI, reg.R11
	row3, downRow, step3, step5, from, to := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.R12, reg.R13
	next := reg.R15
	w.params(param{"src", src, false}, param{"row", row, true}, param{"col", col, true}, param{"down", down, true},
		param{"dst", dst, false}, param{"step", step, true})
	count, pair := w.address("count"), w.address("pair")
	Comment("From one vector to the next in turns: a vector, and what is left of the pair.")
	SHLQ(operand.U8(2), pair)
	MOVQ(operand.I32(w.size()), next)
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, row3)
	LEAQ(operand.Mem{Base: row, Index: down, Scale: 1}, downRow)
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 4}, step5)
	d := []operand.Mem{{Base: from}, {Base: from, Index: row, Scale: 1}, {Base: from, Index: row, Scale: 2}, {Base: from, Index: row3, Scale: 1},
		{Base: from, Index: down, Scale: 1}, {Base: from, Index: downRow, Scale: 1}}
	out := six(to, step, step3, step5)
	v := func(i int) reg.VecPhysical { return w.vec(i) }
	temp := []reg.VecPhysical{v(12), v(13), v(14)}
	put := func(from reg.VecPhysical, i int) { w.store(from, out[i]) }
	// pass computes a row of results from the six columns in x.
	pass := func(x []reg.VecPhysical) {
		t, u, sum := temp[0], temp[1], temp[2]
		end := func(i int, first, mid, last reg.VecPhysical) {
			VADDPS(first, last, t)
			w.times(-2.5, mid, t)
			put(t, i)
		}
		both := func(i int, square, point float64) {
			VMOVAPS(x[4], t)
			w.times(-square, x[2], t)
			VMOVAPS(x[3], u)
			w.times(-square, x[1], u)
			VMOVAPS(t, sum)
			w.times(point, u, sum)
			put(sum, i)
			w.times(-point, u, t)
			put(t, i+1)
		}
		end(0, x[0], x[2], x[4])
		both(1, 2, pointA)
		both(3, 0.5, pointB)
		end(5, x[1], x[3], x[5])
	}
	nextRow := func() { LEAQ(operand.Mem{Base: to, Index: step3, Scale: 2}, to) }
	var first, second []reg.VecPhysical
	for j := range 6 {
		first, second = append(first, v(j)), append(second, v(6+j))
	}
	columns := func(each func(j int)) {
		MOVQ(src, from)
		for j := range 6 {
			if j > 0 {
				ADDQ(col, from)
			}
			each(j)
		}
	}
	ends := func(a, b, c int) {
		m := w.number(2.5, v(15))
		columns(func(j int) {
			w.load(d[a], first[j])
			VADDPS(d[c], first[j], first[j])
			VFNMADD231PS(d[b], m, first[j])
		})
		pass(first)
	}
	pairs := func(square, point float64) {
		s, p, u := w.number(square, v(15)), w.number(point, v(14)), v(13)
		columns(func(j int) {
			w.load(d[4], first[j])
			VFNMADD231PS(d[2], s, first[j])
			w.load(d[3], u)
			VFNMADD231PS(d[1], s, u)
			VMOVAPS(first[j], second[j])
			VFMADD231PS(u, p, first[j])
			VFNMADD231PS(u, p, second[j])
		})
		pass(first)
		nextRow()
		pass(second)
	}
	Label("vector")
	MOVQ(dst, to)
	ends(0, 2, 4)
	nextRow()
	pairs(2, pointA)
	nextRow()
	pairs(0.5, pointB)
	nextRow()
	ends(1, 3, 5)
	ADDQ(operand.I32(w.size()), src)
	ADDQ(next, dst)
	NEGQ(next)
	ADDQ(pair, next)
	DECQ(count)
	JNZ(operand.LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// output writes the transform of 6x6 elements m to A'mA, of count vectors of tiles. Element (i, j) of m is src[(6*i+j)*step]; row
// i of the result, with the four columns of each tile side by side, is stored to dst[i*row].
//
// With sums s, t and differences d, e of the elements for a and -a and for b and -b, the results are m0+s+t, ad+be, a²s+b²t and
// a³d+b³e+m5.
func (w *winograd) output() {
	TEXT(w.name("output"), 4, "func(count int, src *float32, step int, dst *float32, row int)")
	Pragma("noescape")
	src, step, dst, row := reg.RSI, reg.R8, reg.RDI, reg.R9
	step3, step5, row3, from, count := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.R10
	w.params(param{"count", count, false}, param{"src", src, false}, param{"step", step, true}, param{"dst", dst, false}, param{"row", row, true})
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 4}, step5)
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, row3)
	m := six(from, step, step3, step5)
	v := func(i int) reg.VecPhysical { return w.vec(i) }
	at := func(i, j int) operand.Mem {
		to := []operand.Mem{{Base: dst}, {Base: dst, Index: row, Scale: 1}, {Base: dst, Index: row, Scale: 2}, {Base: dst, Index: row3, Scale: 1}}[i]
		to.Disp = j * w.size()
		return to
	}
	cubeA, cubeB := pointA*pointA*pointA, pointB*pointB*pointB
	rows := func(each func(i int)) {
		MOVQ(src, from)
		for i := range 6 {
			if i > 0 {
				LEAQ(operand.Mem{Base: from, Index: step3, Scale: 2}, from)
			}
			each(i)
		}
	}
	// column computes column j of the result from six elements and stores it where its rows are assembled.
	column := func(j int, x []reg.VecPhysical) {
		s, t, d := v(12), v(13), v(14)
		VADDPS(x[1], x[2], s)
		VSUBPS(x[2], x[1], d)
		VADDPS(x[3], x[4], t)
		VSUBPS(x[4], x[3], x[4])
		e := x[4]
		VADDPS(s, x[0], x[0])
		VADDPS(t, x[0], x[0])
		w.store(x[0], at(0, j))
		VMULPS(w.of(0.5), s, s)
		w.times(2, t, s)
		w.store(s, at(2, j))
		VMULPS(w.of(pointA), d, t)
		w.times(pointB, e, t)
		w.store(t, at(1, j))
		w.times(cubeA, d, x[5])
		w.times(cubeB, e, x[5])
		w.store(x[5], at(3, j))
	}
	var first, second []reg.VecPhysical
	for j := range 6 {
		first, second = append(first, v(j)), append(second, v(6+j))
	}
	Label("vector")
	rows(func(i int) {
		s, t := v(12), v(13)
		w.load(m[1], s)
		VADDPS(m[2], s, s)
		w.load(m[3], t)
		VADDPS(m[4], t, t)
		VADDPS(m[0], s, first[i])
		VADDPS(t, first[i], first[i])
		VMULPS(w.of(0.5), s, second[i])
		w.times(2, t, second[i])
	})
	column(0, first)
	column(2, second)
	rows(func(i int) {
		d, e := v(12), v(13)
		w.load(m[1], d)
		VSUBPS(m[2], d, d)
		w.load(m[3], e)
		VSUBPS(m[4], e, e)
		VMULPS(w.of(pointA), d, first[i])
		w.times(pointB, e, first[i])
		w.load(m[5], second[i])
		w.times(cubeA, d, second[i])
		w.times(cubeB, e, second[i])
	})
	column(1, first)
	column(3, second)
	if w.wide {
		for i, order := range []int{lower, upper, lowerTwos, upperTwos} {
			VMOVUPS(w.order.Offset(order), v(28+i))
		}
	}
	for i := range 4 {
		var to []operand.Mem
		for j := range 4 {
			to = append(to, at(i, j))
		}
		w.together(to)
	}
	ADDQ(operand.I32(w.size()), src)
	ADDQ(operand.I32(4*w.size()), dst)
	DECQ(count)
	JNZ(operand.LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// together interleaves four vectors in memory: element 4i+j of the result is element i of vector j.
func (w *winograd) together(at []operand.Mem) {
	v := func(i int) reg.VecPhysical { return w.vec(i) }
	if w.wide {
		for half := range 2 {
			for q := range 2 {
				w.load(at[2*q], v(2*half+q))
				VPERMT2PS(at[2*q+1], v(28+half), v(2*half+q))
			}
		}
		for half := range 2 {
			x, y, copied := v(2*half), v(2*half+1), v(4+half)
			VMOVAPS(x, copied)
			VPERMT2PD(y, v(30), x)
			VPERMT2PD(y, v(31), copied)
			w.store(x, at[2*half])
			w.store(copied, at[2*half+1])
		}
		return
	}
	for j := range 4 {
		w.load(at[j], v(j))
	}
	VUNPCKLPS(v(1), v(0), v(4))
	VUNPCKHPS(v(1), v(0), v(5))
	VUNPCKLPS(v(3), v(2), v(6))
	VUNPCKHPS(v(3), v(2), v(7))
	VUNPCKLPD(v(6), v(4), v(0))
	VUNPCKHPD(v(6), v(4), v(1))
	VUNPCKLPD(v(7), v(5), v(2))
	VUNPCKHPD(v(7), v(5), v(3))
	for j, pair := range [][3]int{{0, 1, 0x20}, {2, 3, 0x20}, {0, 1, 0x31}, {2, 3, 0x31}} {
		VPERM2F128(operand.U8(uint8(pair[2])), v(pair[1]), v(pair[0]), v(4+j))
		w.store(v(4+j), at[j])
	}
}
