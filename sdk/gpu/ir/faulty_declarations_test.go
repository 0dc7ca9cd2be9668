package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// TestFaultyDeclarations checks that Verify refuses declarations of unknown types and of impossible sizes.
func TestFaultyDeclarations(t *testing.T) {
	fragment := func(m ir.MMA, role ir.Role, n, subgroup int) func(k *ir.Kernel) {
		return func(k *ir.Kernel) {
			k.Subgroup, k.Frags = subgroup, []ir.Fragments{{Name: "f", MMA: m, Role: role, Len: n}}
		}
	}
	mma := func(m, n, k int) ir.MMA { return ir.MMA{M: m, N: n, K: k, Type: f16} }
	of := func(d dtype.DType) ir.MMA { return ir.MMA{M: 16, N: 8, K: 16, Type: d} }
	ordered := func(m, n int, o ir.Order) ir.MMA { return ir.MMA{M: m, N: n, K: 16, Type: f16, Order: o} }
	for _, c := range []struct {
		change func(k *ir.Kernel)
		want   string
	}{
		{func(k *ir.Kernel) {}, ""},
		{func(k *ir.Kernel) { k.Threads = 0 }, "0 threads in subgroups of 32"},
		{func(k *ir.Kernel) { k.Threads = 1 << 16 }, ""},
		{func(k *ir.Kernel) { k.Threads = 1<<16 + 1 }, "65537 threads"},
		{func(k *ir.Kernel) { k.Subgroup = 24 }, "subgroups of 24"},
		{func(k *ir.Kernel) { k.Subgroup = -32 }, "subgroups of -32"},
		{func(k *ir.Kernel) { k.Members = -1 }, "-1 members"},
		{func(k *ir.Kernel) { k.Members = 1<<16 + 1 }, "65537 members"},
		{func(k *ir.Kernel) { k.Params[0].Each = true }, "parameter x is one of each member, and there are none"},
		{func(k *ir.Kernel) { k.Params[0].Each, k.Members = true, 2 }, ""},
		{func(k *ir.Kernel) { k.Params[3].Type = dtype.Invalid }, "parameter n: invalid"},
		{func(k *ir.Kernel) { k.Params[1].Access = 8 }, "parameter y: f32"},
		{func(k *ir.Kernel) { k.Shared[1].Len = 0 }, "array float of 0 f32"},
		{func(k *ir.Kernel) { k.Shared[1].Len = 1<<20 + 1 }, "array float of 1048577 f32"},
		{func(k *ir.Kernel) { k.Locals[0].Len = -1 }, "array li of -1 i32"},
		{func(k *ir.Kernel) { k.Locals[1].Type = dtype.DType(200) }, "array lf of 2 "},
		{func(k *ir.Kernel) { k.Types = nil }, "no list of types"},
		{fragment(mma(16, 8, 16), ir.C, 1, 32), ""},
		{fragment(mma(16, 8, 16), ir.C, 0, 32), "0 fragments f of role c"},
		{fragment(mma(16, 8, 16), ir.C, 1<<12+1, 32), "4097 fragments f of role c"},
		{fragment(mma(16, 8, 16), ir.C+1, 1, 32), "of role role(3)"},
		{fragment(mma(16, 8, 16), ir.C, 1, 2), "m16n8k16.f16 does not divide among 2 threads"},
		{fragment(mma(12, 8, 16), ir.C, 1, 32), "m12n8k16.f16 does not divide among 32 threads"},
		{fragment(mma(16, 12, 16), ir.C, 1, 32), "m16n12k16.f16 does not divide"},
		{fragment(mma(16, 8, 0), ir.C, 1, 32), "m16n8k0.f16 does not divide"},
		{fragment(mma(16, 8, 3), ir.C, 1, 32), "m16n8k3.f16 does not divide"},
		{fragment(mma(512, 8, 16), ir.C, 1, 32), "m512n8k16.f16 does not divide"},
		{fragment(of(f64), ir.A, 1, 32), "fragments f: m16n8k16.f64"},
		{fragment(of(dtype.I8), ir.A, 1, 32), "fragments f: m16n8k16.i8"},
		{fragment(of(f32), ir.A, 1, 32), ""},
		{fragment(ordered(16, 16, ir.Runs), ir.C, 1, 64), ""},
		{fragment(ordered(16, 8, ir.Runs), ir.C, 1, 32), "m16n8k16.f16.runs has no such order for 32 threads"},
		{fragment(ordered(16, 16, ir.Strided), ir.C, 1, 16), "m16n16k16.f16.strided has no such order for 16 threads"},
		{fragment(ordered(16, 16, ir.Strided+1), ir.C, 1, 32), "has no such order for 32 threads"},
	} {
		k := kernelOf(ir.Inst{Op: ir.Barrier})
		k.Frags = nil
		c.change(k)
		err := k.Verify()
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

// TestFaultyLaunches checks that Check refuses an argument beyond the type of its parameter, and a read buffer that shares memory with one
// of several written buffers, unless it is Aliased.
func TestFaultyLaunches(t *testing.T) {
	launch := func() ir.Launch {
		k := kernelOf(ir.Inst{Op: ir.Barrier})
		k.Params = []ir.Param{
			{Name: "x", Type: f32, Access: ir.Read}, {Name: "y", Type: f32, Access: ir.Write}, {Name: "z", Type: i32, Access: ir.Atomic},
			{Name: "b", Type: boolean}, {Name: "s", Type: dtype.I8}, {Name: "u", Type: dtype.U16},
		}
		return ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Slot: 2}, {Bits: 1}, {Bits: ^uint64(0)}, {Bits: 65535}}}
	}
	for _, c := range []struct {
		change func(l *ir.Launch)
		want   string
	}{
		{func(l *ir.Launch) {}, ""},
		{func(l *ir.Launch) { l.Args[3].Bits = 2 }, "argument b: 0x2 is no bool"},
		{func(l *ir.Launch) { l.Args[4].Bits = 255 }, "argument s: 0xff is no i8"},
		{func(l *ir.Launch) { l.Args[5].Bits = 65536 }, "argument u: 0x10000 is no u16"},
		{func(l *ir.Launch) { l.Args[0].Slot = -1 }, "argument x: slot -1 of 3"},
		{func(l *ir.Launch) { l.Args[0].Offset = -4 }, "argument x: offset -4 of 64 bytes"},
		{func(l *ir.Launch) { l.Args[0].Offset = 64 }, ""},
		{func(l *ir.Launch) { l.Args[0].Slot = 1 }, "argument x: it is y too, and not aliased"},
		{func(l *ir.Launch) { l.Args[0] = l.Args[2] }, "argument x: it is z too, and not aliased"},
		{func(l *ir.Launch) { l.Args[0].Slot, l.Args[0].Offset = 1, 32 }, ""},
		{func(l *ir.Launch) { l.Args[0].Slot, l.Kernel.Params[0].Aliased = 1, true }, ""},
		{func(l *ir.Launch) { l.Args[0].Slot, l.Kernel.Params[2].Access = 1, ir.Read }, ""},
		{func(l *ir.Launch) { l.Grid[2] = 1 << 31 }, "grid [1 1 2147483648]"},
	} {
		l := launch()
		c.change(&l)
		err := ir.Check(l, []int64{64, 64, 64}, ir.Limits{})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

// TestAccumulators checks that the threads of a subgroup hold each element of a matrix C once, in each order, and at the places of the
// vendors' documents.
func TestAccumulators(t *testing.T) {
	for _, c := range []struct {
		mma      ir.MMA
		subgroup int
	}{
		{ir.MMA{M: 16, N: 8, K: 16}, 32}, {ir.MMA{M: 16, N: 16, K: 16}, 32}, {ir.MMA{M: 8, N: 8, K: 4}, 32}, {ir.MMA{M: 16, N: 24, K: 8}, 64},
		{ir.MMA{M: 16, N: 16, K: 16, Order: ir.Runs}, 32}, {ir.MMA{M: 16, N: 16, K: 16, Order: ir.Runs}, 64},
		{ir.MMA{M: 16, N: 16, K: 16, Order: ir.Strided}, 32}, {ir.MMA{M: 16, N: 16, K: 16, Order: ir.Strided}, 64}, {ir.MMA{M: 16, N: 8, K: 16}, 16},
	} {
		f := ir.Fragments{MMA: c.mma, Role: ir.C}
		held := map[[2]int]int{}
		for lane := range c.subgroup {
			for e := range f.Elements(c.subgroup) {
				row, col := c.mma.Accumulator(c.subgroup, lane, e)
				require.True(t, row >= 0 && row < c.mma.M && col >= 0 && col < c.mma.N, "%v of %d: lane %d has %d, %d", c.mma, c.subgroup, lane, row, col)
				held[[2]int{row, col}]++
			}
		}
		require.Len(t, held, c.mma.M*c.mma.N, "%v of %d threads", c.mma, c.subgroup)
	}
	at := func(m ir.MMA, subgroup, lane, e int) [2]int {
		row, col := m.Accumulator(subgroup, lane, e)
		return [2]int{row, col}
	}
	pairs := ir.MMA{M: 16, N: 8, K: 16} // PTX ISA, "Matrix fragments for mma.m16n8k16": row groupID + 8·(e/2), column 2·threadID_in_group + e%2
	require.Equal(t, [2]int{13/4 + 8, 13%4*2 + 1}, at(pairs, 32, 13, 3))
	runs := ir.MMA{M: 16, N: 16, K: 16, Order: ir.Runs} // CDNA3 ISA: a wave of 64 has 4 rows for each 16 threads
	require.Equal(t, [2]int{2*4 + 3, 5}, at(runs, 64, 2*16+5, 3))
	strided := ir.MMA{M: 16, N: 16, K: 16, Order: ir.Strided} // RDNA3 ISA: even rows in the lower half of a wave of 32
	require.Equal(t, [2]int{2*6 + 1, 9}, at(strided, 32, 16+9, 6))

	m := ir.MMA{M: 2, N: 3, K: 5}
	for role, want := range map[ir.Role][2]int{ir.A: {2, 5}, ir.B: {5, 3}, ir.C: {2, 3}} {
		rows, cols := ir.Fragments{MMA: m, Role: role}.Shape()
		require.Equal(t, want, [2]int{rows, cols}, "%v", role)
	}
}
