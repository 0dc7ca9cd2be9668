package interp

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// numeric is the set of types with arithmetic in Go.
type numeric interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func atomics[I integer](m *machine, in *ir.Inst) step {
	switch in.Type {
	case dtype.I32:
		return exchange[I](m, in, combine[int32])
	case dtype.I64:
		return exchange[I](m, in, combine[int64])
	case dtype.I16:
		return exchange[I](m, in, combine[int16])
	case dtype.I8:
		return exchange[I](m, in, combine[int8])
	case dtype.U32:
		return exchange[I](m, in, combine[uint32])
	case dtype.U64:
		return exchange[I](m, in, combine[uint64])
	case dtype.U16:
		return exchange[I](m, in, combine[uint16])
	case dtype.U8:
		return exchange[I](m, in, combine[uint8])
	case dtype.F32:
		return exchange[I](m, in, combine[float32])
	case dtype.F64:
		return exchange[I](m, in, combine[float64])
	case dtype.F16:
		return exchange[I](m, in, func(o ir.Op, x, y dtype.Float16) dtype.Float16 {
			return dtype.ToFloat16(combine(o, x.Float32(), y.Float32()))
		})
	case dtype.BF16:
		return exchange[I](m, in, func(o ir.Op, x, y dtype.BFloat16) dtype.BFloat16 {
			return dtype.ToBFloat16(combine(o, x.Float32(), y.Float32()))
		})
	}
	return nil
}

// combine returns the value with which an atomic replaces x.
func combine[T numeric](o ir.Op, x, y T) T {
	switch o {
	case ir.AtomicMin:
		return min(x, y)
	case ir.AtomicMax:
		return max(x, y)
	}
	return x + y
}

// exchange compiles an atomic operation. Threads execute it in order, and one block at a time.
func exchange[I integer, T comparable](m *machine, in *ir.Inst, f func(o ir.Op, x, y T) T) step {
	idx, p, out, v := vector[I](m, in.Args[0]), regionOf[T](m, in), vector[T](m, in.Out[0]), vector[T](m, in.Args[1])
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
			if in.Op != ir.AtomicSwap {
				p.data[at] = f(in.Op, was, v[i])
			} else if was == v[i] {
				p.data[at] = swap[i]
			}
		}
	}
}
