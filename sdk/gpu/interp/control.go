package interp

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func (m *machine) branch(in *ir.Inst) step {
	cond, then, otherwise := vector[bool](m, in.Args[0]), m.compile(in.Body), m.compile(in.Else)
	if m.uniform[in.Args[0]] {
		return func(a *active) {
			if cond[0] {
				run(then, a)
			} else {
				run(otherwise, a)
			}
		}
	}
	yes, no := active{lanes: make([]int32, 0, m.n)}, active{lanes: make([]int32, 0, m.n)}
	return func(a *active) {
		yes.lanes, no.lanes = yes.lanes[:0], no.lanes[:0]
		for _, i := range a.lanes {
			if cond[i] {
				yes.lanes = append(yes.lanes, i)
			} else {
				no.lanes = append(no.lanes, i)
			}
		}
		yes.full, no.full = len(yes.lanes) == m.n, len(no.lanes) == m.n
		if len(yes.lanes) > 0 {
			run(then, &yes)
		}
		if len(no.lanes) > 0 {
			run(otherwise, &no)
		}
	}
}

func (m *machine) while(in *ir.Inst) step {
	head, body := m.compile(in.Head), m.compile(in.Body)
	cond := vector[bool](m, in.Args[0])
	now := active{lanes: make([]int32, 0, m.n)}
	same := m.uniform[in.Args[0]]
	return func(a *active) {
		now.full, now.lanes = a.full, append(now.lanes[:0], a.lanes...)
		for n := 0; ; n++ {
			if n > m.o.Iterations {
				m.fail(in, now.lanes[0], "does not end")
			}
			run(head, &now)
			if same {
				if !cond[0] {
					return
				}
			} else {
				keep := now.lanes[:0]
				for _, i := range now.lanes {
					if cond[i] {
						keep = append(keep, i)
					}
				}
				now.lanes, now.full = keep, len(keep) == m.n
			}
			if len(now.lanes) == 0 {
				return
			}
			run(body, &now)
		}
	}
}

func (m *machine) loop(in *ir.Inst) step {
	switch in.Type {
	case dtype.I32:
		return loop[int32](m, in, math.MaxInt32)
	case dtype.I64:
		return loop[int64](m, in, math.MaxInt64)
	case dtype.U32:
		return loop[uint32](m, in, math.MaxUint32)
	case dtype.U64:
		return loop[uint64](m, in, math.MaxUint64)
	}
	return nil
}

func loop[T integer](m *machine, in *ir.Inst, most T) step {
	body := m.compile(in.Body)
	x, lo, hi, by := vector[T](m, in.Out[0]), vector[T](m, in.Args[0]), vector[T](m, in.Args[1]), T(in.Imm)
	if m.uniform[in.Out[0]] {
		spread := m.spreading(in.Out[0], func(*active) {})
		return func(a *active) {
			for i, end := lo[0], hi[0]; i < end; i += by {
				x[0] = i
				spread(a)
				run(body, a)
				if i > most-by {
					m.fail(in, -1, "%d and %d overflow", i, by)
				}
			}
		}
	}
	now := active{lanes: make([]int32, 0, m.n)}
	return func(a *active) {
		now.lanes = now.lanes[:0]
		for _, i := range a.lanes {
			if x[i] = lo[i]; x[i] < hi[i] {
				now.lanes = append(now.lanes, i)
			}
		}
		for len(now.lanes) > 0 {
			now.full = len(now.lanes) == m.n
			run(body, &now)
			keep := now.lanes[:0]
			for _, i := range now.lanes {
				if x[i] > most-by {
					m.fail(in, i, "%d and %d overflow", x[i], by)
				}
				if x[i] += by; x[i] < hi[i] {
					keep = append(keep, i)
				}
			}
			now.lanes = keep
		}
	}
}
