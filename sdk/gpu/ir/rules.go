package ir

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
)

// The sets of types that operations accept.
var (
	integers  = dtype.SetOf(dtype.I32, dtype.I64, dtype.U32, dtype.U64)
	floats    = dtype.SetOf(dtype.F32, dtype.F64)
	numbers   = integers | floats
	wholeBits = integers | dtype.Bools
)

// wrong returns a description of the error in the fields of an instruction or their types, or "" if there is no error. The operands are
// values of the kernel. wrong does not check properties that depend on a launch or on other instructions.
func (k *Kernel) wrong(in *Inst) string {
	r := rule{k: k, in: in}
	r.check()
	return r.text
}

type rule struct {
	k    *Kernel
	in   *Inst
	text string
}

func (r *rule) fail(format string, args ...any) {
	if r.text == "" {
		r.text = fmt.Sprintf(format, args...)
	}
}

// form checks the numbers of results and operands, and the types of the results.
func (r *rule) form(outs, args int) bool {
	if len(r.in.Out) != outs || len(r.in.Args) != args {
		r.fail("%d results of %d operands, want %d of %d", len(r.in.Out), len(r.in.Args), outs, args)
		return false
	}
	for _, v := range r.in.Out {
		if r.k.Types[v] != r.in.Type {
			r.fail("result %%%d is %v", v, r.k.Types[v])
		}
	}
	return true
}

// operands checks the types of the operands from number i on.
func (r *rule) operands(i int, types ...dtype.DType) {
	for k, t := range types {
		if got := r.k.Types[r.in.Args[i+k]]; got != t {
			r.fail("operand %d is %v, want %v", i+k, got, t)
		}
	}
}

func (r *rule) oneOf(what string, t dtype.DType, set dtype.Set) {
	if !set.Has(t) {
		r.fail("%s is %v, want %v", what, t, set)
	}
}

// elementwise checks that there are n operands of the same type, which is in a set.
func (r *rule) elementwise(n int, set dtype.Set) {
	if r.form(1, n) {
		r.oneOf("type", r.in.Type, set)
		for i := range n {
			r.operands(i, r.in.Type)
		}
	}
}

func (r *rule) check() {
	in := r.in
	switch op := in.Op; op {
	case Const:
		if r.form(1, 0) {
			r.oneOf("type", in.Type, dtype.Any)
		}
	case Scalar:
		if r.form(1, 0) && (in.Ref < 0 || int(in.Ref) >= len(r.k.Params) || r.k.Params[in.Ref].IsBuffer() || r.k.Params[in.Ref].Type != in.Type) {
			r.fail("parameter %d is no scalar of %v", in.Ref, in.Type)
		}
	case Thread, Lane, Block, Blocks:
		if r.form(1, 0) && (in.Type != dtype.I32 || in.Imm > 2) {
			r.fail("%v of axis %d", in.Type, in.Imm)
		}
	case Add, Sub, Mul, Div, Rem, Min, Max:
		r.elementwise(2, numbers)
	case Neg, Abs:
		r.elementwise(1, numbers)
	case FMA:
		r.elementwise(3, numbers)
	case MulHi, Shl, Shr:
		r.elementwise(2, integers)
	case And, Or, Xor:
		r.elementwise(2, wholeBits)
	case Not:
		r.elementwise(1, wholeBits)
	case Eq, Ne, Lt, Le:
		r.comparison()
	case Select:
		if r.form(1, 3) {
			r.oneOf("type", in.Type, dtype.Any)
			r.operands(0, dtype.Bool, in.Type, in.Type)
		}
	case Cast:
		if r.form(1, 1) {
			r.oneOf("type", in.Type, dtype.Any)
			r.oneOf("operand", r.k.Types[in.Args[0]], dtype.Any)
		}
	case Bitcast:
		if r.form(1, 1) {
			if t := r.k.Types[in.Args[0]]; t.Size() != in.Type.Size() || t == dtype.Bool || in.Type == dtype.Bool {
				r.fail("of %v", t)
			}
		}
	case Exp2Fast:
		r.elementwise(1, dtype.SetOf(dtype.F32))
	case Erfc:
		r.elementwise(1, floats)
	case Pow, Atan2, Maximum, Minimum:
		r.elementwise(2, floats)
	case Barrier, SubgroupBarrier, AsyncCommit, AsyncWait:
		r.form(0, 0)
	case ShuffleXor, ShuffleUp:
		r.elementwise(1, dtype.Any)
		if sub := uint64(r.k.Subgroup); in.Imm >= max(sub, 1) && sub != 0 || in.Imm >= 128 {
			r.fail("by %d in a subgroup of %d", in.Imm, sub)
		}
	case ShuffleFrom:
		if r.form(1, 2) {
			r.oneOf("type", in.Type, dtype.Any)
			r.operands(0, in.Type, dtype.I32)
		}
	case Ballot:
		if r.form(1, 1) && in.Type == dtype.U32 {
			r.operands(0, dtype.Bool)
		}
		r.oneOf("type", in.Type, dtype.SetOf(dtype.U32))
	case PopCount:
		r.elementwise(1, dtype.SetOf(dtype.U32))
	case For:
		r.elementwise(2, integers)
		if most, ok := greatest[in.Type]; in.Imm == 0 || ok && in.Imm > most {
			r.fail("step %d", in.Imm)
		}
	case If, While:
		if r.form(0, 1) {
			r.operands(0, dtype.Bool)
		}
	default:
		switch {
		case op >= Exp && op <= Round:
			r.elementwise(1, floats)
		case op >= Load && op <= AsyncCopy:
			r.memory()
		case op >= FragFill && op <= FragPack:
			r.fragment()
		default:
			r.fail("no such operation")
		}
	}
}

// greatest is the greatest value of the types of loop variables.
var greatest = map[dtype.DType]uint64{dtype.I32: 1<<31 - 1, dtype.I64: 1<<63 - 1, dtype.U32: 1<<32 - 1, dtype.U64: 1<<64 - 1}

func (r *rule) comparison() {
	if !r.form(1, 2) {
		return
	}
	r.oneOf("type", r.in.Type, dtype.Bools)
	t := r.k.Types[r.in.Args[0]]
	r.operands(1, t)
	r.oneOf("operand", t, numbers|dtype.Bools)
}

// array checks that ref names an array of the type of the instruction.
func (r *rule) array(list []Array, ref int32) {
	if ref < 0 || int(ref) >= len(list) {
		r.fail("array %d is not there", ref)
	} else if list[ref].Type != r.in.Type {
		r.fail("%s is of %v", list[ref].Name, list[ref].Type)
	}
}

// buffer checks that ref names a buffer parameter that has the type of the instruction and allows access a.
func (r *rule) buffer(ref int32, a Access) {
	switch {
	case ref < 0 || int(ref) >= len(r.k.Params) || !r.k.Params[ref].IsBuffer():
		r.fail("parameter %d is no buffer", ref)
	case r.k.Params[ref].Type != r.in.Type:
		r.fail("%s is of %v", r.k.Params[ref].Name, r.k.Params[ref].Type)
	case r.k.Params[ref].Access&a == 0:
		r.fail("%s is not for %v", r.k.Params[ref].Name, a)
	}
}

func (r *rule) index(i int) { r.oneOf("index", r.k.Types[r.in.Args[i]], integers) }

// width checks that the number of elements of an access is a power of two, and that they have lo to 16 bytes together.
func (r *rule) width(lo int) {
	w := int(r.in.Width)
	if n := w * r.in.Type.Size(); w < 1 || w&(w-1) != 0 || w > 16 || n > 16 || n < lo {
		r.fail("access to %d elements", r.in.Width)
	}
}

func (r *rule) memory() {
	in := r.in
	stored := 0
	outs, args := 1, 1
	switch in.Op {
	case Load, SharedLoad:
		outs = int(in.Width)
	case Store, SharedStore:
		outs, stored = 0, int(in.Width)
	case LocalStore:
		outs, stored = 0, 1
	case AtomicAdd, AtomicMin, AtomicMax, SharedAdd:
		stored = 1
	case AtomicSwap:
		stored = 2
	case AsyncCopy:
		outs, args = 0, 2
	}
	if !r.form(outs, args+stored) {
		return
	}
	r.index(0)
	for i := range stored {
		r.operands(args+i, in.Type)
	}
	switch in.Op {
	case Load:
		r.buffer(in.Ref, Read)
		r.width(0)
	case Store:
		r.buffer(in.Ref, Write)
		r.width(0)
	case SharedLoad, SharedStore:
		r.array(r.k.Shared, in.Ref)
		r.width(0)
	case LocalLoad, LocalStore:
		r.array(r.k.Locals, in.Ref)
	case SharedAdd:
		r.array(r.k.Shared, in.Ref)
		r.oneOf("type", in.Type, numbers)
	case AsyncCopy:
		r.index(1)
		r.array(r.k.Shared, in.Ref)
		r.buffer(in.Ref2, Read)
		r.width(4)
	default:
		r.buffer(in.Ref, Atomic)
		if in.Op == AtomicSwap {
			r.oneOf("type", in.Type, numbers)
		} else {
			r.oneOf("type", in.Type, dtype.Numbers)
		}
	}
}

// role checks that ref names fragments of a role, and returns their matrix instruction.
func (r *rule) role(ref int32, role Role) MMA {
	if ref < 0 || int(ref) >= len(r.k.Frags) {
		r.fail("fragments %d are not there", ref)
		return MMA{}
	}
	f := r.k.Frags[ref]
	if f.Role != role {
		r.fail("%s is %v, want %v", f.Name, f.Role, role)
	}
	return f.MMA
}

func (r *rule) fragment() {
	in := r.in
	shape := map[Op][2]int{FragFill: {0, 2}, FragLoad: {0, 3}, FragMMA: {0, 3}, FragStore: {0, 3}, FragGet: {1, 1}, FragSet: {0, 2}, FragPack: {0, 2}}[in.Op]
	if !r.form(shape[0], shape[1]) {
		return
	}
	r.index(0)
	if in.Op == FragLoad || in.Op == FragStore || in.Op == FragMMA {
		r.index(1)
		r.index(2)
	}
	switch in.Op {
	case FragFill, FragSet:
		r.role(in.Ref, C)
		r.operands(1, dtype.F32)
	case FragGet:
		r.role(in.Ref, C)
		r.oneOf("type", in.Type, dtype.SetOf(dtype.F32))
	case FragPack:
		r.index(1)
		if a, c := r.role(in.Ref, A), r.role(in.Ref2, C); a != c || a.N == 0 || a.K%a.N != 0 {
			r.fail("%v of %v", a, c)
		}
	case FragMMA:
		c, a, b := r.role(in.Ref, C), r.role(in.Ref2, A), r.role(int32(in.Imm), B)
		if c != a || c != b {
			r.fail("%v, %v and %v", c, a, b)
		}
	case FragLoad, FragStore:
		if in.Ref < 0 || int(in.Ref) >= len(r.k.Frags) || in.Ref2 < 0 || int(in.Ref2) >= len(r.k.Shared) {
			r.fail("array is not there")
			return
		}
		if in.Op == FragLoad && in.Width != 1 && in.Width != 2 {
			r.fail("%d fragments", in.Width)
		}
		f, s := r.k.Frags[in.Ref], r.k.Shared[in.Ref2]
		want := f.MMA.Type
		if in.Op == FragStore {
			want = dtype.F32
		}
		if (f.Role == C) != (in.Op == FragStore) || s.Type != want {
			r.fail("%s is %v, %s of %v", f.Name, f.Role, s.Name, s.Type)
		}
	}
	if (in.Op == FragGet || in.Op == FragSet) && in.Ref >= 0 && int(in.Ref) < len(r.k.Frags) && r.k.Subgroup != 0 {
		if n := r.k.Frags[in.Ref].Elements(r.k.Subgroup); in.Imm >= uint64(n) {
			r.fail("element %d of %d", in.Imm, n)
		}
	}
}
