package dialect

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// quotients prints indices that are counted in vectors: an index of elements divided by the length of the vectors. The terms of sums are
// divided separately. If the whole index were shifted, compilers could not use the constant term of a sum as the offset in an instruction.
type quotients struct {
	p *printer
	// defs holds the instruction that defines each value.
	defs map[ir.Value]*ir.Inst
	// wanted holds the lengths by which a value is divided, as a set: bit log2 of each length.
	wanted map[ir.Value]uint8
}

// vectorIndices determines the values that must be divided, for accesses of at least one vector.
func (p *printer) vectorIndices() {
	q := &quotients{p, map[ir.Value]*ir.Inst{}, map[ir.Value]uint8{}}
	var walk func(list []ir.Inst)
	walk = func(list []ir.Inst) {
		for i := range list {
			in := &list[i]
			for _, v := range in.Out {
				q.defs[v] = in
			}
			lanes, width := 0, int(in.Width)
			switch in.Op {
			case ir.Load, ir.Store:
				lanes = p.lanes.buffers[in.Ref]
			case ir.SharedLoad, ir.SharedStore:
				lanes = p.lanes.shared[in.Ref]
			}
			if lanes > 1 && width >= lanes {
				q.want(in.Args[0], lanes)
			}
			walk(in.Head)
			walk(in.Body)
			walk(in.Else)
		}
	}
	walk(p.k.Body)
	p.quotients = q
}

// want records that v divided by n is needed. v is a multiple of n.
func (q *quotients) want(v ir.Value, n int) {
	bit := uint8(1) << bits.TrailingZeros(uint(n))
	if q.wanted[v]&bit != 0 {
		return
	}
	q.wanted[v] |= bit
	for _, x := range q.terms(v, n) {
		q.want(x, n)
	}
}

// constant returns the number of a constant of i32.
func (q *quotients) constant(v ir.Value) (int, bool) {
	in := q.defs[v]
	if in == nil || in.Op != ir.Const || in.Type != dtype.I32 {
		return 0, false
	}
	return int(int32(in.Imm)), true
}

// divisible reports whether v is known to be a multiple of n.
func (q *quotients) divisible(v ir.Value, n int) bool {
	if c, ok := q.constant(v); ok {
		return c%n == 0
	}
	in := q.defs[v]
	if in == nil || q.p.k.Types[v] != dtype.I32 {
		return false
	}
	switch in.Op {
	case ir.Add, ir.Sub:
		return q.divisible(in.Args[0], n) && q.divisible(in.Args[1], n)
	case ir.Mul:
		return q.divisible(in.Args[0], n) || q.divisible(in.Args[1], n)
	case ir.For:
		return int(in.Imm)%n == 0 && q.divisible(in.Args[0], n)
	}
	return false
}

// terms returns the operands of v that are divided by n in order to divide v, which is a multiple of n. For a sum or difference with one
// operand that is known to be a multiple of n, it returns both operands: the other operand must then be a multiple too. For a product, it
// returns the factor that is known to be a multiple. Otherwise it returns no operands.
func (q *quotients) terms(v ir.Value, n int) []ir.Value {
	in := q.defs[v]
	if in == nil || q.p.k.Types[v] != dtype.I32 {
		return nil
	}
	switch in.Op {
	case ir.Add, ir.Sub:
		if q.divisible(in.Args[0], n) || q.divisible(in.Args[1], n) {
			return in.Args
		}
	case ir.Mul:
		for i, x := range in.Args {
			if q.divisible(x, n) {
				return in.Args[i : i+1]
			}
		}
	}
	return nil
}

// define prints the quotients of v by the lengths for which they are needed. v was defined before.
func (q *quotients) define(v ir.Value) {
	for log := 1; log <= 2; log++ {
		if n := 1 << log; q.wanted[v]>>log&1 != 0 && len(q.terms(v, n)) > 0 {
			q.p.line("let %s_%d: i32 = %s;", q.p.spelled[v], n, q.quotient(v, n))
		}
	}
}

// quotient returns the expression for v divided by n.
func (q *quotients) quotient(v ir.Value, n int) string {
	in := q.defs[v]
	terms := q.terms(v, n)
	switch {
	case len(terms) == 2:
		op := "+"
		if in.Op == ir.Sub {
			op = "-"
		}
		return fmt.Sprintf("%s %s %s", q.spell(in.Args[0], n), op, q.spell(in.Args[1], n))
	case terms[0] == in.Args[0]:
		return q.times(terms[0], in.Args[1], n)
	}
	return q.times(terms[0], in.Args[0], n)
}

// times returns the expression for x·y divided by n. x is a multiple of n.
func (q *quotients) times(x, y ir.Value, n int) string {
	if c, ok := q.constant(x); ok && c == n {
		return q.p.spelled[y]
	}
	return q.spell(x, n) + " * " + q.p.spelled[y]
}

// spell returns the text of v divided by n. v is a multiple of n.
func (q *quotients) spell(v ir.Value, n int) string {
	if c, ok := q.constant(v); ok {
		return wgslLiteral(dtype.I32, uint64(int64(c/n)))
	}
	if len(q.terms(v, n)) == 0 {
		return "(" + q.p.spelled[v] + " >> " + strconv.Itoa(bits.TrailingZeros(uint(n))) + "u)"
	}
	return fmt.Sprintf("%s_%d", q.p.spelled[v], n)
}
