package interp

import (
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// flushing returns the step that make compiles, changed so that subnormal numbers of f32 in operands and results are replaced by zeros of
// the same sign. The step reads copies of the operands, so other instructions see the original bits.
func (m *machine) flushing(in *ir.Inst, make func() step) step {
	if !m.o.Flush {
		return make()
	}
	type copied struct{ from, to []uint32 }
	var copies []copied
	kept := map[ir.Value]unsafe.Pointer{}
	for _, v := range in.Args {
		if _, again := kept[v]; again || m.k.Types[v] != dtype.F32 {
			continue
		}
		from := vector[uint32](m, v)
		kept[v] = m.memory[v]
		m.memory[v] = unsafe.Pointer(unsafe.SliceData(aligned(4 * len(from))))
		copies = append(copies, copied{from, vector[uint32](m, v)})
	}
	s := make()
	for v, p := range kept {
		m.memory[v] = p
	}
	var results []uint32
	if m.k.Types[in.Out[0]] == dtype.F32 {
		results = result[uint32](m, in)
	}
	if s == nil || len(copies) == 0 && results == nil {
		return s
	}
	return func(a *active) {
		for _, c := range copies {
			for i, x := range c.from {
				c.to[i] = flushed(x)
			}
		}
		s(a)
		for i, x := range results {
			results[i] = flushed(x)
		}
	}
}

// flushed returns the bits of an f32, or of a zero of the same sign if it is subnormal.
func flushed(x uint32) uint32 {
	if x&0x7f800000 == 0 {
		return x & 0x80000000
	}
	return x
}
