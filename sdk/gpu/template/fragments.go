package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// matrixInstruction returns the target's matrix instruction for 16-bit floats of a type, if templates are written for that instruction.
func (t Target) matrixInstruction(d dtype.DType) (ir.MMA, bool) {
	for _, m := range t.MMA {
		known := m.N == 16 && (t.Subgroup == 32 || t.Subgroup == 64)
		if m.Order == ir.Pairs || m.Order == ir.Quarters {
			known = m.N == 8 && t.Subgroup == 32
		}
		if m.Type == d && m.M == 16 && m.K == 16 && known {
			return m, true
		}
	}
	return ir.MMA{}, false
}

// accumulatorLayout is the layout of the fragments of C. Of each fragment, a thread holds parts of several rows (held): in each of them a
// number of neighbouring elements (run). Threads whose numbers differ only in the bits of mates hold the same rows.
type accumulatorLayout struct {
	ir.MMA
	subgroup  int
	held, run int
	mates     []int
}

// accumulatorLayout returns the layout of the results of an instruction of the target.
func (t Target) accumulatorLayout(m ir.MMA) accumulatorLayout {
	switch m.Order {
	case ir.Pairs:
		return accumulatorLayout{m, t.Subgroup, 2, 2, []int{1, 2}}
	case ir.Quarters:
		return accumulatorLayout{m, t.Subgroup, 2, 2, []int{1, 8}}
	}
	return accumulatorLayout{m, t.Subgroup, 16 * 16 / t.Subgroup, 1, []int{1, 2, 4, 8}}
}

// acrossRow combines the values of all threads that hold the same rows, by an operation that is associative and commutative.
func (a accumulatorLayout) acrossRow(k *ir.Builder, v ir.Value, combine func(x, y ir.Value) ir.Value) ir.Value {
	for _, d := range a.mates {
		v = combine(v, k.ShuffleXor(v, d))
	}
	return v
}

// element returns the number of the thread's element e of its row h.
func (a accumulatorLayout) element(h, e int) int { return h*a.run + e }

// heldRow returns the row of the fragment that the thread holds as its row h.
func (a accumulatorLayout) heldRow(k *ir.Builder, lane ir.Value, h int) ir.Value {
	switch a.Order {
	case ir.Runs:
		return k.Add(k.Mul(k.Div(lane, k.Int(16)), k.Int(a.held)), k.Int(h))
	case ir.Strided:
		return k.Add(k.Div(lane, k.Int(16)), k.Int(h*a.subgroup/16))
	case ir.Quarters:
		return k.Add(k.Add(k.Mul(k.Div(lane, k.Int(16)), k.Int(4)), k.Rem(k.Div(lane, k.Int(2)), k.Int(4))), k.Int(8*h))
	}
	return k.Add(k.Div(lane, k.Int(4)), k.Int(8*h))
}

// column returns the column in the fragment of element e of each of the thread's rows.
func (a accumulatorLayout) column(k *ir.Builder, lane ir.Value, e int) ir.Value {
	return k.Add(k.Mul(a.mate(k, lane), k.Int(a.run)), k.Int(e))
}

// lanes returns the number of threads that hold the same rows.
func (a accumulatorLayout) lanes() int { return 1 << len(a.mates) }

// mate returns the number of a thread among those that hold the same rows, in the order of their columns.
func (a accumulatorLayout) mate(k *ir.Builder, lane ir.Value) ir.Value {
	if a.Order == ir.Quarters {
		return k.Add(k.Mul(k.Rem(k.Div(lane, k.Int(8)), k.Int(2)), k.Int(2)), k.Rem(lane, k.Int(2)))
	}
	return k.Rem(lane, k.Int(a.lanes()))
}

// anywhere returns a value that says whether cond is true in any thread of the subgroup. cond must be equal in threads with the same rows.
// The result is equal in all threads of the subgroup.
func (a accumulatorLayout) anywhere(k *ir.Builder, cond ir.Value) ir.Value {
	if a.subgroup <= 32 {
		return k.Ne(k.Ballot(cond), k.Const(dtype.U32, 0))
	}
	for d := 16; d < a.subgroup; d *= 2 {
		cond = k.Binary(ir.Or, cond, k.ShuffleXor(cond, d))
	}
	return k.ShuffleFrom(cond, k.Int(0))
}
