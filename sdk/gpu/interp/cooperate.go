package interp

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// cooperate compiles an instruction in which threads exchange values or wait for each other.
func (m *machine) cooperate(in *ir.Inst) step {
	switch in.Op {
	case ir.Barrier:
		return func(a *active) {
			if !a.full {
				m.fail(in, -1, "%d of %d threads come here", len(a.lanes), m.n)
			}
			if m.races != nil {
				m.races.barrier()
			}
		}
	case ir.SubgroupBarrier:
		return func(a *active) {
			m.whole(in, a)
			if m.races != nil {
				m.races.subgroupBarrier(a)
			}
		}
	case ir.Ballot:
		return m.ballot(in)
	}
	switch m.k.Types[in.Args[0]].Size() {
	case 1:
		return shuffle[uint8](m, in)
	case 2:
		return shuffle[uint16](m, in)
	case 4:
		return shuffle[uint32](m, in)
	case 8:
		return shuffle[uint64](m, in)
	}
	return nil
}

// whole fails unless, in each subgroup, all threads or none are active.
func (m *machine) whole(in *ir.Inst, a *active) {
	if a.full && m.n%m.sub == 0 {
		return
	}
	for i := 0; i < len(a.lanes); i += m.sub {
		first := a.lanes[i]
		if int(first)%m.sub != 0 || i+m.sub > len(a.lanes) || int(a.lanes[i+m.sub-1]) != int(first)+m.sub-1 {
			m.fail(in, first, "not all %d threads of the subgroup come here", m.sub)
		}
	}
}

func shuffle[T word](m *machine, in *ir.Inst) step {
	v, out, imm := vector[T](m, in.Args[0]), vector[T](m, in.Out[0]), int32(in.Imm)
	sub := int32(m.sub)
	from := func(i, lane int32) int32 { return lane ^ imm }
	switch in.Op {
	case ir.ShuffleUp:
		from = func(i, lane int32) int32 {
			if lane < imm {
				return lane
			}
			return lane - imm
		}
	case ir.ShuffleFrom:
		if m.k.Types[in.Args[1]] != dtype.I32 {
			return nil
		}
		lanes := vector[int32](m, in.Args[1])
		from = func(i, _ int32) int32 { return lanes[i] }
	}
	return func(a *active) {
		m.whole(in, a)
		for _, i := range a.lanes {
			f := from(i, i%sub)
			if f < 0 || f >= sub {
				m.fail(in, i, "lane %d of %d", f, sub)
			}
			out[i] = v[i-i%sub+f]
		}
	}
}

func (m *machine) ballot(in *ir.Inst) step {
	cond, out := vector[bool](m, in.Args[0]), vector[uint32](m, in.Out[0])
	return func(a *active) {
		m.whole(in, a)
		if m.sub > 32 {
			m.fail(in, -1, "subgroups of %d threads", m.sub)
		}
		for i := 0; i < len(a.lanes); i += m.sub {
			bits := uint32(0)
			for k, lane := range a.lanes[i : i+m.sub] {
				if cond[lane] {
					bits |= 1 << k
				}
			}
			for _, lane := range a.lanes[i : i+m.sub] {
				out[lane] = bits
			}
		}
	}
}
