package narrow

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func (r *rewriter) body(body []ir.Inst) {
	for i := range body {
		r.inst(&body[i])
	}
}

// arg returns the pair that represents operand i.
func (r *rewriter) arg(in *ir.Inst, i int) pair { return r.values[in.Args[i]] }

// typeOf returns the type of operand i in the old kernel.
func (r *rewriter) typeOf(in *ir.Inst, i int) dtype.DType { return r.old.Types[in.Args[i]] }

func (r *rewriter) isWide(in *ir.Inst, i int) bool { return wide.Has(r.typeOf(in, i)) }

func (r *rewriter) inst(in *ir.Inst) {
	for _, v := range in.Out {
		r.defs[v] = in
		if r.old.Types[v] == dtype.F64 {
			refuse("%s", r.old.Line(in))
		}
	}
	switch in.Op {
	case ir.For:
		r.loop(in)
	case ir.If:
		r.IfElse(r.arg(in, 0).lo, func() { r.body(in.Body) }, func() { r.body(in.Else) })
	case ir.While:
		r.While(func() ir.Value {
			r.body(in.Head)
			return r.arg(in, 0).lo
		}, func() { r.body(in.Body) })
	case ir.Barrier:
		r.Barrier()
	case ir.SubgroupBarrier:
		r.SubgroupBarrier()
	case ir.Load:
		r.load(in)
	case ir.Store:
		r.store(in)
	case ir.SharedLoad:
		r.sharedLoad(in)
	case ir.SharedStore:
		r.sharedStore(in)
	case ir.LocalStore:
		at, v, l := r.index(in, 0), r.arg(in, 1), r.locals[in.Ref]
		r.Set(l[0], at, v.lo)
		if wide.Has(in.Type) {
			r.Set(l[1], at, v.hi)
		}
	default:
		if len(in.Out) != 1 {
			refuse("%s", r.old.Line(in))
		}
		r.values[in.Out[0]] = r.value(in)
	}
}

// value rewrites an instruction with one result and returns it.
func (r *rewriter) value(in *ir.Inst) pair {
	switch in.Op {
	case ir.Const:
		return r.constant(in.Type, in.Imm)
	case ir.Scalar:
		return r.scalars[in.Ref]
	case ir.Thread:
		return pair{lo: r.Thread()}
	case ir.Block:
		return pair{lo: r.Block(int(in.Imm))}
	case ir.Blocks:
		return pair{lo: r.Blocks(int(in.Imm))}
	case ir.Lane:
		return pair{lo: r.Lane()}
	case ir.LocalLoad:
		at, l := r.index(in, 0), r.locals[in.Ref]
		if wide.Has(in.Type) {
			return pair{r.Get(l[0], at), r.Get(l[1], at)}
		}
		return pair{lo: r.Get(l[0], at)}
	case ir.Cast:
		return r.cast(in.Type, r.typeOf(in, 0), r.arg(in, 0))
	case ir.ShuffleXor, ir.ShuffleUp, ir.ShuffleFrom:
		return r.exchanged(in)
	case ir.Ballot:
		return pair{lo: r.Ballot(r.arg(in, 0).lo)}
	case ir.PopCount:
		return pair{lo: r.PopCount(r.arg(in, 0).lo)}
	case ir.AtomicAdd, ir.AtomicMin, ir.AtomicMax, ir.AtomicSwap, ir.SharedAdd:
		return pair{lo: r.atomic(in)}
	}
	if wide.Has(in.Type) || len(in.Args) > 0 && r.isWide(in, 0) {
		return r.wide(in)
	}
	x := make([]ir.Value, len(in.Args))
	for i := range x {
		x[i] = r.arg(in, i).lo
	}
	switch {
	case in.Op == ir.Select:
		return pair{lo: r.Select(x[0], x[1], x[2])}
	case in.Op == ir.FMA:
		return pair{lo: r.FMA(x[0], x[1], x[2])}
	case in.Op == ir.Bitcast:
		return pair{lo: r.Bitcast(in.Type, x[0])}
	case in.Op < ir.Add || in.Op > ir.Exp2Fast || len(x) == 0 || len(x) > 2:
		refuse("%s", r.old.Line(in))
	case len(x) == 2:
		return pair{lo: r.Binary(in.Op, x[0], x[1])}
	}
	return pair{lo: r.Unary(in.Op, x[0])}
}

// constant returns a constant of a type; bits is sign or zero extended.
func (r *rewriter) constant(d dtype.DType, bits uint64) pair {
	if wide.Has(d) {
		return pair{r.Const(dtype.U32, uint64(uint32(bits))), r.Const(high(d), bits>>32)}
	}
	return pair{lo: r.Const(d, bits)}
}

// exchanged rewrites a shuffle and returns its result.
func (r *rewriter) exchanged(in *ir.Inst) pair {
	word := func(v ir.Value) ir.Value {
		switch in.Op {
		case ir.ShuffleXor:
			return r.ShuffleXor(v, int(in.Imm))
		case ir.ShuffleUp:
			return r.ShuffleUp(v, int(in.Imm))
		}
		return r.ShuffleFrom(v, r.arg(in, 1).lo)
	}
	x := r.arg(in, 0)
	if !wide.Has(in.Type) {
		return pair{lo: word(x.lo)}
	}
	return pair{word(x.lo), word(x.hi)}
}

// loop rewrites a For. A loop variable of 64 bits is kept in local arrays. If the loop is to be unrolled, the variable has 32 bits.
func (r *rewriter) loop(in *ir.Inst) {
	v := in.Out[0]
	lo, hi := r.arg(in, 0), r.arg(in, 1)
	switch {
	case in.Unroll:
		from, to := r.defs[in.Args[0]], r.defs[in.Args[1]]
		if from == nil || to == nil || from.Op != ir.Const || from.Imm != 0 || to.Op != ir.Const || in.Imm != 1 {
			refuse("%s", r.old.Line(in))
		}
		r.Unroll(int(to.Imm), func(i ir.Value) {
			r.values[v] = r.cast(in.Type, dtype.I32, pair{lo: i})
			r.body(in.Body)
		})
	case !wide.Has(in.Type):
		r.For(lo.lo, hi.lo, int(in.Imm), func(i ir.Value) {
			r.values[v] = pair{lo: i}
			r.body(in.Body)
		})
	default:
		low, top := r.Local("counter_lo", dtype.U32, 1), r.Local("counter_hi", high(in.Type), 1)
		r.Put(low, lo.lo)
		r.Put(top, lo.hi)
		at := func() pair { return pair{r.At(low), r.At(top)} }
		r.While(func() ir.Value { return r.less(in.Type, at(), hi) }, func() {
			i := at()
			r.values[v] = i
			r.body(in.Body)
			next := r.add(i, r.constant(in.Type, in.Imm))
			r.Put(low, next.lo)
			r.Put(top, next.hi)
		})
	}
}
