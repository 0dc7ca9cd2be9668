package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Metal is Metal's language, version 2.4. It has neither f64 nor atomics of 64 bits here. Because a function in Metal has at most 31
// arguments, buffers are bound to the first numbers in order, and all scalars to the next number, as one struct. The struct has the scalars
// in order, each aligned to its size; a bool is one byte.
var Metal = &Dialect{
	Name:    "MSL",
	Options: []string{"-std=metal2.4", "-fno-fast-math"},
	Threads: 1024,
	Static:  32 << 10,
	types:   metalTypes,
	ops:     metalOps,
	casts:   metalCasts,
	literal: cLiteral("as_type<f32>(0x%xu)", "", "l"),
	syntax:  cSyntax,
	declare: metalDeclare,
	memory:  metalMemory,
	shapes:  [][3]int{{16, 8, 16}},
	orders:  []ir.Order{ir.Quarters},
	header: `#include <metal_stdlib>
using namespace metal;
typedef char i8; typedef short i16; typedef int i32; typedef long i64;
typedef uchar u8; typedef ushort u16; typedef uint u32; typedef ulong u64; typedef float f32;
#define DEVICE static inline
`,
	helpers: append(append(slices.Clone(metalHelpers), metalMatrix...), metal("f32_bits", "expm1_f32", "log1p_f32", "erf_f32", "erfc_f32", "order_f32", "max_f32", "min_f32",
		"ldexp_f32", "expnear_f32", "exp_f32", "mantissa_f32", "exponent_f32", "logrest_f32", "log_f32")...),
}

var metalTypes = func() map[dtype.DType]string {
	t := maps.Clone(cTypes)
	delete(t, dtype.F64)
	return t
}()

// metalMath are the functions of f32. They are the precise functions, independent of the options of the compiler.
var metalMath = func() map[ir.Op]forms {
	m := map[ir.Op]forms{}
	for o, n := range cMath {
		prefix := "precise::"
		if o == ir.FMA {
			prefix = ""
		}
		f := functions(map[ir.Op]string{o: n})[o][dtype.F64]
		m[o] = forms{dtype.F32: prefix + f}
	}
	for o, n := range map[ir.Op]string{ir.Expm1: "expm1_f32", ir.Log1p: "log1p_f32", ir.Erf: "erf_f32", ir.Erfc: "erfc_f32"} {
		m[o] = forms{dtype.F32: n + "($a)"}
	}
	return m
}()

// exchange returns the forms of an exchange of values within a subgroup. form is the form for types that subgroup functions accept; smaller
// types are exchanged as u32. wide is the form for 64 bits, which calls a helper.
func exchange(form, wide string) forms {
	f := forms{dtype.I64: "i64(" + strings.ReplaceAll(wide, "$v", "u64($a)") + ")", dtype.U64: strings.ReplaceAll(wide, "$v", "$a"),
		dtype.F32: strings.ReplaceAll(form, "$v", "$a"), dtype.Bool: strings.ReplaceAll(form, "$v", "u32($a)") + " != 0u"}
	for _, t := range []dtype.DType{dtype.I32, dtype.U32} {
		f[t] = f[dtype.F32]
	}
	for _, t := range []dtype.DType{dtype.F16, dtype.BF16, dtype.I16, dtype.U16, dtype.I8, dtype.U8} {
		f[t] = "$T(" + strings.ReplaceAll(form, "$v", "u32($a)") + ")"
	}
	return f
}

func metalAtomic(name, space, place string) forms {
	f := forms{}
	for t, n := range map[dtype.DType]string{dtype.I32: "int", dtype.U32: "uint"} {
		f[t] = fmt.Sprintf("atomic_fetch_%s_explicit((%s atomic_%s*)(%s + $a), $b, memory_order_relaxed)", name, space, n, place)
	}
	f[dtype.F32] = fmt.Sprintf("%s_%s_f32((%s atomic_uint*)(%s + $a), $b)", map[string]string{"device": "atomic", "threadgroup": "shared"}[space], name, space, place)
	return f
}

var metalOps = join(cOps, metalMath, map[ir.Op]forms{
	ir.Thread:   {every: "i32(thread_at.x)"},
	ir.Lane:     {every: "i32(lane_at)"},
	ir.Rem:      {every: "$a % $b"},
	ir.Min:      {every: "min($a, $b)"},
	ir.Max:      {every: "max($a, $b)"},
	ir.Abs:      {every: "$a", dtype.I32: "$a < 0 ? i32(0u - u32($a)) : $a", dtype.I64: "$a < 0 ? i64(u64(0) - u64($a)) : $a"},
	ir.FMA:      {every: "$a * $b + $c", dtype.I32: "i32(u32($a) * u32($b) + u32($c))", dtype.I64: "i64(u64($a) * u64($b) + u64($c))"},
	ir.MulHi:    {every: "mulhi($a, $b)"},
	ir.Maximum:  {dtype.F32: "max_f32($a, $b)"},
	ir.Minimum:  {dtype.F32: "min_f32($a, $b)"},
	ir.Exp2Fast: {dtype.F32: "fast::exp2($a)"},
	ir.Bitcast:  {every: "as_type<$T>($a)"},
	ir.Barrier:  {every: "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)"},
	ir.PopCount: {every: "popcount($a)"},

	ir.SubgroupBarrier: {every: "simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)"},
	ir.ShuffleXor:      exchange("simd_shuffle_xor($v, ushort($n))", "u64_xor($v, ushort($n))"),
	ir.ShuffleUp:       exchange("select(simd_shuffle_up($v, ushort($n)), $v, i32(lane_at) < $n)", "u64_up($v, ushort($n), i32(lane_at) < $n)"),
	ir.ShuffleFrom:     exchange("simd_shuffle($v, ushort($b))", "u64_from($v, ushort($b))"),
	ir.Ballot:          {every: "u32(u64(simd_ballot($a)))"},

	ir.AtomicAdd: metalAtomic("add", "device", "$p"),
	ir.AtomicMin: metalAtomic("min", "device", "$p"),
	ir.AtomicMax: metalAtomic("max", "device", "$p"),
	ir.SharedAdd: metalAtomic("add", "threadgroup", "$s"),
	ir.AtomicSwap: {
		dtype.U32: "atomic_swap((device atomic_uint*)($p + $a), $b, $c)", dtype.I32: "i32(atomic_swap((device atomic_uint*)($p + $a), u32($b), u32($c)))",
		dtype.F32: "as_type<f32>(atomic_swap((device atomic_uint*)($p + $a), as_type<u32>($b), as_type<u32>($c)))",
	},
})

var metalCasts = func() map[[2]dtype.DType]string {
	m := maps.Clone(gpuCasts)
	m[[2]dtype.DType{dtype.I32, dtype.BF16}] = "f32_bf16(i64_odd(i64(%s)))"
	m[[2]dtype.DType{dtype.U32, dtype.BF16}] = "f32_bf16(i64_odd(i64(%s)))"
	for k := range m {
		if k[0] == dtype.F64 || k[1] == dtype.F64 {
			delete(m, k)
		}
	}
	return m
}()

var metalHelpers = append([]helper{
	{"f16_f32", `
DEVICE f32 f16_f32(u16 x) { return f32(as_type<half>(x)); }
`},
	{"f32_f16", `
DEVICE u16 f32_f16(f32 x) { return as_type<u16>(half(x)); }
`},
	{"f32_bf16", `
DEVICE u16 f32_bf16(f32 x) {
	const u32 b = as_type<u32>(x);
	return u16((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
`},
	{"bf16_f32", `
DEVICE f32 bf16_f32(u16 x) { return as_type<f32>(u32(x) << 16); }
`},
	{"u64_xor", `
DEVICE u64 u64_xor(u64 x, u16 mask) { return as_type<u64>(simd_shuffle_xor(as_type<uint2>(x), mask)); }
`},
	{"u64_up", `
DEVICE u64 u64_up(u64 x, u16 n, bool first) {
	const u64 other = as_type<u64>(simd_shuffle_up(as_type<uint2>(x), n));
	return first ? x : other;
}
`},
	{"u64_from", `
DEVICE u64 u64_from(u64 x, u16 lane) { return as_type<u64>(simd_shuffle(as_type<uint2>(x), lane)); }
`},
}, append(oddHelpers, metalAtomics...)...)

// oddHelpers round integers of 64 bits to odd, in any C-like language.
var oddHelpers = []helper{
	{"i64_odd", `
DEVICE f32 u64_odd(u64 x);
DEVICE f32 i64_odd(i64 x) { return x < 0 ? -u64_odd(u64(0) - u64(x)) : u64_odd(u64(x)); }
`},
	{"u64_odd", `
DEVICE f32 u64_odd(u64 x) {
	u32 lost = 0, scale = 0;
	for (; x >> 24 != 0; x >>= 1, scale++) lost |= u32(x) & 1u;
	f32 r = f32(u32(x) | lost);
	for (; scale > 0; scale--) r += r;
	return r;
}
`},
}

var metalAtomics = func() []helper {
	var out []helper
	for _, f := range [][3]string{{"atomic_add", "device", "x + v"}, {"atomic_min", "device", "v < x ? v : x"}, {"atomic_max", "device", "v > x ? v : x"}, {"shared_add", "threadgroup", "x + v"}} {
		out = append(out, helper{f[0] + "_f32", strings.NewReplacer("NAME", f[0], "SPACE", f[1], "VALUE", f[2]).Replace(`
DEVICE f32 NAME_f32(SPACE atomic_uint* p, f32 v) {
	u32 old = atomic_load_explicit(p, memory_order_relaxed);
	for (;;) {
		const f32 x = as_type<f32>(old);
		if (atomic_compare_exchange_weak_explicit(p, &old, as_type<u32>(VALUE), memory_order_relaxed, memory_order_relaxed)) return x;
	}
}
`)})
	}
	return append(out, helper{"atomic_swap", `
DEVICE u32 atomic_swap(device atomic_uint* p, u32 expected, u32 v) {
	u32 old = expected;
	while (!atomic_compare_exchange_weak_explicit(p, &old, v, memory_order_relaxed, memory_order_relaxed)) {
		if (old != expected) return old;
	}
	return expected;
}
`})
}()

var metalPointers = pointers{
	buffer: "device ", shared: "threadgroup ", vector: "%s(%s)",
	vectors: map[dtype.DType]string{dtype.F32: "float", dtype.I32: "int", dtype.U32: "uint", dtype.I64: "long", dtype.U64: "ulong"},
}

func metalMemory(p *printer, in *ir.Inst) bool {
	switch in.Op {
	case ir.Block:
		p.define(in.Out[0], "i32(block_at."+components[in.Imm]+")")
	case ir.Blocks:
		p.define(in.Out[0], "i32(blocks."+components[in.Imm]+")")
	case ir.Scalar:
		p.spelled[in.Out[0]] = "scalars." + p.field(in.Ref)
		if in.Type == dtype.Bool {
			p.spelled[in.Out[0]] = "(scalars." + p.field(in.Ref) + " != 0)"
		}
	default:
		return metalFragments(p, in) || metalPointers.print(p, in)
	}
	return true
}

// metalDeclare prints the head of a kernel: parameters and shared arrays.
func metalDeclare(p *printer, symbol string) {
	var params, scalars []string
	for i, x := range p.k.Params {
		t, name := p.typ(x.Type), p.param(int32(i))
		if x.Type == dtype.Bool {
			t = "u8"
		}
		switch {
		case !x.IsBuffer():
			scalars = append(scalars, t+" "+name+";")
			continue
		case x.Access == ir.Read:
			t = "const " + t
		}
		params = append(params, fmt.Sprintf("device %s* %s [[buffer(%d)]]", t, name, len(params)))
	}
	if len(scalars) > 0 {
		p.line("struct scalars_%s { %s };", symbol, strings.Join(scalars, " "))
		params = append(params, fmt.Sprintf("constant scalars_%s& scalars [[buffer(%d)]]", symbol, len(params)))
	}
	params = append(params, "uint3 thread_at [[thread_position_in_threadgroup]]", "uint3 block_at [[threadgroup_position_in_grid]]",
		"uint3 blocks [[threadgroups_per_grid]]", "uint lane_at [[thread_index_in_simdgroup]]")
	if n := p.k.SharedBytes(); n > p.d.Static {
		p.fail("%d bytes of shared memory, the language allows %d", n, p.d.Static)
	}
	if p.k.Members > 0 {
		p.fail("the language has no parameters of members")
	}
	p.line("[[max_total_threads_per_threadgroup(%d)]] kernel void %s(%s) {", p.k.Threads, symbol, strings.Join(params, ", "))
	for i, x := range p.k.Shared {
		t := p.typ(x.Type)
		if x.Type == dtype.Bool {
			t = "u8"
		}
		p.line("\tthreadgroup alignas(16) %s %s[%d];", t, p.shared(int32(i)), x.Len)
	}
	p.depth++
	p.fragments()
	p.depth--
}
