package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs writes the loops over two operands, each also with a scalar as one operand.
func (k *kernels) pairs() {
	arithmetic := func(op func(...operand.Op)) func(a, b int) {
		return func(a, b int) { op(k.vec(b), k.vec(a), k.vec(0)) }
	}
	for _, p := range []struct {
		name    string
		op      func(a, b int)
		ordered bool // operands cannot be exchanged
	}{
		{"add", arithmetic(VADDPS), false},
		{"mul", arithmetic(VMULPS), false},
		{"sub", arithmetic(VSUBPS), true},
		{"div", arithmetic(VDIVPS), true},
		{"max", k.extreme(VMAXPS, VANDPS), false},
		{"min", k.extreme(VMINPS, VORPS), false},
	} {
		TEXT(k.name(p.name), 4, "func(n int, dst, a, b *float32)")
		Pragma("noescape")
		k.loop([]string{"a", "b"}, true, func() { p.op(0, 1) })
		TEXT(k.name(p.name+"To"), 4, "func(n int, dst, a *float32, b float32)")
		Pragma("noescape")
		k.broadcastParam("b", k.vec(8))
		k.loop([]string{"a"}, true, func() { p.op(0, 8) })
		if p.ordered {
			TEXT(k.name(p.name+"From"), 4, "func(n int, dst, b *float32, a float32)")
			Pragma("noescape")
			k.broadcastParam("a", k.vec(8))
			k.loop([]string{"b"}, true, func() { p.op(8, 0) })
		}
	}
}

// extreme returns a function that writes the maximum or minimum of two vectors. The instruction returns its second source if both are zeros
// or one is NaN. Therefore it is executed with the operands in both orders.
func (k *kernels) extreme(op, join func(...operand.Op)) func(a, b int) {
	return func(a, b int) {
		op(k.vec(b), k.vec(a), k.vec(2))
		op(k.vec(a), k.vec(b), k.vec(3))
		join(k.vec(2), k.vec(3), k.vec(2))
		VADDPS(k.vec(b), k.vec(a), k.vec(3))
		k.choose(3, 2, func(mask operand.Op) { VCMPPS(operand.U8(3), k.vec(b), k.vec(a), mask) })
	}
}

// choose sets vector 0 to the lanes of vector yes where a comparison is true, and to the lanes of vector no elsewhere. compare writes the
// comparison to a mask. choose overwrites vector no. It uses K2 or vector 14.
func (k *kernels) choose(yes, no int, compare func(mask operand.Op)) {
	if k.wide {
		compare(reg.K2)
		VMOVAPS(k.vec(yes), reg.K2, k.vec(no))
		VMOVAPS(k.vec(no), k.vec(0))
		return
	}
	compare(k.vec(14))
	VBLENDVPS(k.vec(14), k.vec(yes), k.vec(no), k.vec(0))
}

// clamp writes the loop that clamps numbers to [lo, hi]; a NaN stays NaN.
func (k *kernels) clamp() {
	TEXT(k.name("clamp"), 4, "func(n int, dst, x *float32, lo, hi float32)")
	Pragma("noescape")
	k.broadcastParam("lo", k.vec(8))
	k.broadcastParam("hi", k.vec(9))
	k.loop([]string{"x"}, true, func() {
		VMAXPS(k.vec(0), k.vec(8), k.vec(0))
		VMINPS(k.vec(0), k.vec(9), k.vec(0))
	})
}
