package interp

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func atomics[I integer](m *machine, in *ir.Inst) step {
	switch in.Type {
	case dtype.I32:
		return exchange[I, int32](m, in)
	case dtype.I64:
		return exchange[I, int64](m, in)
	case dtype.U32:
		return exchange[I, uint32](m, in)
	case dtype.U64:
		return exchange[I, uint64](m, in)
	case dtype.F32:
		return exchange[I, float32](m, in)
	case dtype.F64:
		return exchange[I, float64](m, in)
	}
	return nil
}

// exchange makes an atomic operation ready: threads in order, and blocks one at a time.
func exchange[I integer, T integer | floating](m *machine, in *ir.Inst) step {
	idx, p, out, v := vector[I](m, in.Args[0]), placeOf[T](m, in), vector[T](m, in.Out[0]), vector[T](m, in.Args[1])
	var swap []T
	if in.Op == ir.AtomicSwap {
		swap = vector[T](m, in.Args[2])
	}
	return func(a *active) {
		if m.lock != nil && in.Op != ir.SharedAdd {
			m.lock.Lock()
			defer m.lock.Unlock()
		}
		for _, i := range a.lanes {
			check(m, in, &p, i, idx[i], 1)
			at := int(idx[i])
			if p.state != nil {
				m.readable(in, i, p.state, at)
			}
			if p.shadow != nil {
				p.shadow.change(in, m.races.of(i), at)
			}
			was := p.data[at]
			out[i] = was
			switch in.Op {
			case ir.AtomicMin:
				p.data[at] = min(was, v[i])
			case ir.AtomicMax:
				p.data[at] = max(was, v[i])
			case ir.AtomicSwap:
				if was == v[i] {
					p.data[at] = swap[i]
				}
			default:
				p.data[at] = was + v[i]
			}
		}
	}
}
