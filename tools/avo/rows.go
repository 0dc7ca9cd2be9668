package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// joint is an operation that reduces float32 numbers to one.
type joint struct {
	rows, columns, stack string // names of the loops
	join                 func(x, acc operand.Op)
	neutral              uint32 // bits of the neutral element
	nan                  bool   // the operation may drop a NaN, which is then reported separately
	// both combines the results of join in both orders at a level where join ignores the sign of zero.
	both func(...operand.Op)
}

// exact combines vector x with vector acc into acc, and orders zeros by their signs. It uses vector 9.
func (j joint) exact(k *kernels, x, acc int) {
	if !j.nan || k.wide {
		j.join(k.vec(x), k.vec(acc))
		return
	}
	VMOVAPS(k.vec(acc), k.vec(9))
	j.join(k.vec(x), k.vec(acc))
	Comment("The other way round: the zero that was second.")
	j.join(k.vec(9), k.vec(x))
	j.both(k.vec(x), k.vec(acc), k.vec(acc))
}

// joints returns the sum, the maximum and the minimum. At the narrow level join of the latter two ignores the sign of zero.
func (k *kernels) joints() []joint {
	extreme := func(narrow func(...operand.Op), imm uint8) func(x, acc operand.Op) {
		return func(x, acc operand.Op) {
			if k.wide {
				VRANGEPS(operand.U8(imm), x, acc, acc)
			} else {
				narrow(x, acc, acc)
			}
		}
	}
	return []joint{
		{"rowSums", "columnSums", "stackSums", func(x, acc operand.Op) { VADDPS(x, acc, acc) }, 0, false, nil},
		{"rowMaxima", "columnMaxima", "stackMaxima", extreme(VMAXPS, 5), infinity | 1<<31, true, VANDPS},
		{"rowMinima", "columnMinima", "stackMinima", extreme(VMINPS, 4), infinity, true, VORPS},
	}
}

const joined = "func(rows, cols int, x *float32, row int, out *float32) bool"

// quietNaN is the bits of a NaN.
const quietNaN = 0x7fc00000

// rowsOf holds the registers of a loop over rows.
var rowsOf = struct{ rows, cols, x, row, out, three, at, left, ahead reg.GPPhysical }{
	reg.R8, reg.R9, reg.RSI, reg.R10, reg.RDI, reg.R11, reg.R12, reg.R13, reg.RCX}

// seen is the number of the vector that records the lanes with a NaN; a wide level uses K3 instead.
const seen = 13

func (k *kernels) begin() {
	r := rowsOf
	Load(Param("rows"), r.rows)
	Load(Param("cols"), r.cols)
	Load(Param("x"), r.x)
	Load(Param("row"), r.row)
	SHLQ(operand.U8(2), r.row)
	Load(Param("out"), r.out)
	if k.wide {
		KXORW(reg.K3, reg.K3, reg.K3)
	} else {
		k.zero(k.vec(seen))
	}
}

// watch writes code that records whether one of two vectors contains a NaN.
func (k *kernels) watch(a, b operand.Op) {
	if k.wide {
		VCMPPS(operand.U8(3), a, b, reg.K2)
		KORW(reg.K2, reg.K3, reg.K3)
		return
	}
	VCMPPS(operand.U8(3), a, b, k.vec(14))
	VORPS(k.vec(14), k.vec(seen), k.vec(seen))
}

// report writes the end of a function, which returns whether watch has recorded a NaN.
func (k *kernels) report() {
	if k.wide {
		KORTESTW(reg.K3, reg.K3)
	} else {
		VMOVMSKPS(k.vec(seen), reg.EAX)
		TESTL(reg.EAX, reg.EAX)
	}
	result, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	SETNE(result.Addr)
	k.done()
}

// joinRows writes the loop that reduces each row of a matrix to a number, four rows at a time.
func (k *kernels) joinRows(c *numbers, j joint) {
	TEXT(k.name(j.rows), 4, joined)
	Pragma("noescape")
	Doc(k.name(j.rows) + " joins each row to a number; if it gives true, one of them met a NaN and the results are void.")
	r, tail := rowsOf, mask{reg.K1, k.vec(15)}
	k.begin()
	MOVQ(r.cols, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	LEAQ(operand.Mem{Base: r.row, Index: r.row, Scale: 2}, r.three)
	SUBQ(operand.U8(4), r.rows)
	JLT(operand.LabelRef("rest"))
	Label("group")
	k.joinGroup(c, j, tail, "group")
	VMOVUPS(reg.X4, operand.Mem{Base: r.out})
	ADDQ(operand.U8(16), r.out)
	LEAQ(operand.Mem{Base: r.x, Index: r.row, Scale: 4}, r.x)
	SUBQ(operand.U8(4), r.rows)
	JGE(operand.LabelRef("group"))
	Label("rest")
	ADDQ(operand.U8(4), r.rows)
	JZ(operand.LabelRef("done"))
	Comment("One row, as if it were four.")
	MOVQ(r.row, reg.RDX)
	XORQ(r.row, r.row)
	XORQ(r.three, r.three)
	Label("single")
	k.joinGroup(c, j, tail, "single")
	VMOVSS(reg.X4, operand.Mem{Base: r.out})
	ADDQ(operand.U8(4), r.out)
	ADDQ(reg.RDX, r.x)
	DECQ(r.rows)
	JNZ(operand.LabelRef("single"))
	Label("done")
	k.report()
}

// joinGroup sets the lanes of X4 to the reductions of four rows. Vectors 4 to 7 accumulate one row each.
func (k *kernels) joinGroup(c *numbers, j joint, tail mask, label string) {
	r := rowsOf
	places := []operand.Mem{{Base: r.at}, {Base: r.at, Index: r.row, Scale: 1}, {Base: r.at, Index: r.row, Scale: 2},
		{Base: r.at, Index: r.three, Scale: 1}}
	for i := range 4 {
		VMOVUPS(c.bits(j.neutral), k.vec(4+i))
	}
	step := func(load func(from operand.Mem, to operand.Op)) {
		for i, p := range places {
			load(p, k.vec(i))
			if j.nan && i&1 == 1 {
				k.watch(k.vec(i-1), k.vec(i))
			}
		}
		for i := range places {
			j.join(k.vec(i), k.vec(4+i))
		}
	}
	CMPQ(r.cols, operand.U32(longRow))
	JGE(operand.LabelRef(label + "Long"))
	MOVQ(r.x, r.at)
	LEAQ(operand.Mem{Base: r.x, Disp: fetchAhead}, r.ahead)
	MOVQ(r.cols, r.left)
	SUBQ(operand.U8(k.lanes()), r.left)
	JLT(operand.LabelRef(label + "Tail"))
	Label(label + "Vector")
	for at := 0; at < 4*k.size(); at += 64 {
		PREFETCHT0(operand.Mem{Base: r.ahead, Disp: at})
	}
	step(func(from operand.Mem, to operand.Op) { k.load(from, to) })
	ADDQ(operand.U8(k.size()), r.at)
	ADDQ(operand.I32(4*k.size()), r.ahead)
	SUBQ(operand.U8(k.lanes()), r.left)
	JGE(operand.LabelRef(label + "Vector"))
	Label(label + "Tail")
	ADDQ(operand.U8(k.lanes()), r.left)
	JZ(operand.LabelRef(label + "Join"))
	step(func(from operand.Mem, to operand.Op) { k.loadElse(c, j, from, tail, to) })
	JMP(operand.LabelRef(label + "Join"))
	Label(label + "Long")
	for i, p := range places {
		p.Base = r.x
		LEAQ(p, r.at)
		k.joinLong(c, j, tail, fmt.Sprintf("%sLong%d", label, i))
		VMOVAPS(k.longSum(0), k.vec(4+i))
	}
	Label(label + "Join")
	k.across(j)
}

// loadElse reads the lanes of a mask and sets the others to the neutral element. At a narrow level it uses vector 12.
func (k *kernels) loadElse(c *numbers, j joint, from operand.Mem, m mask, to operand.Op) {
	if k.wide {
		VMOVUPS(c.bits(j.neutral), to)
		VMOVUPS(from, m.k, to)
		return
	}
	k.loadMasked(from, m, to)
	if j.neutral != 0 {
		VMOVUPS(c.bits(j.neutral), k.vec(12))
		VBLENDVPS(m.v, to, k.vec(12), to)
	}
}

// across reduces the lanes of vectors 4 to 7, each to one lane of X4. It uses vectors 0 to 3.
func (k *kernels) across(j joint) {
	narrow := func(x, acc operand.Op) {
		switch j.rows {
		case "rowSums":
			VADDPS(x, acc, acc)
		case "rowMaxima":
			k.fold(VMAXPS, 5, x, acc)
		default:
			k.fold(VMINPS, 4, x, acc)
		}
	}
	for i := range 4 {
		v := registers[4+i]
		if k.wide {
			VEXTRACTF64X4(operand.U8(1), v.AsZ(), registers[i].AsY())
			narrow(registers[i].AsY(), v.AsY())
		}
		VEXTRACTF128(operand.U8(1), v.AsY(), registers[i])
		narrow(registers[i], v)
	}
	for i := range 2 {
		a, b := registers[4+2*i], registers[5+2*i]
		VUNPCKLPS(b, a, registers[2*i])
		VUNPCKHPS(b, a, registers[2*i+1])
		narrow(registers[2*i], registers[2*i+1])
	}
	VMOVLHPS(reg.X3, reg.X1, reg.X4)
	VMOVHLPS(reg.X1, reg.X3, reg.X0)
	narrow(reg.X0, reg.X4)
}

// fold combines x with acc into acc, as a maximum or minimum of vectors of any size.
func (k *kernels) fold(narrow func(...operand.Op), imm uint8, x, acc operand.Op) {
	if k.wide {
		VRANGEPS(operand.U8(imm), x, acc, acc)
	} else {
		narrow(x, acc, acc)
	}
}

// joinColumns writes the loop that reduces the rows of a matrix to one row, strip by strip of columns.
func (k *kernels) joinColumns(c *numbers, j joint) {
	TEXT(k.name(j.columns), 4, joined)
	Pragma("noescape")
	Doc(k.name(j.columns) + " joins rows, at least one, to one; if it gives true, one of the columns met a NaN and the results are void.")
	r, tail := rowsOf, mask{reg.K1, k.vec(15)}
	k.begin()
	many := 8
	if k.wide {
		many = 16
	}
	for _, vectors := range []int{many, 2} {
		label := map[int]string{2: "pair"}[vectors]
		if label == "" {
			label = "strip"
		}
		SUBQ(operand.I32(vectors*k.lanes()), r.cols)
		JLT(operand.LabelRef(label + "End"))
		Label(label)
		k.joinStrip(j, vectors, label, func(from operand.Mem, to operand.Op) { k.load(from, to) })
		for v := range vectors {
			k.store(k.columnOf(v), operand.Mem{Base: r.out, Disp: v * k.size()})
		}
		ADDQ(operand.I32(vectors*k.size()), r.out)
		ADDQ(operand.I32(vectors*k.size()), r.x)
		SUBQ(operand.I32(vectors*k.lanes()), r.cols)
		JGE(operand.LabelRef(label))
		Label(label + "End")
		ADDQ(operand.I32(vectors*k.lanes()), r.cols)
	}
	JZ(operand.LabelRef("done"))
	Label("last")
	MOVQ(r.cols, reg.RBX)
	CMPQ(reg.RBX, operand.U8(k.lanes()))
	JLE(operand.LabelRef("masks"))
	MOVQ(operand.U32(k.lanes()), reg.RBX)
	Label("masks")
	k.masksFor(reg.RBX, tail)
	k.joinStrip(j, 1, "last", func(from operand.Mem, to operand.Op) { k.loadMasked(from, tail, to) })
	k.storeMasked(k.columnOf(0), tail, operand.Mem{Base: r.out})
	ADDQ(operand.U8(k.size()), r.out)
	ADDQ(operand.U8(k.size()), r.x)
	SUBQ(operand.U8(k.lanes()), r.cols)
	JG(operand.LabelRef("last"))
	Label("done")
	k.report()
}

// columnOf returns the register that accumulates vector v of a strip.
func (k *kernels) columnOf(v int) reg.VecPhysical {
	if k.wide {
		return k.vec(16 + v)
	}
	return k.vec(2 + v)
}

// joinStrip reduces the rows of a strip of columns that is the given number of vectors wide, into the registers of columnOf.
func (k *kernels) joinStrip(j joint, vectors int, label string, load func(from operand.Mem, to operand.Op)) {
	r := rowsOf
	MOVQ(r.x, r.at)
	MOVQ(r.rows, r.left)
	for v := range vectors {
		load(operand.Mem{Base: r.at, Disp: v * k.size()}, k.columnOf(v))
	}
	if !j.nan {
		ADDQ(r.row, r.at)
		DECQ(r.left)
		JZ(operand.LabelRef(label + "Joined"))
	}
	Label(label + "Row")
	for v := 0; v < vectors; v += 2 {
		some := min(2, vectors-v)
		for i := range some {
			load(operand.Mem{Base: r.at, Disp: (v + i) * k.size()}, k.vec(i))
		}
		if j.nan {
			k.watch(k.vec(0), k.vec(some-1))
		}
		for i := range some {
			j.join(k.vec(i), k.columnOf(v+i))
		}
	}
	ADDQ(r.row, r.at)
	DECQ(r.left)
	JNZ(operand.LabelRef(label + "Row"))
	Label(label + "Joined")
}

// finds writes searches for the first element that is NaN or for which a comparison is true.
func (k *kernels) finds() {
	for _, p := range []struct {
		name      string
		predicate uint8
		doc       string
	}{
		{"findAbove", 22, "not at most"}, {"findBelow", 25, "not at least"}, {"findAtLeast", 21, "not less than"}, {"findAtMost", 26, "not more than"},
	} {
		TEXT(k.name(p.name), 4, "func(n int, x *float32, bound float32) int")
		Pragma("noescape")
		Doc(k.name(p.name) + " gives the place of the first element that is " + p.doc + " bound, n if there is none.")
		tail := mask{reg.K1, k.vec(15)}
		n, x, at, found := reg.RDX, reg.RSI, reg.RDI, reg.RAX
		Load(Param("n"), n)
		Load(Param("x"), x)
		MOVQ(n, reg.RBX)
		ANDQ(operand.I32(k.lanes()-1), reg.RBX)
		k.masksFor(reg.RBX, tail)
		k.broadcastParam("bound", k.vec(8))
		XORQ(at, at)
		look := func(masked bool) {
			from := operand.Mem{Base: x, Index: at, Scale: 4}
			switch {
			case k.wide && masked:
				VCMPPS(operand.U8(p.predicate), k.vec(8), k.vec(0), reg.K1, reg.K2)
			case k.wide:
				k.load(from, k.vec(0))
				VCMPPS(operand.U8(p.predicate), k.vec(8), k.vec(0), reg.K2)
			default:
				if !masked {
					k.load(from, k.vec(0))
				}
				VCMPPS(operand.U8(p.predicate), k.vec(8), k.vec(0), k.vec(1))
				if masked {
					VANDPS(tail.v, k.vec(1), k.vec(1))
				}
			}
			if k.wide {
				KMOVW(reg.K2, found.As32())
			} else {
				VMOVMSKPS(k.vec(1), found.As32())
			}
			TESTL(found.As32(), found.As32())
		}
		SUBQ(operand.U8(k.lanes()), n)
		JLT(operand.LabelRef("tail"))
		Label("vector")
		look(false)
		JNZ(operand.LabelRef("found"))
		ADDQ(operand.U8(k.lanes()), at)
		SUBQ(operand.U8(k.lanes()), n)
		JGE(operand.LabelRef("vector"))
		Label("tail")
		ADDQ(operand.U8(k.lanes()), n)
		JZ(operand.LabelRef("none"))
		k.loadMasked(operand.Mem{Base: x, Index: at, Scale: 4}, tail, k.vec(0))
		look(true)
		JNZ(operand.LabelRef("found"))
		ADDQ(n, at)
		Label("none")
		Store(at, ReturnIndex(0))
		k.done()
		Label("found")
		BSFL(found.As32(), found.As32())
		ADDQ(found, at)
		Store(at, ReturnIndex(0))
		k.done()
	}
}

// cumulate writes a step of a running sum over rows: it adds a row to sums in float64, and stores the sums rounded to float32.
func (k *kernels) cumulate() {
	TEXT(k.name("cumulate"), 4, "func(n int, sums *float64, dst, x *float32)")
	Pragma("noescape")
	Doc(k.name("cumulate") + " adds x to sums and sets dst to these.")
	k.whole([]stride{{"sums", 8}, {"dst", 4}, {"x", 4}}, func(at []operand.Mem) {
		for h := range 2 {
			VCVTPS2PD(at[2].Offset(h*k.size()/2), k.vec(h))
			VADDPD(at[0].Offset(h*k.size()), k.vec(h), k.vec(h))
			VMOVUPD(k.vec(h), at[0].Offset(h*k.size()))
			if k.wide {
				VCVTPD2PS(k.vec(h), k.half(h))
			} else {
				VCVTPD2PSY(k.vec(h), k.half(h))
			}
			VMOVUPS(k.half(h), at[1].Offset(h*k.size()/2))
		}
	})
	k.done()
}

// norms writes the last step of a normalisation with parameters per element.
func (k *kernels) norms() {
	x := k.vec(0)
	for _, biased := range []bool{true, false} {
		name, params := "standardScaled", "scale *float32"
		from := []string{"x", "scale"}
		if biased {
			name, params, from = "standardAffine", "scale, bias *float32", append(from, "bias")
		}
		TEXT(k.name(name), 4, "func(n int, dst, x, "+params+", mean, factor float32)")
		Pragma("noescape")
		Doc(k.name(name) + " sets dst to (x-mean)*factor, times scale and, if there is one, plus bias.")
		k.broadcastParam("mean", k.vec(8))
		k.broadcastParam("factor", k.vec(9))
		k.loop(from, true, func() {
			VSUBPS(k.vec(8), x, x)
			VMULPS(k.vec(9), x, x)
			if biased {
				VFMADD213PS(k.vec(2), k.vec(1), x)
				return
			}
			VMULPS(k.vec(1), x, x)
		})
	}
}
