package dialect

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// sample is a kernel of the tests and the languages that cannot express it.
type sample struct {
	name    string
	kernel  *ir.Kernel
	lacking string // names of the languages that cannot
}

// samples returns kernels that together have every operation of package ir.
func samples() []sample {
	mma := ir.MMA{M: 16, N: 8, K: 16}
	half, brain := mma, mma
	half.Type, brain.Type = dtype.F16, dtype.BF16
	square := ir.MMA{M: 16, N: 16, K: 16, Type: dtype.F16, Order: ir.Strided}
	squareBrain := square
	squareBrain.Type = dtype.BF16
	quarter := mma
	quarter.Type, quarter.Order = dtype.F16, ir.Quarters
	quarterBrain := quarter
	quarterBrain.Type = dtype.BF16
	noDouble, cudaOnly, hipOnly, metalOnly := "MSL WGSL", "MSL WGSL HIP", "CUDA MSL WGSL", "CUDA HIP WGSL"
	return []sample{
		{"arithmetic_i32", arithmetic(dtype.I32), ""},
		{"arithmetic_u32", arithmetic(dtype.U32), ""},
		{"arithmetic_i64", arithmetic(dtype.I64), "WGSL"},
		{"arithmetic_u64", arithmetic(dtype.U64), "WGSL"},
		{"functions_f32", functionsOf(dtype.F32), ""},
		{"functions_f64", functionsOf(dtype.F64), noDouble},
		{"booleans", booleans(), ""},
		{"casts", casts(dtype.F32, dtype.F16, dtype.BF16, dtype.I32, dtype.I16, dtype.I8, dtype.U32, dtype.U16, dtype.U8, dtype.Bool), ""},
		{"casts_64", casts(dtype.F64, dtype.I64, dtype.U64, dtype.F32, dtype.F16, dtype.BF16, dtype.I32, dtype.U8, dtype.Bool), noDouble},
		{"constants", constants(dtype.F32, dtype.I32, dtype.U32, dtype.F16, dtype.I8, dtype.Bool), ""},
		{"constants_64", constants(dtype.F64, dtype.I64, dtype.U64), noDouble},
		{"vectors", vectors(dtype.F32, dtype.F16, dtype.BF16, dtype.I32), ""},
		{"vectors_8", vectors(dtype.I16, dtype.I8, dtype.U8, dtype.Bool), ""},
		{"vectors_64", vectors(dtype.F64, dtype.I64, dtype.U64), noDouble},
		{"reduction", reduction(), ""},
		{"atomics_32", atomics(dtype.I32, dtype.U32, dtype.F32), ""},
		{"atomics_64", atomics(dtype.I64, dtype.U64, dtype.F64), noDouble},
		{"atomics_16", atomics(dtype.F16, dtype.BF16, dtype.I16, dtype.U16, dtype.I8, dtype.U8), "MSL WGSL"},
		{"control", control(), ""},
		{"subgroups", subgroups(dtype.F32, dtype.I32, dtype.U32, dtype.F16, dtype.I8, dtype.Bool), ""},
		{"subgroups_64", subgroups(dtype.F64, dtype.I64, dtype.U64), noDouble},
		{"subgroups_long", subgroups(dtype.I64, dtype.U64), "WGSL"},
		{"async", async(), ""},
		{"fragments_f16", fragmentsOf(half, 32), cudaOnly},
		{"fragments_bf16", fragmentsOf(brain, 32), cudaOnly},
		{"square_fragments_f16", fragmentsOf(square, 32), hipOnly},
		{"square_fragments_bf16", fragmentsOf(squareBrain, 32), hipOnly},
		{"quarter_fragments_f16", fragmentsOf(quarter, 32), metalOnly},
		{"quarter_fragments_bf16", fragmentsOf(quarterBrain, 32), metalOnly},
		{"large_shared", largeShared(), "MSL WGSL"},
		{"batched", batched(), "MSL WGSL"},
	}
}

var binary = []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Min, ir.Max}

func arithmetic(t dtype.DType) *ir.Kernel {
	b := ir.New("arithmetic "+t.String(), 64)
	x, y, out := b.Buffer("x", t, ir.Read), b.Buffer("y", t, ir.Read), b.Buffer("out", t, ir.Write)
	flags := b.Buffer("flags", dtype.Bool, ir.Write)
	n := b.Scalar("n", dtype.I32)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() {
		v, w := b.Load(x, i), b.Load(y, i)
		for _, o := range append(binary, ir.MulHi, ir.And, ir.Or, ir.Xor, ir.Shl, ir.Shr) {
			v = b.Binary(o, v, w)
		}
		for _, o := range []ir.Op{ir.Neg, ir.Abs, ir.Not} {
			v = b.Unary(o, v)
		}
		v = b.FMA(v, w, w)
		b.Store(out, i, v)
		for k, o := range []ir.Op{ir.Eq, ir.Ne, ir.Lt, ir.Le} {
			b.Store(flags, b.Add(b.Mul(i, b.Int(4)), b.Int(k)), b.Binary(o, v, w))
		}
	})
	return b.Kernel()
}

func functionsOf(t dtype.DType) *ir.Kernel {
	b := ir.New("functions", 64)
	x, out := b.Buffer("x", t, ir.Read), b.Buffer("out", t, ir.Write)
	i := b.Thread()
	v := b.Load(x, i)
	w := v
	for o := ir.Exp; o <= ir.Round; o++ {
		v = b.Unary(o, v)
	}
	for _, o := range append(binary, ir.Pow, ir.Atan2, ir.Maximum, ir.Minimum) {
		v = b.Binary(o, v, w)
	}
	v = b.FMA(b.Unary(ir.Neg, v), b.Unary(ir.Abs, w), w)
	v = b.Select(b.Ne(v, v), b.Float(t, 1), v)
	v = b.Select(b.Eq(w, w), v, b.Select(b.Lt(v, w), v, b.Select(b.Le(w, v), w, v)))
	b.Store(out, i, v)
	return b.Kernel()
}

func booleans() *ir.Kernel {
	b := ir.New("booleans", 64)
	x, out := b.Buffer("x", dtype.Bool, ir.Read), b.Buffer("out", dtype.Bool, ir.Write)
	flag := b.Scalar("flag", dtype.Bool)
	i := b.Thread()
	v := b.Load(x, i)
	for _, o := range []ir.Op{ir.And, ir.Or, ir.Xor, ir.Eq, ir.Ne, ir.Lt, ir.Le} {
		v = b.Binary(o, v, flag)
	}
	v = b.Select(v, b.Unary(ir.Not, v), flag)
	b.Store(out, i, v)
	return b.Kernel()
}

func casts(types ...dtype.DType) *ir.Kernel {
	b := ir.New("casts", 64)
	var in, out []ir.Buf
	for _, t := range types {
		in, out = append(in, b.Buffer("from "+t.String(), t, ir.Read)), append(out, b.Buffer("to "+t.String(), t, ir.Write))
	}
	i := b.Thread()
	for _, p := range in {
		v := b.Load(p, i)
		for k, q := range out {
			b.Store(q, i, b.Cast(types[k], v))
		}
	}
	bits := map[dtype.DType]dtype.DType{
		dtype.F64: dtype.U64, dtype.I64: dtype.F64, dtype.U64: dtype.I64, dtype.F32: dtype.U32, dtype.I32: dtype.F32, dtype.U32: dtype.I32,
		dtype.F16: dtype.U16, dtype.U16: dtype.I16, dtype.I16: dtype.BF16, dtype.I8: dtype.U8, dtype.U8: dtype.I8,
	}
	for k, p := range in {
		for l, q := range out {
			if bits[types[k]] == types[l] {
				b.Store(q, i, b.Bitcast(types[l], b.Load(p, i)))
			}
		}
	}
	return b.Kernel()
}

func constants(types ...dtype.DType) *ir.Kernel {
	b := ir.New("constants", 64)
	i := b.Thread()
	for _, t := range types {
		p := b.Buffer(t.String(), t, ir.Write)
		values := []uint64{0, 1, ^uint64(0), 1 << 63, 0xffffffff80000000, 0x3c00}
		switch t {
		case dtype.F32:
			values = nil
			for _, f := range []float64{0, math.Copysign(0, -1), 1, -2.5, 1e30, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat32, math.MaxFloat32} {
				values = append(values, uint64(math.Float32bits(float32(f))))
			}
		case dtype.F64:
			for _, f := range []float64{math.Copysign(0, -1), 1, -2.5, 1e300, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64} {
				values = append(values, math.Float64bits(f))
			}
		case dtype.Bool:
			values = []uint64{0, 1}
		}
		for k, v := range values {
			b.Store(p, b.Add(i, b.Int(64*k)), b.Const(t, v))
		}
	}
	return b.Kernel()
}

func vectors(types ...dtype.DType) *ir.Kernel {
	b := ir.New("vectors", 64)
	i := b.Thread()
	for _, t := range types {
		in, out := b.Buffer("in "+t.String(), t, ir.Read), b.Buffer("out "+t.String(), t, ir.Write)
		tile := b.Shared("tile "+t.String(), t, 64*16)
		for _, bytes := range []int{2, 4, 8, 16} {
			n := bytes / t.Size()
			if n < 2 {
				continue
			}
			at := b.Mul(i, b.Int(n))
			b.SharedStore(tile, at, b.LoadWide(in, at, n)...)
			b.Barrier()
			b.Store(out, at, b.SharedLoadWide(tile, at, n)...)
		}
		b.Store(out, i, b.SharedLoad(tile, b.Sub(b.Int(63), i)))
		b.SharedStore(tile, i, b.Load(in, i))
	}
	return b.Kernel()
}

// reduction returns a kernel that sums rows, with one block for each row.
func reduction() *ir.Kernel {
	b := ir.New("row sum", 128)
	b.SetBlocks(4)
	x, out := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
	n := b.Scalar("n", dtype.I32)
	scratch := b.Shared("partial", dtype.F32, 4)
	acc := b.Local("acc", dtype.F32, 1)
	b.Put(acc, b.Float(dtype.F32, 0))
	row := b.Mul(b.Block(1), n)
	b.For(b.Thread(), n, 128, func(i ir.Value) { b.Put(acc, b.Add(b.At(acc), b.Load(x, b.Add(row, i)))) })
	v := b.At(acc)
	for m := 16; m > 0; m /= 2 {
		v = b.Add(v, b.ShuffleXor(v, m))
	}
	b.If(b.Eq(b.Lane(), b.Int(0)), func() { b.SharedStore(scratch, b.Div(b.Thread(), b.Int(32)), v) })
	b.Barrier()
	b.If(b.Eq(b.Thread(), b.Int(0)), func() {
		s := b.SharedLoad(scratch, b.Int(0))
		for k := 1; k < 4; k++ {
			s = b.Add(s, b.SharedLoad(scratch, b.Int(k)))
		}
		b.Store(out, b.Block(1), s)
	})
	return b.Kernel()
}

func atomics(types ...dtype.DType) *ir.Kernel {
	b := ir.New("atomics", 64)
	i := b.Thread()
	for _, t := range types {
		p, q := b.Buffer("at "+t.String(), t, ir.Read|ir.Write|ir.Atomic), b.Buffer("was "+t.String(), t, ir.Write)
		for k, o := range []ir.Op{ir.AtomicAdd, ir.AtomicMin, ir.AtomicMax} {
			b.Store(q, b.Add(i, b.Int(64*k)), b.Atomic(o, p, b.Int(k), b.Load(p, i)))
		}
		if t.Size() >= 4 {
			v := b.Load(p, i)
			b.Store(q, i, b.AtomicSwap(p, b.Int(3), v, v))
			m := b.Shared("counts "+t.String(), t, 64)
			b.SharedStore(m, i, v)
			b.Barrier()
			b.Store(q, i, b.SharedAdd(m, b.Int(0), v))
		}
	}
	return b.Kernel()
}

func control() *ir.Kernel {
	b := ir.New("control", 64)
	x, out := b.Buffer("x", dtype.I32, ir.Read), b.Buffer("out", dtype.I32, ir.Read|ir.Write)
	state := b.Local("state", dtype.I32, 4)
	i := b.Thread()
	b.Unroll(4, func(k ir.Value) { b.Set(state, k, b.Load(x, b.Add(b.Mul(i, b.Int(4)), k))) })
	b.While(func() ir.Value { return b.Lt(b.Int(0), b.Get(state, b.Int(0))) }, func() {
		b.Unroll(4, func(k ir.Value) { b.Set(state, k, b.Sub(b.Get(state, k), b.Int(1))) })
	})
	b.IfElse(b.Lt(i, b.Mul(b.Blocks(2), b.Block(2))), func() { b.Store(out, i, b.Get(state, b.Int(1))) }, func() {
		b.For(b.Int(0), b.Int(64), 2, func(k ir.Value) { b.Store(out, i, b.Add(b.Load(out, i), k)) })
	})
	return b.Kernel()
}

func subgroups(types ...dtype.DType) *ir.Kernel {
	b := ir.New("subgroups", 64)
	i := b.Thread()
	votes := b.Buffer("votes", dtype.U32, ir.Write)
	for _, t := range types {
		in, out := b.Buffer("in "+t.String(), t, ir.Read), b.Buffer("out "+t.String(), t, ir.Write)
		v := b.Load(in, i)
		b.Store(out, i, b.ShuffleFrom(b.ShuffleUp(b.ShuffleXor(v, 1), 2), b.Lane()))
		b.SubgroupBarrier()
	}
	b.Store(votes, i, b.Unary(ir.PopCount, b.Ballot(b.Lt(b.Lane(), b.Int(7)))))
	return b.Kernel()
}

func async() *ir.Kernel {
	b := ir.New("async", 64)
	i := b.Thread()
	in, out := b.Buffer("in", dtype.F32, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
	tile := b.Shared("tile", dtype.F32, 64*7)
	b.AsyncCopy(tile, i, in, i, 1)
	b.AsyncCommit()
	b.AsyncCopy(tile, b.Add(b.Int(64), b.Mul(i, b.Int(2))), in, b.Mul(i, b.Int(2)), 2)
	b.AsyncCopy(tile, b.Add(b.Int(192), b.Mul(i, b.Int(4))), in, b.Mul(i, b.Int(4)), 4)
	b.AsyncCommit()
	b.AsyncWait(1)
	b.Barrier()
	b.Store(out, i, b.SharedLoad(tile, b.Sub(b.Int(63), i)))
	b.AsyncWait(0)
	b.Barrier()
	b.Store(out, i, b.SharedLoad(tile, b.Add(b.Int(256), i)))
	return b.Kernel()
}

func fragmentsOf(m ir.MMA, subgroup int) *ir.Kernel {
	b := ir.New("fragments "+m.Type.String(), subgroup)
	b.SetSubgroup(subgroup)
	x, y, out := b.Buffer("x", m.Type, ir.Read), b.Buffer("y", m.Type, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
	sx, sy, sc := b.Shared("x", m.Type, 2*m.M*m.K), b.Shared("y", m.Type, m.K*m.N), b.Shared("c", dtype.F32, m.M*m.N)
	i := b.Thread()
	for k := 0; k < m.M*m.K; k += subgroup {
		b.SharedStore(sx, b.Add(i, b.Int(k)), b.Load(x, b.Add(i, b.Int(k))))
	}
	for k := 0; k < m.K*m.N; k += subgroup {
		b.SharedStore(sy, b.Add(i, b.Int(k)), b.Load(y, b.Add(i, b.Int(k))))
	}
	b.Barrier()
	fa, fb, fc := b.Fragments("a", m, ir.A, 2), b.Fragments("b", m, ir.B, 2), b.Fragments("c", m, ir.C, 2)
	b.FragFill(fc, b.Int(0), b.Float(dtype.F32, 0))
	b.FragFill(fc, b.Int(1), b.Float(dtype.F32, 1))
	b.FragLoad(fa, b.Int(0), sx, b.Int(0), b.Int(m.K), false)
	b.FragLoad(fa, b.Int(1), sx, b.Int(0), b.Int(m.M), true)
	b.FragLoad(fb, b.Int(0), sy, b.Int(0), b.Int(m.N), false)
	b.FragLoad(fb, b.Int(1), sy, b.Int(0), b.Int(m.K), true)
	b.Unroll(2, func(k ir.Value) { b.FragMMA(fc, b.Int(0), fa, k, fb, k) })
	b.FragLoadWide(fb, b.Int(0), 2, sx, b.Int(0), b.Int(m.K), false)
	b.FragLoadWide(fb, b.Int(0), 2, sx, b.Int(0), b.Int(m.K), true)
	b.FragMMA(fc, b.Int(0), fa, b.Int(0), fb, b.Int(1))
	b.FragPack(fa, b.Int(1), fc, b.Int(0))
	n := m.M * m.N / subgroup
	b.FragSet(fc, b.Int(0), n-1, b.FragGet(fc, b.Int(0), 0))
	b.FragStore(fc, b.Int(0), sc, b.Int(0), b.Int(m.N))
	b.SubgroupBarrier()
	for k := 0; k < m.M*m.N; k += subgroup {
		b.Store(out, b.Add(i, b.Int(k)), b.SharedLoad(sc, b.Add(i, b.Int(k))))
	}
	return b.Kernel()
}

// batched returns a kernel that scales three vectors of different lengths by one number. A parameter that all members share is a plain one.
func batched() *ir.Kernel {
	b := ir.New("batched", 64)
	x, y, flags := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write), b.Buffer("flags", dtype.Bool, ir.Write)
	n, scale := b.Scalar("n", dtype.I32), b.Buffer("scale", dtype.F32, ir.Read)
	half := b.Scalar("half", dtype.F16)
	b.For(b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread()), n, 64, func(i ir.Value) {
		v := b.Mul(b.Load(x, i), b.Load(scale, b.Int(0)))
		b.Store(y, i, b.Mul(v, b.Cast(dtype.F32, half)))
		b.Store(flags, b.Int(0), b.Lt(b.Block(0), b.Blocks(0)))
	})
	k := b.Kernel()
	var ls []ir.Launch
	for m := range 3 {
		ls = append(ls, ir.Launch{Kernel: k, Grid: [3]int{m + 1, 1, 1}, Args: []ir.Arg{{Slot: 3 * m}, {Slot: 3*m + 1}, {Slot: 3*m + 2},
			{Bits: uint64(64*m + 50)}, {Slot: 9}, {Bits: uint64(m)}}})
	}
	l, _ := ir.Batch(ls)
	return l.Kernel
}

// largeShared returns a kernel with more shared memory than a text may declare.
func largeShared() *ir.Kernel {
	b := ir.New("large shared", 128)
	b.Index = dtype.I64
	x, out := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
	s, t := b.Shared("first", dtype.F32, 16<<10), b.Shared("second", dtype.Bool, 130)
	i := b.Thread()
	b.SharedStore(s, i, b.Load(x, i))
	b.SharedStore(t, i, b.Lt(b.SharedLoad(s, i), b.Float(dtype.F32, 0)))
	b.Barrier()
	b.If(b.SharedLoad(t, b.Sub(b.Int(127), i)), func() { b.Store(out, i, b.SharedLoad(s, i)) })
	return b.Kernel()
}
