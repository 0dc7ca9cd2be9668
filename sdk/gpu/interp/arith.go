package interp

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

type integer interface {
	int32 | int64 | uint32 | uint64
}

type floating interface {
	float32 | float64
}

// arithmetic compiles an elementwise operation. Inactive threads also compute; their results are not used.
func (m *machine) arithmetic(in *ir.Inst) step {
	switch m.k.Types[in.Args[0]] {
	case dtype.I32:
		return integers[int32](m, in)
	case dtype.I64:
		return integers[int64](m, in)
	case dtype.U32:
		return integers[uint32](m, in)
	case dtype.U64:
		return integers[uint64](m, in)
	case dtype.F32:
		return floats[float32](m, in)
	case dtype.F64:
		return floats[float64](m, in)
	case dtype.Bool:
		return m.booleans(in)
	}
	return nil
}

// operand returns the values of operand i, as many as the instruction computes, or nil if there is no such operand.
func operand[T any](m *machine, in *ir.Inst, i int) []T {
	if i >= len(in.Args) {
		return nil
	}
	return vector[T](m, in.Args[i])[:m.width(in.Out[0])]
}

// result returns the memory of the result.
func result[T any](m *machine, in *ir.Inst) []T {
	return vector[T](m, in.Out[0])[:m.width(in.Out[0])]
}

func integers[T integer](m *machine, in *ir.Inst) step {
	x, y := operand[T](m, in, 0), operand[T](m, in, 1)
	switch in.Op {
	case ir.Div, ir.Rem:
		return divide(m, in, x, y)
	case ir.Shl, ir.Shr:
		return shift(m, in, x, y)
	case ir.MulHi:
		return each2(result[T](m, in), x, y, mulHi[T])
	case ir.And:
		out := result[T](m, in)
		return func(*active) {
			for i := range out {
				out[i] = x[i] & y[i]
			}
		}
	case ir.FMA:
		out, z := result[T](m, in), operand[T](m, in, 2)
		return func(*active) {
			for i := range out {
				out[i] = x[i]*y[i] + z[i]
			}
		}
	case ir.Or:
		return each2(result[T](m, in), x, y, func(x, y T) T { return x | y })
	case ir.Xor:
		return each2(result[T](m, in), x, y, func(x, y T) T { return x ^ y })
	case ir.Not:
		return each(result[T](m, in), x, func(x T) T { return ^x })
	case ir.Neg:
		return each(result[T](m, in), x, func(x T) T { return -x })
	case ir.Abs:
		return each(result[T](m, in), x, func(x T) T {
			if x < 0 {
				return -x
			}
			return x
		})
	}
	return common(m, in, x, y)
}

func each[T, R any](out []R, x []T, f func(T) R) step {
	return func(*active) {
		x := x[:len(out)]
		for i := range out {
			out[i] = f(x[i])
		}
	}
}

func each2[T, R any](out []R, x, y []T, f func(x, y T) R) step {
	return func(*active) {
		x, y := x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = f(x[i], y[i])
		}
	}
}

// common returns the operations that integers and floats share. The most frequent operations have their own loops.
func common[T integer | floating](m *machine, in *ir.Inst, x, y []T) step {
	if in.Op >= ir.Eq && in.Op <= ir.Le {
		return compare(m, in, x, y)
	}
	out := result[T](m, in)
	switch in.Op {
	case ir.Add:
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] + y[i]
			}
		}
	case ir.Sub:
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] - y[i]
			}
		}
	case ir.Mul:
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] * y[i]
			}
		}
	case ir.Min: // the second operand if one is NaN
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				r := y[i]
				if x[i] < r {
					r = x[i]
				}
				out[i] = r
			}
		}
	case ir.Max:
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				r := y[i]
				if x[i] > r {
					r = x[i]
				}
				out[i] = r
			}
		}
	}
	return nil
}

func compare[T integer | floating](m *machine, in *ir.Inst, x, y []T) step {
	out := vector[bool](m, in.Out[0])[:m.width(in.Out[0])]
	switch in.Op {
	case ir.Eq:
		return each2(out, x, y, func(x, y T) bool { return x == y })
	case ir.Ne:
		return each2(out, x, y, func(x, y T) bool { return x != y })
	case ir.Lt:
		return func(*active) {
			x, y := x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] < y[i]
			}
		}
	}
	return func(*active) {
		x, y := x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] <= y[i]
		}
	}
}

// booleans compiles an operation on bools, which are the bytes 0 and 1.
func (m *machine) booleans(in *ir.Inst) step {
	out, x, y := result[uint8](m, in), operand[uint8](m, in, 0), operand[uint8](m, in, 1)
	switch in.Op {
	case ir.And:
		return each2(out, x, y, func(x, y uint8) uint8 { return x & y })
	case ir.Or:
		return each2(out, x, y, func(x, y uint8) uint8 { return x | y })
	case ir.Xor, ir.Ne:
		return each2(out, x, y, func(x, y uint8) uint8 { return x ^ y })
	case ir.Eq:
		return each2(out, x, y, func(x, y uint8) uint8 { return x ^ y ^ 1 })
	case ir.Not:
		return each(out, x, func(x uint8) uint8 { return x ^ 1 })
	case ir.Lt:
		return each2(out, x, y, func(x, y uint8) uint8 { return y &^ x })
	case ir.Le:
		return each2(out, x, y, func(x, y uint8) uint8 { return x ^ 1 | y })
	}
	return nil
}

// at calls f for each active thread, or, for an instruction whose result is the same in all threads, once with 0.
func (m *machine) at(in *ir.Inst, f func(i int32)) step {
	if m.uniform[in.Out[0]] {
		return func(*active) { f(0) }
	}
	return func(a *active) {
		for _, i := range a.lanes {
			f(i)
		}
	}
}

func divide[T integer](m *machine, in *ir.Inst, x, y []T) step {
	out := result[T](m, in)
	return m.at(in, func(i int32) {
		switch {
		case y[i] == 0:
			m.fail(in, i, "division by zero")
		case in.Op == ir.Div:
			out[i] = x[i] / y[i]
		default:
			out[i] = x[i] % y[i]
		}
	})
}

func shift[T integer](m *machine, in *ir.Inst, x, y []T) step {
	out, size := result[T](m, in), uint64(in.Type.Size()*8)
	return m.at(in, func(i int32) {
		switch by := uint64(y[i]); {
		case by >= size:
			m.fail(in, i, "shift by %d", y[i])
		case in.Op == ir.Shl:
			out[i] = x[i] << by
		default:
			out[i] = x[i] >> by
		}
	})
}

func mulHi[T integer](x, y T) T {
	switch x := any(x).(type) {
	case int32:
		return T(int64(x) * int64(y) >> 32)
	case uint32:
		return T(uint64(x) * uint64(y) >> 32)
	case uint64:
		hi, _ := bits.Mul64(x, uint64(y))
		return T(hi)
	case int64:
		hi, _ := bits.Mul64(uint64(x), uint64(y))
		if x < 0 {
			hi -= uint64(y)
		}
		if y < 0 {
			hi -= uint64(x)
		}
		return T(hi)
	}
	return 0
}

func (m *machine) choose(in *ir.Inst) step {
	switch in.Type.Size() {
	case 1:
		return choose[uint8](m, in)
	case 2:
		return choose[uint16](m, in)
	case 4:
		return choose[uint32](m, in)
	}
	return choose[uint64](m, in)
}

func choose[T any](m *machine, in *ir.Inst) step {
	out, cond, x, y := result[T](m, in), operand[uint8](m, in, 0), operand[T](m, in, 1), operand[T](m, in, 2)
	return func(*active) {
		cond, x, y := cond[:len(out)], x[:len(out)], y[:len(out)]
		for i := range out {
			r := x[i]
			if cond[i] == 0 {
				r = y[i]
			}
			out[i] = r
		}
	}
}

func (m *machine) bitcast(in *ir.Inst) step {
	n := m.width(in.Out[0]) * in.Type.Size()
	out, x := bytesOf(m, in.Out[0], n), bytesOf(m, in.Args[0], n)
	return func(*active) { copy(out, x) }
}

func (m *machine) popCount(in *ir.Inst) step {
	return each(result[uint32](m, in), operand[uint32](m, in, 0), func(x uint32) uint32 { return uint32(bits.OnesCount32(x)) })
}
