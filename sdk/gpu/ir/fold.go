package ir

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

// key identifies a pure instruction: two with equal keys compute the same value.
type key struct {
	op   Op
	t    dtype.DType
	ref  int32
	imm  uint64
	args [3]Value
}

func keyOf(in *Inst) key {
	k := key{op: in.Op, t: in.Type, ref: in.Ref, imm: in.Imm}
	copy(k.args[:], in.Args)
	return k
}

// pure reports whether the result of an operation depends only on its operands.
func pure(o Op) bool {
	return o >= Const && o <= Blocks || o >= Add && o <= Exp2Fast || o == Lane || o == PopCount
}

// constant returns the bits of v if v is a constant.
func (b *Builder) constant(v Value) (uint64, bool) {
	d := &b.defs[v]
	return d.Imm, d.Op == Const
}

// is reports whether v is the constant n of an integer type or bool.
func (b *Builder) is(v Value, n uint64) bool {
	c, ok := b.constant(v)
	return ok && !b.TypeOf(v).IsFloat() && c == canonical(b.TypeOf(v), n)
}

// isFloat reports whether v is the constant f. It distinguishes zeros of different sign.
func (b *Builder) isFloat(v Value, f float64) bool {
	c, ok := b.constant(v)
	return ok && b.TypeOf(v).IsFloat() && c == bitsOf(b.TypeOf(v), f)
}

// fold returns a value equal to the result of in: an operand, a constant, or a shorter sum. It returns false if it finds no such value.
func (b *Builder) fold(in *Inst) (Value, bool) {
	if len(in.Args) == 0 {
		return 0, false
	}
	x := in.Args[0]
	t := b.TypeOf(x)
	cx, xConst := b.constant(x)
	if len(in.Args) == 1 && xConst {
		r, ok := uint64(0), false
		switch in.Op {
		case Cast:
			r, ok = convert(t, in.Type, cx)
		case Bitcast:
			r, ok = canonical(in.Type, cx), true
		default:
			r, ok = calculate(in.Op, t, cx, 0)
		}
		if ok {
			return b.Const(in.Type, r), true
		}
	}
	switch len(in.Args) {
	case 2:
		if cy, ok := b.constant(in.Args[1]); ok && xConst {
			if r, ok := calculate(in.Op, t, cx, cy); ok {
				return b.Const(in.Type, r), true
			}
		}
		if t.IsFloat() {
			return b.foldFloat(in.Op, x, in.Args[1])
		}
		return b.foldInt(in.Op, x, in.Args[1])
	case 3:
		if in.Op == Select && (b.is(x, 1) || in.Args[1] == in.Args[2]) {
			return in.Args[1], true
		}
		if in.Op == Select && b.is(x, 0) {
			return in.Args[2], true
		}
	}
	return 0, false
}

func (b *Builder) foldFloat(op Op, x, y Value) (Value, bool) {
	switch {
	case op == Mul && b.isFloat(x, 1) || op == Add && b.isFloat(x, math.Copysign(0, -1)):
		return y, true
	case (op == Mul || op == Div) && b.isFloat(y, 1) || op == Add && b.isFloat(y, math.Copysign(0, -1)) || op == Sub && b.isFloat(y, 0):
		return x, true
	}
	return 0, false
}

func (b *Builder) foldInt(op Op, x, y Value) (Value, bool) {
	t := b.TypeOf(x)
	ones := canonical(t, math.MaxUint64)
	switch op {
	case Add, Or, Xor:
		if b.is(x, 0) {
			return y, true
		}
		if b.is(y, 0) || op == Or && x == y {
			return x, true
		}
		if op == Add {
			return b.foldSum(x, y)
		}
	case Sub:
		if b.is(y, 0) {
			return x, true
		}
		if x == y {
			return b.Const(t, 0), true
		}
	case Mul:
		if b.is(x, 0) || b.is(y, 1) {
			return x, true
		}
		if b.is(y, 0) || b.is(x, 1) {
			return y, true
		}
	case Div:
		if b.is(y, 1) {
			return x, true
		}
	case Rem:
		if b.is(y, 1) {
			return b.Const(t, 0), true
		}
	case Min, Max:
		if x == y {
			return x, true
		}
	case And:
		if b.is(x, 0) || b.is(y, ones) || x == y {
			return x, true
		}
		if b.is(y, 0) || b.is(x, ones) {
			return y, true
		}
	case Shl, Shr:
		if b.is(y, 0) {
			return x, true
		}
	case Lt, Ne:
		if x == y {
			return b.Const(dtype.Bool, 0), true
		}
	case Le, Eq:
		if x == y {
			return b.Const(dtype.Bool, 1), true
		}
	}
	return 0, false
}

// foldSum turns (v + c) + d into v + (c+d).
func (b *Builder) foldSum(x, y Value) (Value, bool) {
	d, ok := b.constant(y)
	sum := &b.defs[x]
	if !ok || sum.Op != Add {
		return 0, false
	}
	c, ok := b.constant(sum.Args[1])
	if !ok {
		return 0, false
	}
	r, ok := calculate(Add, b.TypeOf(x), c, d)
	if !ok {
		return 0, false
	}
	return b.Add(sum.Args[0], b.Const(b.TypeOf(x), r)), true
}
