package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// TestCheckMemoryOperations checks that Check refuses operations that access, with their whole width, elements beyond an array.
func TestCheckMemoryOperations(t *testing.T) {
	mma := ir.MMA{M: 16, N: 8, K: 16, Type: dtype.F16}
	type kit struct {
		*bench
		m       ir.Mem // 128 of f32
		n       ir.Mem // 128 of i32
		half    ir.Mem // 16 rows of 16
		a, b, c ir.Frag
	}
	four := func(k kit, plus int) ir.Value { return k.Add(k.Mul(k.Thread(), k.Int(4)), k.Int(plus)) }
	for _, c := range []struct {
		name  string
		build func(k kit)
		want  string
	}{
		{"copy to shared memory", func(k kit) { k.AsyncCopy(k.m, k.Thread(), k.x, k.id(), 1) }, "index %5 is 0 to 1023, and x has 1000 elements"},
		{"copy beyond shared memory", func(k kit) { k.AsyncCopy(k.m, k.Add(k.Thread(), k.Int(1)), k.x, k.Thread(), 1) }, "is 1 to 128, and m has 128 elements"},
		{"wide copy", func(k kit) {
			k.If(k.Lt(k.Thread(), k.Int(32)), func() { k.AsyncCopy(k.m, four(k, 0), k.x, four(k, 400), 4) })
		}, ""},
		{"wide copy across the end", func(k kit) {
			k.If(k.Lt(k.Thread(), k.Int(33)), func() { k.AsyncCopy(k.m, four(k, 0), k.x, four(k, 0), 4) })
		}, "is 0 to 128, 0 modulo 4, and m has 128 elements"},
		{"wide copy from the middle", func(k kit) {
			k.If(k.Lt(k.Thread(), k.Int(32)), func() { k.AsyncCopy(k.m, four(k, 0), k.x, four(k, 2), 4) })
		}, "not known to be a multiple of 4"},
		{"wide load of shared memory", func(k kit) {
			k.If(k.Lt(k.Thread(), k.Int(32)), func() { k.Store(k.y, four(k, 0), k.SharedLoadWide(k.m, four(k, 0), 4)...) })
		}, ""},
		{"wide load from the middle of shared memory", func(k kit) {
			k.If(k.Lt(k.Thread(), k.Int(31)), func() { k.Store(k.y, four(k, 0), k.SharedLoadWide(k.m, four(k, 1), 4)...) })
		}, "not known to be a multiple of 4"},
		{"add in shared memory", func(k kit) { k.SharedAdd(k.n, k.Add(k.Thread(), k.Int(0)), k.Int(1)) }, ""},
		{"add beyond shared memory", func(k kit) { k.SharedAdd(k.n, k.Sub(k.Thread(), k.Int(1)), k.Int(1)) }, "is -1 to 126, and n has 128 elements"},
		{"loop that may overflow", func(k kit) {
			hi := k.Cast(dtype.I32, k.Load(k.x, k.Int(0)))
			k.For(k.Int(0), hi, 2, func(i ir.Value) { k.Store(k.y, k.Min(i, k.Int(9)), k.zero()) })
		}, "the variable may overflow: below -2147483648 to 2147483647, by 2"},
		{"local by data", func(k kit) {
			l := k.Local("l", dtype.I32, 4)
			k.Set(l, k.And(k.Cast(dtype.I32, k.Load(k.x, k.Int(0))), k.Int(3)), k.Int(1))
		}, "is not made of constants and variables of unrolled loops"},
		{"unrolled sum", func(k kit) {
			l := k.Local("l", dtype.I32, 4)
			k.Unroll(2, func(i ir.Value) { k.Unroll(2, func(j ir.Value) { k.Set(l, k.Add(k.Mul(i, k.Int(2)), j), k.Int(1)) }) })
		}, ""},
		{"element of a fragment", func(k kit) { k.Store(k.y, k.Thread(), k.FragGet(k.c, k.Int(2), 0)) }, "index %2 is 2, and c has 2 elements"},
		{"element set in a fragment", func(k kit) { k.FragSet(k.c, k.Int(-1), 0, k.zero()) }, "is -1, and c has 2 elements"},
		{"product of fragments", func(k kit) { k.FragMMA(k.c, k.Int(1), k.a, k.Int(1), k.b, k.Int(2)) }, "and b has 2 elements"},
		{"product of the first fragments", func(k kit) { k.FragMMA(k.c, k.Int(0), k.a, k.Int(0), k.b, k.Int(0)) }, ""},
		{"product to a fragment that is not there", func(k kit) { k.FragMMA(k.c, k.Int(3), k.a, k.Int(1), k.b, k.Int(1)) }, "and c has 2 elements"},
		{"store of a fragment", func(k kit) { k.FragStore(k.c, k.Int(0), k.m, k.Int(0), k.Int(8)) }, ""},
		{"store beyond shared memory", func(k kit) { k.FragStore(k.c, k.Int(0), k.m, k.Int(1), k.Int(8)) }, "16 rows of 8 from 1, 8 apart, and m has 128 elements"},
		{"two fragments at a time", func(k kit) { k.FragLoadWide(k.b, k.Int(0), 2, k.half, k.Int(0), k.Int(16), false) }, ""},
		{"two fragments, the second beyond", func(k kit) { k.FragLoadWide(k.b, k.Int(1), 2, k.half, k.Int(0), k.Int(16), false) }, "and b has 1 elements"},
		{"two fragments of narrow rows", func(k kit) { k.FragLoadWide(k.b, k.Int(0), 2, k.half, k.Int(8), k.Int(16), false) }, "16 rows of 16 from 8, 16 apart"},
		{"transposed fragment", func(k kit) { k.FragLoad(k.b, k.Int(0), k.half, k.Int(128), k.Int(16), true) }, ""},
		{"rows that run backwards", func(k kit) {
			k.FragLoad(k.b, k.Int(0), k.half, k.Int(0), k.Mul(k.Sub(k.Block(0), k.Int(1)), k.Int(8)), false)
		}, "-8 to 48"},
		{"fill by threads", func(k kit) { k.FragFill(k.c, k.Int(0), k.Cast(dtype.F32, k.Lane())) }, "differs within the subgroup"},
		{"store by threads", func(k kit) { k.FragStore(k.c, k.Int(0), k.m, k.Min(k.Lane(), k.Int(0)), k.Int(8)) }, ""},
		{"lane of a sum", func(k kit) { k.Store(k.y, k.Thread(), k.ShuffleFrom(k.zero(), k.Add(k.Lane(), k.Int(1)))) }, "lane 1 to 32 of 32"},
		{"shuffled barrier", func(k kit) {
			some := k.ShuffleFrom(k.Load(k.x, k.Thread()), k.Int(0)) // the same in a subgroup, not in the block
			k.If(k.Lt(some, k.zero()), func() { k.SubgroupBarrier() })
		}, ""},
		{"shuffled barrier of the block", func(k kit) {
			some := k.ShuffleFrom(k.Load(k.x, k.Thread()), k.Int(0))
			k.If(k.Lt(some, k.zero()), func() { k.Barrier() })
		}, "not all threads of the block"},
		{"barrier after an atomic", func(k kit) { k.If(k.Eq(k.SharedAdd(k.n, k.Int(0), k.Int(1)), k.Int(0)), func() { k.Barrier() }) }, "not all threads of the block"},
		{"barrier of an even loop", func(k kit) { k.For(k.Lane(), k.Int(128), 32, func(ir.Value) { k.SubgroupBarrier() }) }, ""},
		{"barrier of a masked thread", func(k kit) {
			k.If(k.Eq(k.And(k.Thread(), k.Int(96)), k.Int(32)), func() { k.SubgroupBarrier() })
		}, ""},
		{"barrier of a badly masked thread", func(k kit) {
			k.If(k.Eq(k.And(k.Thread(), k.Int(112)), k.Int(32)), func() { k.SubgroupBarrier() })
		}, "not all threads of the subgroup"},
		{"barrier of the last subgroups", func(k kit) { k.If(k.Lt(k.Int(31), k.Thread()), func() { k.SubgroupBarrier() }) }, ""},
		{"barrier of more than the last subgroups", func(k kit) { k.If(k.Lt(k.Int(30), k.Thread()), func() { k.SubgroupBarrier() }) }, "not all threads of the subgroup"},
		{"barrier up to a subgroup", func(k kit) { k.If(k.Le(k.Thread(), k.Int(63)), func() { k.SubgroupBarrier() }) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, check(func(b *bench) {
				c.build(kit{b, b.Shared("m", dtype.F32, 128), b.Shared("n", dtype.I32, 128), b.Shared("half", dtype.F16, 256),
					b.Fragments("a", mma, ir.A, 2), b.Fragments("b", mma, ir.B, 2), b.Fragments("c", mma, ir.C, 2)})
			}, nil), c.want)
		})
	}
	odd := func(subgroup int, build func(b *bench)) error {
		return check(func(b *bench) { b.SetSubgroup(subgroup); build(b) }, nil)
	}
	require.ErrorContains(t, odd(256, func(b *bench) { b.SubgroupBarrier() }), "128 threads are not whole subgroups of 256")
	require.ErrorContains(t, odd(64, func(b *bench) { b.Ballot(b.Lt(b.Thread(), b.Int(3))) }), "subgroups of 64")
}
