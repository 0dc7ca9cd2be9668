// Package peak measures the arithmetic peak of one core, with loops of fused multiply-adds on registers. Package internal/bench compares
// the speed of kernels with it. It must use the same instruction set level as the cpu backend, and respects BURN_CPU.
package peak

import (
	"runtime"

	"github.com/goburn/burn/core/dtype"
)

// Loop runs independent multiply-adds in vector registers, enough of them to hide their latency.
type Loop struct {
	Name  string // the level: avx512, avx2, neon or portable
	Flops int64  // arithmetic operations of one turn; a multiply-add counts as two
	Run   func(turns int)
}

// Of returns the loop for operands of type d: f32, f64, and i8 (products of u8 and i8 added up in i32) where the processor has an
// instruction for it. ok is false for other types.
func Of(d dtype.DType) (l Loop, ok bool) {
	if l, ok = native(d); ok {
		return l, true
	}
	switch d {
	case dtype.F32:
		return Loop{"portable", 2 * lanes, portable[float32]}, true
	case dtype.F64:
		return Loop{"portable", 2 * lanes, portable[float64]}, true
	}
	return Loop{}, false
}

// lanes is the number of sums that the portable loop keeps.
const lanes = 8

// portable multiplies and adds in a recurrence for each lane, so that the compiler cannot omit steps.
func portable[T float32 | float64](turns int) {
	var a, b, c, d, e, f, g, h T
	x := T(turns&1) / 2
	for range turns {
		a, b, c, d = a*x+1, b*x+1, c*x+1, d*x+1
		e, f, g, h = e*x+1, f*x+1, g*x+1, h*x+1
	}
	runtime.KeepAlive([lanes]T{a, b, c, d, e, f, g, h})
}
