package ir_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// bench builds a kernel with two buffers of 1000 elements, x to read and y to read and write, and the scalar n, which is 1000.
type bench struct {
	*ir.Builder
	x, y ir.Buf
	n    ir.Value
}

const elements = 1000

func check(build func(b *bench), change func(l *ir.Launch)) error {
	b := &bench{Builder: ir.New("test", 128)}
	b.x, b.y = b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Read|ir.Write)
	b.n = b.Scalar("n", dtype.I32)
	b.SetSubgroup(32)
	build(b)
	l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{8, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Bits: elements}}}
	if change != nil {
		change(&l)
	}
	return ir.Check(l, []int64{4 * elements, 4 * elements}, ir.Limits{})
}

// id returns the number of the thread in the grid.
func (b *bench) id() ir.Value { return b.Add(b.Mul(b.Block(0), b.Int(128)), b.Thread()) }

func (b *bench) copy(to, from ir.Value) { b.Store(b.y, to, b.Load(b.x, from)) }

func (b *bench) zero() ir.Value { return b.Float(dtype.F32, 0) }

func TestCheckBounds(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *bench)
		want  string // in the error, "" for none
	}{
		{"guard", func(b *bench) { i := b.id(); b.If(b.Lt(i, b.n), func() { b.copy(i, i) }) }, ""},
		{"no guard", func(b *bench) { b.copy(b.id(), b.id()) }, "index %5 is 0 to 1023, and x has 1000 elements"},
		{"off by one", func(b *bench) { i := b.id(); b.If(b.Le(i, b.n), func() { b.copy(i, i) }) }, "index %6 is 0 to 1000, and x has 1000"},
		{"guard turned round", func(b *bench) { i := b.id(); b.If(b.Lt(b.n, i), func() { b.copy(i, i) }) }, "1001 to 1023"},
		{"else", func(b *bench) {
			i := b.id()
			b.IfElse(b.Le(b.n, i), func() { b.Store(b.y, b.Int(0), b.zero()) }, func() { b.copy(i, i) })
		}, ""},
		{"wrong branch", func(b *bench) {
			i := b.id()
			b.IfElse(b.Lt(i, b.n), func() {}, func() { b.copy(i, i) })
		}, "1000 to 1023"},
		{"and", func(b *bench) {
			i := b.Sub(b.id(), b.Int(7))
			b.If(b.And(b.Le(b.Int(0), i), b.Lt(i, b.n)), func() { b.copy(i, i) })
		}, ""},
		{"half of and", func(b *bench) {
			i := b.Sub(b.id(), b.Int(7))
			b.If(b.Lt(i, b.n), func() { b.copy(i, i) })
		}, "-7 to 999"},
		{"or", func(b *bench) {
			i := b.Sub(b.id(), b.Int(7))
			b.IfElse(b.Or(b.Lt(i, b.Int(0)), b.Le(b.n, i)), func() {}, func() { b.copy(i, i) })
		}, ""},
		{"or, and one side cannot be", func(b *bench) {
			i := b.Sub(b.id(), b.Int(7))
			b.If(b.Le(b.Int(0), i), func() {
				b.If(b.Or(b.Lt(i, b.Int(0)), b.Lt(i, b.n)), func() { b.copy(i, i) })
			})
		}, ""},
		{"or, and either side can be", func(b *bench) {
			i := b.Sub(b.id(), b.Int(7))
			b.If(b.Or(b.Lt(i, b.Int(0)), b.Lt(i, b.n)), func() { b.copy(i, i) })
		}, "-7 to 1016"},
		{"not", func(b *bench) { i := b.id(); b.If(b.Unary(ir.Not, b.Le(b.n, i)), func() { b.copy(i, i) }) }, ""},
		{"equal", func(b *bench) { i := b.id(); b.If(b.Eq(i, b.Int(999)), func() { b.copy(i, i) }) }, ""},
		{"equal to what is not there", func(b *bench) { i := b.id(); b.If(b.Eq(i, b.Int(1000)), func() { b.copy(i, i) }) }, "is 1000"},
		{"guard of a sum", func(b *bench) {
			i := b.Mul(b.id(), b.Int(3))
			b.If(b.Lt(b.Add(i, b.Int(2)), b.n), func() { b.copy(i, b.Add(i, b.Int(2))) })
		}, ""},
		{"guard of a sum, too weak", func(b *bench) {
			i := b.Mul(b.id(), b.Int(3))
			b.If(b.Lt(b.Add(i, b.Int(2)), b.n), func() { b.copy(i, b.Add(i, b.Int(4))) })
		}, "4 to 1000, 1 modulo 3"},
		{"clamped by min", func(b *bench) { i := b.Min(b.id(), b.Sub(b.n, b.Int(1))); b.copy(i, i) }, ""},
		{"clamped by select", func(b *bench) { i := b.Select(b.Lt(b.id(), b.n), b.id(), b.Int(0)); b.copy(i, i) }, ""},
		{"clamped to n", func(b *bench) { i := b.Min(b.id(), b.n); b.copy(i, i) }, "0 to 1000"},
		{"data", func(b *bench) {
			i := b.Cast(dtype.I32, b.Load(b.x, b.Thread()))
			b.copy(b.Thread(), i)
		}, "x has 1000"},
		{"data, clamped", func(b *bench) {
			i := b.Cast(dtype.I32, b.Load(b.x, b.Thread()))
			b.copy(b.Thread(), b.Max(b.Int(0), b.Min(i, b.Int(999))))
		}, ""},
		{"data, clamped on one side", func(b *bench) {
			i := b.Cast(dtype.I32, b.Load(b.x, b.Thread()))
			b.copy(b.Thread(), b.Min(i, b.Int(999)))
		}, "-2147483648 to 999"},
		{"data, guarded as unsigned", func(b *bench) {
			i := b.Cast(dtype.I32, b.Load(b.x, b.Thread()))
			b.If(b.Lt(b.Cast(dtype.U32, i), b.Cast(dtype.U32, b.n)), func() { b.copy(b.Thread(), i) })
		}, ""},
		{"two dimensions", func(b *bench) { // 8 rows of 125
			i := b.Thread()
			b.If(b.Lt(i, b.Int(125)), func() {
				at := b.Add(b.Mul(b.Block(0), b.Int(125)), i)
				b.copy(b.Add(b.Mul(b.Rem(at, b.Int(125)), b.Int(8)), b.Div(at, b.Int(125))), at)
			})
		}, ""},
		{"two dimensions, strides exchanged", func(b *bench) {
			i := b.Thread()
			b.If(b.Lt(i, b.Int(125)), func() {
				at := b.Add(b.Mul(b.Block(0), b.Int(125)), i)
				b.copy(b.Add(b.Mul(b.Rem(at, b.Int(125)), b.Int(8)), b.Div(at, b.Int(124))), at)
			})
		}, "0 to 1000"},
		{"remainder by product", func(b *bench) {
			i := b.id()
			q := b.Div(i, b.Int(10))
			b.copy(b.Sub(i, b.Mul(q, b.Int(10))), q)
		}, ""},
		{"loop", func(b *bench) { b.For(b.Thread(), b.n, 128, func(i ir.Value) { b.copy(i, i) }) }, ""},
		{"loop, one more", func(b *bench) { b.For(b.Thread(), b.Add(b.n, b.Int(1)), 128, func(i ir.Value) { b.copy(i, i) }) }, "0 to 1000"},
		{"loop over a chunk", func(b *bench) {
			lo := b.Mul(b.Block(0), b.Int(130))
			b.For(b.Add(lo, b.Thread()), b.Min(b.Add(lo, b.Int(130)), b.n), 128, func(i ir.Value) { b.copy(i, i) })
		}, ""},
		{"loop that is never run", func(b *bench) { b.For(b.n, b.Int(0), 1, func(i ir.Value) { b.copy(i, i) }) }, ""},
		{"swizzle", func(b *bench) { i := b.Binary(ir.Xor, b.Thread(), b.Int(5)); b.copy(i, i) }, ""},
		{"swizzle, too far", func(b *bench) { i := b.Binary(ir.Xor, b.id(), b.Int(5)); b.copy(i, i) }, "0 to 1023"},
		{"while", func(b *bench) {
			l := b.Local("l", dtype.I32, 1)
			b.Put(l, b.Thread())
			b.While(func() ir.Value { return b.Lt(b.At(l), b.n) }, func() {
				i := b.At(l)
				b.copy(i, i)
				b.Put(l, b.Add(i, b.Int(128)))
			})
		}, "-2147483648 to 2147483647"}, // nothing is known of a local array
		{"shifts", func(b *bench) {
			i := b.Binary(ir.Shr, b.id(), b.Int(1))
			b.copy(i, b.Binary(ir.Shl, b.Binary(ir.Shr, i, b.Int(1)), b.Int(1)))
		}, ""},
		{"shared", func(b *bench) {
			m := b.Shared("m", dtype.F32, 128)
			b.SharedStore(m, b.Thread(), b.zero())
		}, ""},
		{"shared, too short", func(b *bench) {
			m := b.Shared("m", dtype.F32, 127)
			b.SharedStore(m, b.Thread(), b.zero())
		}, "index %1 is 0 to 127, and m has 127 elements"},
		{"local", func(b *bench) {
			l := b.Local("l", dtype.F32, 4)
			b.Unroll(4, func(i ir.Value) { b.Set(l, i, b.zero()) })
			b.Store(b.y, b.Thread(), b.Get(l, b.Int(3)))
		}, ""},
		{"local, too short", func(b *bench) {
			l := b.Local("l", dtype.F32, 4)
			b.Unroll(5, func(i ir.Value) { b.Set(l, i, b.zero()) })
		}, "0 to 4, and l has 4"},
		{"local, not unrolled", func(b *bench) {
			l := b.Local("l", dtype.F32, 4)
			b.For(b.Int(0), b.Int(4), 1, func(i ir.Value) { b.Set(l, i, b.zero()) })
		}, "not made of constants and variables of unrolled loops"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, check(c.build, nil), c.want) })
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
	} else {
		require.ErrorContains(t, err, want)
	}
}

// TestCheckWords checks that hardware whose memory is words accepts only buffers and shared arrays of words, at aligned offsets.
func TestCheckWords(t *testing.T) {
	launch := func(d, shared dtype.DType, offset int64) ir.Launch {
		b := ir.New("test", 32)
		y, m := b.Buffer("y", d, ir.Write), b.Shared("m", shared, 32)
		b.SharedStore(m, b.Thread(), b.Const(shared, 1))
		b.Store(y, b.Thread(), b.Const(d, 1))
		return ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Offset: offset}}}
	}
	limits := ir.Limits{Words: true, Align: 256}
	for _, c := range []struct {
		d, shared dtype.DType
		offset    int64
		want      string
	}{
		{dtype.U32, dtype.F32, 256, ""},
		{dtype.U8, dtype.F32, 0, "buffer y is of u8, which is no word"},
		{dtype.I64, dtype.F32, 0, "buffer y is of i64"},
		{dtype.U32, dtype.Bool, 0, "shared array m is of bool"},
		{dtype.U32, dtype.F32, 128, "offset 128 is no multiple of 256"},
	} {
		err := ir.Check(launch(c.d, c.shared, c.offset), []int64{1024}, limits)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

func TestCheckWide(t *testing.T) {
	wide := func(times, plus, n int) func(b *bench) {
		return func(b *bench) {
			i := b.Add(b.Mul(b.id(), b.Int(times)), b.Int(plus))
			b.If(b.Lt(i, b.Int(n)), func() { b.Store(b.y, i, b.LoadWide(b.x, i, 4)...) })
		}
	}
	for _, c := range []struct {
		build  func(b *bench)
		change func(l *ir.Launch)
		want   string
	}{
		{wide(4, 0, 1000), nil, ""},
		{wide(12, 8, 1000), nil, ""},
		{wide(2, 0, 900), nil, "not known to be a multiple of 4"},
		{wide(4, 2, 900), nil, "not known to be a multiple of 4"},
		{wide(4, 0, 1001), nil, "0 to 1000, 0 modulo 4, and x has 1000 elements"},
		{wide(4, 0, 900), func(l *ir.Launch) { l.Args[0].Offset = 8 }, "x begins at byte 8, which is no multiple of 16"},
		{wide(4, 0, 900), func(l *ir.Launch) { l.Args[0].Offset = 16 }, ""},
		{func(b *bench) { // a swizzle that keeps the lowest bits
			i := b.Binary(ir.Xor, b.Mul(b.Thread(), b.Int(4)), b.Int(28))
			b.Store(b.y, i, b.LoadWide(b.x, i, 4)...)
		}, nil, ""},
		{func(b *bench) {
			b.For(b.Mul(b.Thread(), b.Int(4)), b.n, 512, func(i ir.Value) { b.Store(b.y, i, b.LoadWide(b.x, i, 4)...) })
		}, nil, ""},
		{func(b *bench) {
			b.For(b.Mul(b.Thread(), b.Int(4)), b.Int(900), 510, func(i ir.Value) { b.Store(b.y, i, b.LoadWide(b.x, i, 4)...) })
		}, nil, "multiple of 4"},
	} {
		expect(t, check(c.build, c.change), c.want)
	}
}

// TestCheckOverflow checks a copy of 2^31+1 elements, without the memory: indices of 32 bits may overflow, indices of 64 bits do not.
func TestCheckOverflow(t *testing.T) {
	const n = 1<<31 + 1
	launch := func(index dtype.DType, wide bool) ir.Launch {
		b := ir.New("copy", 256)
		b.Index = index
		x, y := b.Buffer("x", dtype.U8, ir.Read), b.Buffer("y", dtype.U8, ir.Write)
		at := b.Add(b.Mul(b.Block(0), b.Int(256)), b.Thread())
		count := b.Scalar("n", dtype.I64)
		if wide {
			b.If(b.Lt(b.Cast(dtype.I64, at), count), func() { b.Store(y, at, b.Load(x, at)) })
		} else {
			at = b.Max(at, b.Int(0)) // inside the buffer, and still another element
			b.Store(y, at, b.Load(x, at))
		}
		return ir.Launch{Kernel: b.Kernel(), Grid: [3]int{n/256 + 1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Bits: n}}}
	}
	bytes := []int64{n, n}
	require.NoError(t, ir.Check(launch(dtype.I64, true), bytes, ir.Limits{}))
	require.ErrorContains(t, ir.Check(launch(dtype.I32, true), bytes, ir.Limits{}), "may overflow: %3 = mul.i32 %1, %2")
	require.ErrorContains(t, ir.Check(launch(dtype.I32, false), bytes, ir.Limits{}), "may overflow: %3 = mul.i32 %1, %2")

	loop := func(hi int) error {
		return check(func(b *bench) {
			b.For(b.Thread(), b.Scalar("m", dtype.I32), 1<<10, func(i ir.Value) { b.Store(b.y, b.Min(i, b.Int(9)), b.zero()) })
		}, func(l *ir.Launch) { l.Args = append(l.Args, ir.Arg{Bits: uint64(hi)}) })
	}
	require.NoError(t, loop(1<<31-1<<10))
	require.ErrorContains(t, loop(1<<31-1), "the variable may overflow")
}

func TestCheckFlow(t *testing.T) {
	row := func(b *bench) ir.Value { return b.Div(b.id(), b.Int(32)) }
	for _, c := range []struct {
		name  string
		build func(b *bench)
		want  string
	}{
		{"barrier", func(b *bench) { b.Barrier() }, ""},
		{"barrier of some threads", func(b *bench) { b.If(b.Lt(b.Thread(), b.Int(64)), b.Barrier) }, "barrier: not all threads of the block"},
		{"barrier of some blocks", func(b *bench) { b.If(b.Lt(b.Block(0), b.Int(3)), b.Barrier) }, ""},
		{"barrier where all threads come", func(b *bench) { b.If(b.Lt(b.Thread(), b.Int(128)), b.Barrier) }, ""},
		{"barrier by data", func(b *bench) { b.If(b.Lt(b.Load(b.y, b.Int(0)), b.zero()), b.Barrier) }, "not all threads of the block"},
		{"barrier by data that stays", func(b *bench) { b.If(b.Lt(b.Load(b.x, b.Int(0)), b.zero()), b.Barrier) }, ""},
		{"barrier by data of each thread", func(b *bench) { b.If(b.Lt(b.Load(b.x, b.Thread()), b.zero()), b.Barrier) }, "not all threads"},
		{"barrier in a loop", func(b *bench) { b.For(b.Int(0), b.n, 7, func(ir.Value) { b.Barrier() }) }, ""},
		{"barrier in a loop of unequal turns", func(b *bench) { b.For(b.Thread(), b.n, 128, func(ir.Value) { b.Barrier() }) }, "not all threads"},
		{"barrier in a loop of equal turns", func(b *bench) { b.For(b.Thread(), b.Int(1024), 128, func(ir.Value) { b.Barrier() }) }, ""},
		{"barrier by a local", func(b *bench) {
			l := b.Local("l", dtype.I32, 1)
			b.Put(l, b.Int(0))
			b.While(func() ir.Value { return b.Lt(b.At(l), b.Int(5)) }, func() { b.Barrier(); b.Put(l, b.Add(b.At(l), b.Int(1))) })
		}, ""},
		{"barrier by a local that some threads change", func(b *bench) {
			l := b.Local("l", dtype.I32, 1)
			b.Put(l, b.Int(0))
			b.While(func() ir.Value { return b.Lt(b.At(l), b.Int(5)) }, func() {
				b.Barrier()
				b.If(b.Lt(b.Thread(), b.Int(3)), func() { b.Put(l, b.Add(b.At(l), b.Int(1))) })
			})
		}, "not all threads"},
		{"wait of some threads", func(b *bench) { b.If(b.Lt(b.Thread(), b.Int(64)), func() { b.AsyncWait(0) }) }, "async.wait 0: not all threads"},
		{"shuffle of a subgroup", func(b *bench) {
			b.If(b.Lt(b.Thread(), b.Int(32)), func() { b.Store(b.y, b.Thread(), b.ShuffleXor(b.zero(), 1)) })
		}, ""},
		{"shuffle of half a subgroup", func(b *bench) {
			b.If(b.Lt(b.Thread(), b.Int(48)), func() { b.Store(b.y, b.Thread(), b.ShuffleXor(b.zero(), 1)) })
		}, "not all threads of the subgroup"},
		{"shuffle by row", func(b *bench) {
			b.If(b.Lt(row(b), b.Int(30)), func() { b.Store(b.y, row(b), b.ShuffleXor(b.zero(), 1)) })
		}, ""},
		{"shuffle by row of another width", func(b *bench) {
			r := b.Div(b.id(), b.Int(16))
			b.If(b.Lt(r, b.Int(30)), func() { b.Store(b.y, r, b.ShuffleXor(b.zero(), 1)) })
		}, "not all threads of the subgroup"},
		{"shuffle in a loop over a row", func(b *bench) {
			b.For(b.Lane(), b.Int(64), 32, func(i ir.Value) { b.Store(b.y, i, b.ShuffleXor(b.zero(), 1)) })
		}, ""},
		{"shuffle in a loop over part of a row", func(b *bench) {
			b.For(b.Lane(), b.Int(65), 32, func(i ir.Value) { b.Store(b.y, i, b.ShuffleXor(b.zero(), 1)) })
		}, "not all threads of the subgroup"},
		{"lane that is not there", func(b *bench) { b.Store(b.y, b.Thread(), b.ShuffleFrom(b.zero(), b.Thread())) }, "lane 0 to 127 of 32"},
		{"ballot is the same in the subgroup", func(b *bench) {
			v := b.Ballot(b.Lt(b.Load(b.x, b.Thread()), b.zero()))
			b.If(b.Ne(v, b.Const(dtype.U32, 0)), b.SubgroupBarrier)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, check(c.build, nil), c.want) })
	}
	err := check(func(b *bench) { b.SetSubgroup(0); b.SubgroupBarrier() }, nil)
	require.ErrorContains(t, err, "does not say the size of subgroups")
}

func TestCheckFragments(t *testing.T) {
	mma := ir.MMA{M: 16, N: 8, K: 16, Type: dtype.F16}
	type kit struct {
		*bench
		a, b, c ir.Frag
		m       ir.Mem // 32 rows of 24, 16 of them used
	}
	for _, c := range []struct {
		name  string
		build func(k kit)
		want  string
	}{
		{"loads", func(k kit) {
			at := k.Mul(k.Div(k.Thread(), k.Int(64)), k.Int(16*24)) // two subgroups each
			k.FragLoad(k.a, k.Int(1), k.m, at, k.Int(24), false)
			k.FragLoad(k.b, k.Int(0), k.m, k.Add(at, k.Int(8)), k.Int(24), true)
		}, ""},
		{"a matrix too far", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Int(17*24), k.Int(24), false) }, "16 rows of 16 from 408, 24 apart, and m has 768 elements"},
		{"stride that is too large", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Int(0), k.Int(56), false) }, "56 apart"},
		{"rows that are not aligned", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Int(4), k.Int(24), false) }, "do not all begin at multiples of 8 elements"},
		{"stride that is not aligned", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Int(0), k.Int(20), false) }, "do not all begin at multiples of 8 elements"},
		{"a place of each thread", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Mul(k.Thread(), k.Int(8)), k.Int(16), false) }, "rows of 16 from 0 to 1016"},
		{"a place of each lane", func(k kit) { k.FragLoad(k.a, k.Int(0), k.m, k.Mul(k.Lane(), k.Int(8)), k.Int(16), false) }, "differs within the subgroup"},
		{"fragment that is not there", func(k kit) { k.Unroll(3, func(i ir.Value) { k.FragFill(k.c, i, k.zero()) }) }, "index %3 is 0 to 2, and c has 2 elements"},
		{"fragment of a number that is not known", func(k kit) { k.FragFill(k.c, k.Min(k.n, k.Int(1)), k.zero()) }, "not made of constants"},
		{"number of each thread", func(k kit) { k.FragFill(k.c, k.Int(0), k.Load(k.x, k.Thread())) }, "differs within the subgroup"},
		{"some threads of a subgroup", func(k kit) { k.If(k.Lt(k.Lane(), k.Int(9)), func() { k.FragFill(k.c, k.Int(0), k.zero()) }) }, "not all threads of the subgroup"},
		{"pack", func(k kit) { k.FragPack(k.a, k.Int(1), k.c, k.Int(0)) }, ""},
		{"pack beyond the end", func(k kit) { k.FragPack(k.a, k.Int(1), k.c, k.Int(1)) }, "index %1 is 1, and c has 1 elements"},
		{"pack by some threads", func(k kit) { k.If(k.Lt(k.Lane(), k.Int(9)), func() { k.FragPack(k.a, k.Int(1), k.c, k.Int(0)) }) }, "not all threads"},
	} {
		err := check(func(b *bench) {
			c.build(kit{b, b.Fragments("a", mma, ir.A, 2), b.Fragments("b", mma, ir.B, 2), b.Fragments("c", mma, ir.C, 2), b.Shared("m", dtype.F16, 32*24)})
		}, nil)
		if c.want == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.want, c.name)
		}
	}
}
