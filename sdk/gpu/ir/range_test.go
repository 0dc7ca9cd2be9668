package ir_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// guarded describes an index that a kernel computes from its thread, 0 to 127, and the condition under which it is used, in the IR and in Go.
type guarded struct {
	name  string
	build func(b *ir.Builder, t ir.Value) (cond, index ir.Value) // cond is 0 for none
	model func(t int64) (used bool, index int64)
}

func always(f func(t int64) int64) func(t int64) (bool, int64) {
	return func(t int64) (bool, int64) { return true, f(t) }
}

// ranged lists indices whose greatest value Check finds exactly.
var ranged = []guarded{
	{"shr of a difference", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Add(b.Binary(ir.Shr, b.Sub(t, b.Int(100)), b.Int(3)), b.Int(13))
	}, always(func(t int64) int64 { return (t-100)>>3 + 13 })},
	{"abs of a difference", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Unary(ir.Abs, b.Sub(t, b.Int(100))) },
		always(func(t int64) int64 { return max(t-100, 100-t) })},
	{"abs of what is positive", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Unary(ir.Abs, b.Add(t, b.Int(5))) },
		always(func(t int64) int64 { return t + 5 })},
	{"abs of what is negative", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Unary(ir.Abs, b.Sub(t, b.Int(200))) },
		always(func(t int64) int64 { return 200 - t })},
	{"neg", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Add(b.Unary(ir.Neg, t), b.Int(127)) },
		always(func(t int64) int64 { return 127 - t })},
	{"rem of a negative number", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Add(b.Rem(b.Sub(t, b.Int(64)), b.Int(10)), b.Int(9))
	}, always(func(t int64) int64 { return (t-64)%10 + 9 })},
	{"rem that changes nothing", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Rem(t, b.Int(1000)) },
		always(func(t int64) int64 { return t })},
	{"quotient of a negative number", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Add(b.Div(b.Sub(t, b.Int(64)), b.Int(10)), b.Int(6))
	}, always(func(t int64) int64 { return (t-64)/10 + 6 })},
	{"quotient by a variable", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Div(b.Add(t, b.Int(50)), b.Add(t, b.Int(2)))
	}, always(func(t int64) int64 { return 177 / 2 })}, // Check treats the operands as independent
	{"rem by a variable", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Rem(b.Int(1000), b.Add(t, b.Int(2)))
	}, always(func(t int64) int64 { return 128 })},
	{"and with a mask", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.And(t, b.Int(0x58)) },
		always(func(t int64) int64 { return t & 0x58 })},
	{"and of a negative number", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.And(b.Sub(t, b.Int(64)), b.Int(15)) },
		always(func(t int64) int64 { return (t - 64) & 15 })},
	{"and with a negative mask", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.And(t, b.Int(-8)) },
		always(func(t int64) int64 { return t & -8 })},
	{"or", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Or(t, b.Int(32)) }, always(func(t int64) int64 { return t | 32 })},
	{"xor", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Binary(ir.Xor, t, b.Int(96)) }, always(func(t int64) int64 { return t ^ 96 })},
	{"not", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Add(b.Unary(ir.Not, t), b.Int(128)) },
		always(func(t int64) int64 { return ^t + 128 })},
	{"shl", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Binary(ir.Shl, t, b.Int(3)) }, always(func(t int64) int64 { return t << 3 })},
	{"min of two variables", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Min(b.Add(t, b.Int(200)), t) },
		always(func(t int64) int64 { return t })},
	{"max of two variables", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Max(b.Add(t, b.Int(20)), t) },
		always(func(t int64) int64 { return t + 20 })},
	{"high half of a product", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Binary(ir.MulHi, t, b.Int(1<<30))
	}, always(func(t int64) int64 { return t << 30 >> 32 })},
	{"cast of bool", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return 0, b.Cast(dtype.I32, b.Lt(t, b.Int(9))) },
		always(func(t int64) int64 { return map[bool]int64{true: 1}[t < 9] })},
	{"not of bool", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Cast(dtype.I32, b.Unary(ir.Not, b.Lt(t, b.Int(1000))))
	}, always(func(t int64) int64 { return 0 })},
	{"truth of a number", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Sub(b.Cast(dtype.I32, b.Cast(dtype.Bool, b.Add(t, b.Int(1)))), b.Int(1))
	}, always(func(t int64) int64 { return 0 })},
	{"unsigned", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Div(b.Cast(dtype.U32, t), b.Const(dtype.U32, 3))
	}, always(func(t int64) int64 { return t / 3 })},
	{"unsigned with 64 bits", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Min(b.Load(1, t), b.Const(dtype.U64, 77))
	}, always(func(t int64) int64 { return 77 })},
	{"unsigned with 64 bits, divided", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Rem(b.Load(1, t), b.Const(dtype.U64, 77))
	}, always(func(t int64) int64 { return 76 })},
	{"unsigned with 64 bits, shifted", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.And(b.Binary(ir.Shr, b.Load(1, t), b.Const(dtype.U64, 60)), b.Const(dtype.U64, 7))
	}, always(func(t int64) int64 { return 7 })},
	{"select of extremes", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return 0, b.Select(b.Le(t, b.Int(9)), b.Mul(t, b.Int(7)), b.Int(5))
	}, always(func(t int64) int64 {
		if t <= 9 {
			return 7 * t
		}
		return 5
	})},

	// Conditions narrow the ranges of the values that they compare.
	{"if quotient", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Lt(b.Div(t, b.Int(10)), b.Int(3)), t },
		func(t int64) (bool, int64) { return t/10 < 3, t }},
	{"if quotient at least", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Le(b.Int(3), b.Div(t, b.Int(10))), b.Sub(b.Int(127), t)
	}, func(t int64) (bool, int64) { return t/10 >= 3, 127 - t }},
	{"if shifted right", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Lt(b.Binary(ir.Shr, t, b.Int(4)), b.Int(3)), t
	},
		func(t int64) (bool, int64) { return t>>4 < 3, t }},
	{"if shifted left", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Le(b.Binary(ir.Shl, t, b.Int(2)), b.Int(99)), t
	},
		func(t int64) (bool, int64) { return t<<2 <= 99, t }},
	{"if product", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Lt(b.Mul(t, b.Int(7)), b.Int(100)), t },
		func(t int64) (bool, int64) { return t*7 < 100, t }},
	{"if product from the left", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Lt(b.Mul(b.Int(7), t), b.Int(99)), t },
		func(t int64) (bool, int64) { return t*7 < 99, t }},
	{"if product at least", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Lt(b.Int(100), b.Mul(t, b.Int(7))), b.Sub(b.Int(127), t)
	},
		func(t int64) (bool, int64) { return t*7 > 100, 127 - t }},
	{"if difference", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Lt(b.Sub(b.Int(100), t), b.Int(30)), b.Sub(b.Int(127), t)
	},
		func(t int64) (bool, int64) { return 100-t < 30, 127 - t }},
	{"if difference at most", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Le(b.Sub(t, b.Int(40)), b.Int(-10)), t },
		func(t int64) (bool, int64) { return t-40 <= -10, t }},
	{"if min", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Le(b.Int(40), b.Min(t, b.Int(90))), b.Sub(b.Int(127), t)
	},
		func(t int64) (bool, int64) { return 40 <= min(t, 90), 127 - t }},
	{"if max", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Le(b.Max(t, b.Int(3)), b.Int(40)), t },
		func(t int64) (bool, int64) { return max(t, 3) <= 40, t }},
	{"if not equal to the last", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Ne(t, b.Int(127)), t },
		func(t int64) (bool, int64) { return t != 127, t }},
	{"if not equal to the first", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Ne(b.Int(0), t), b.Sub(b.Int(127), t) },
		func(t int64) (bool, int64) { return t != 0, 127 - t }},
	{"if not not equal", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Unary(ir.Not, b.Ne(t, b.Int(50))), t },
		func(t int64) (bool, int64) { return t == 50, t }},
	{"if not equal, negated", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Unary(ir.Not, b.Eq(t, b.Int(127))), t },
		func(t int64) (bool, int64) { return t != 127, t }},
	{"if not less", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) { return b.Unary(ir.Not, b.Lt(b.Int(60), t)), t },
		func(t int64) (bool, int64) { return t <= 60, t }},
	{"if equal to a variable", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Eq(b.Div(t, b.Int(2)), b.Rem(t, b.Int(30))), t
	},
		func(t int64) (bool, int64) { return t/2 <= 29, t }}, // Check treats the operands as independent
	{"if cast", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Lt(b.Cast(dtype.I64, t), b.Const(dtype.I64, 30)), t
	},
		func(t int64) (bool, int64) { return t < 30, t }},
	{"if unsigned difference", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		d := b.Sub(t, b.Int(40))
		return b.Lt(b.Cast(dtype.U32, d), b.Const(dtype.U32, 20)), d
	}, func(t int64) (bool, int64) { return t >= 40 && t < 60, t - 40 }},
	{"if two sides", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.And(b.Lt(b.Int(40), t), b.Le(t, b.Int(70))), b.Sub(t, b.Int(41))
	}, func(t int64) (bool, int64) { return 40 < t && t <= 70, t - 41 }},
	{"if neither", func(b *ir.Builder, t ir.Value) (ir.Value, ir.Value) {
		return b.Unary(ir.Not, b.Or(b.Lt(b.Int(40), t), b.Lt(t, b.Int(10)))), b.Sub(t, b.Int(10))
	}, func(t int64) (bool, int64) { return t >= 10 && t <= 40, t - 10 }},
}

// TestRangesAreExact checks that Check accepts a buffer with exactly the elements that the indices of all threads need, and refuses a
// buffer with one element less.
func TestRangesAreExact(t *testing.T) {
	for _, c := range ranged {
		most := int64(-1)
		for i := range int64(128) {
			used, at := c.model(i)
			require.True(t, !used || at >= 0, "%s: thread %d", c.name, i)
			if used {
				most = max(most, at)
			}
		}
		check := func(elements int64) error {
			b := ir.New("ranged", 128)
			y := b.Buffer("y", dtype.U8, ir.Write)
			b.Buffer("data", dtype.U64, ir.Read) // parameter 1
			cond, index := c.build(b, b.Thread())
			store := func() { b.Store(y, index, b.Const(dtype.U8, 1)) }
			if cond == 0 {
				store()
			} else {
				b.If(cond, store)
			}
			l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
			return ir.Check(l, []int64{elements, 1024}, ir.Limits{})
		}
		require.NoError(t, check(most+1), c.name)
		require.ErrorContains(t, check(most), fmt.Sprintf("and y has %d elements", most), c.name)
	}
}

// TestOverflowIsRefused checks that Check refuses an index whose signed arithmetic may overflow its type, and names the instruction. It
// accepts unsigned arithmetic, which wraps around, and a product that fits in 64 bits.
func TestOverflowIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		index func(b *ir.Builder, t ir.Value) ir.Value
		want  string
	}{
		{"add", func(b *ir.Builder, t ir.Value) ir.Value { return b.Rem(b.Add(t, b.Int(math.MaxInt32)), b.Int(8)) }, "may overflow: %3 = add.i32 %1, %2"},
		{"sub", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.And(b.Sub(b.Const(dtype.I32, 1<<64-1<<31), t), b.Int(7))
		}, "may overflow: %3 = sub.i32 %2, %1"},
		{"mul", func(b *ir.Builder, t ir.Value) ir.Value { return b.Max(b.Mul(t, b.Int(1<<25)), b.Int(0)) }, "may overflow: %3 = mul.i32 %1, %2"},
		{"shl", func(b *ir.Builder, t ir.Value) ir.Value { return b.And(b.Binary(ir.Shl, t, b.Int(25)), b.Int(7)) }, "may overflow: %3 = shl.i32 %1, %2"},
		{"abs", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.Min(b.Unary(ir.Abs, b.Cast(dtype.I32, b.Load(1, t))), b.Int(7))
		}, "may overflow: %4 = abs.i32 %3"},
		{"neg", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.And(b.Unary(ir.Neg, b.Cast(dtype.I32, b.Load(1, t))), b.Int(7))
		}, "may overflow: %4 = neg.i32 %3"},
		{"cast", func(b *ir.Builder, t ir.Value) ir.Value { return b.And(b.Cast(dtype.I32, b.Load(1, t)), b.Int(7)) }, "may overflow: %3 = cast.i32 %2"},
		{"cast to fewer bits, unsigned", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.And(b.Cast(dtype.U32, b.Load(1, t)), b.Const(dtype.U32, 7))
		}, ""},
		{"unsigned", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.And(b.Mul(b.Cast(dtype.U32, t), b.Const(dtype.U32, 1<<30)), b.Const(dtype.U32, 7))
		}, ""},
		{"64 bits", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.Rem(b.Mul(b.Cast(dtype.I64, t), b.Const(dtype.I64, 1<<50)), b.Const(dtype.I64, 8))
		}, ""},
		{"64 bits, too far", func(b *ir.Builder, t ir.Value) ir.Value {
			return b.And(b.Mul(b.Cast(dtype.I64, t), b.Const(dtype.I64, 1<<57)), b.Const(dtype.I64, 7))
		}, "mul.i64"},
	} {
		b := ir.New("overflow", 128)
		y := b.Buffer("y", dtype.U8, ir.Write)
		b.Buffer("data", dtype.U64, ir.Read)
		b.Store(y, c.index(b, b.Thread()), b.Const(dtype.U8, 1))
		l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
		err := ir.Check(l, []int64{1 << 40, 1024}, ir.Limits{})
		if c.want == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.want, c.name)
		}
	}
}
