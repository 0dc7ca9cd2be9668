package dialect

import (
	"fmt"
	"maps"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// every is the key of the form for all types that have no entry.
const every = dtype.Invalid

// CUDA is CUDA C++ for NVRTC, without any header, for compute capability 8.0 and later. Floats of 16 bits are represented by their bits.
var CUDA = &Dialect{
	Name:    "CUDA",
	Options: []string{"--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--diag-suppress=177,186"},
	Threads: 1024,
	Static:  48 << 10,
	types:   cTypes,
	ops:     cudaOps,
	casts:   cudaCasts,
	literal: cLiteral("__int_as_float(0x%x)", "__longlong_as_double(0x%xll)", "ll"),
	syntax:  cSyntax,
	declare: cudaDeclare,
	memory:  gpuMemory(cudaPointers),
	header:  cudaHeader,
	helpers: cudaHelpers,
	shapes:  [][3]int{{16, 8, 16}},
	orders:  []ir.Order{ir.Pairs},
	pairs:   true,
}

// cTypes are the names of types in the C-like languages. The header of each dialect defines them.
var cTypes = map[dtype.DType]string{
	dtype.F64: "f64", dtype.F32: "f32", dtype.F16: "u16", dtype.BF16: "u16",
	dtype.I64: "i64", dtype.I32: "i32", dtype.I16: "i16", dtype.I8: "i8",
	dtype.U64: "u64", dtype.U32: "u32", dtype.U16: "u16", dtype.U8: "u8", dtype.Bool: "bool",
	dtype.F8E4M3FN: "u8", dtype.F8E5M2: "u8", dtype.F8E4M3FNUZ: "u8", dtype.F8E5M2FNUZ: "u8", dtype.F8E8M0: "u8", dtype.F4E2M1: "u8",
	dtype.I4: "i8", dtype.U4: "u8", dtype.I2: "i8", dtype.U2: "u8",
}

var cSyntax = syntax{
	define: "const %s %s = %s;",
	loop:   "for (%s %[2]s = %[3]s; %[2]s < %[4]s; %[2]s += %[5]s) {",
	unroll: "#pragma unroll",
	always: "for (;;) {",
	local:  "%s %s[%d];",
}

// cOps are operations with the same spelling in all C-like languages. Signed integers wrap around, which is undefined in C.
var cOps = map[ir.Op]forms{
	ir.Add: {every: "$a + $b", dtype.I32: "i32(u32($a) + u32($b))", dtype.I64: "i64(u64($a) + u64($b))"},
	ir.Sub: {every: "$a - $b", dtype.I32: "i32(u32($a) - u32($b))", dtype.I64: "i64(u64($a) - u64($b))"},
	ir.Mul: {every: "$a * $b", dtype.I32: "i32(u32($a) * u32($b))", dtype.I64: "i64(u64($a) * u64($b))"},
	ir.Div: {every: "$a / $b"},
	ir.Neg: {every: "-$a", dtype.I32: "i32(0u - u32($a))", dtype.I64: "i64(u64(0) - u64($a))"},
	ir.And: {every: "$a & $b", dtype.Bool: "$a && $b"},
	ir.Or:  {every: "$a | $b", dtype.Bool: "$a || $b"},
	ir.Xor: {every: "$a ^ $b", dtype.Bool: "$a != $b"},
	ir.Not: {every: "~$a", dtype.Bool: "!$a"},
	ir.Shl: {every: "$a << $b", dtype.I32: "i32(u32($a) << $b)", dtype.I64: "i64(u64($a) << $b)"},
	ir.Shr: {every: "$a >> $b"},
	ir.Eq:  {every: "$a == $b"},
	ir.Ne:  {every: "$a != $b"},
	ir.Lt:  {every: "$a < $b"},
	ir.Le:  {every: "$a <= $b"},

	ir.Select: {every: "$a ? $b : $c"},
}

// functions returns forms of functions of f32 and f64. The C-like languages use the same names, with the suffix f for f32.
func functions(names map[ir.Op]string) map[ir.Op]forms {
	m := map[ir.Op]forms{}
	for o, n := range names {
		args := "($a)"
		switch o {
		case ir.Pow, ir.Atan2, ir.Rem, ir.Min, ir.Max:
			args = "($a, $b)"
		case ir.FMA:
			args = "($a, $b, $c)"
		}
		m[o] = forms{dtype.F32: n + "f" + args, dtype.F64: n + args}
	}
	return m
}

// cMath names the functions of the C library.
var cMath = map[ir.Op]string{
	ir.Exp: "exp", ir.Exp2: "exp2", ir.Expm1: "expm1", ir.Log: "log", ir.Log2: "log2", ir.Log1p: "log1p", ir.Sqrt: "sqrt", ir.Rsqrt: "rsqrt",
	ir.Sin: "sin", ir.Cos: "cos", ir.Tan: "tan", ir.Asin: "asin", ir.Acos: "acos", ir.Atan: "atan", ir.Sinh: "sinh", ir.Cosh: "cosh",
	ir.Tanh: "tanh", ir.Erf: "erf", ir.Erfc: "erfc", ir.Floor: "floor", ir.Ceil: "ceil", ir.Trunc: "trunc", ir.Round: "rint", ir.Pow: "pow",
	ir.Atan2: "atan2", ir.Rem: "fmod", ir.Min: "fmin", ir.Max: "fmax", ir.FMA: "fma", ir.Abs: "fabs",
}

// join merges tables. For an operation in several tables, the last table has precedence.
func join(tables ...map[ir.Op]forms) map[ir.Op]forms {
	m := map[ir.Op]forms{}
	for _, t := range tables {
		for o, f := range t {
			if m[o] == nil {
				m[o] = forms{}
			}
			maps.Copy(m[o], f)
		}
	}
	return m
}

// gpuOps are the operations with the same spelling in CUDA and HIP.
var gpuOps = join(cOps, functions(cMath), map[ir.Op]forms{
	ir.Thread: {every: "i32(threadIdx.x)"},
	ir.Rem:    {every: "$a % $b"},
	ir.Min:    {every: "$a < $b ? $a : $b"},
	ir.Max:    {every: "$a < $b ? $b : $a"},
	ir.Abs:    {every: "$a", dtype.I32: "$a < 0 ? i32(0u - u32($a)) : $a", dtype.I64: "$a < 0 ? i64(u64(0) - u64($a)) : $a"},
	ir.FMA:    {every: "$a * $b + $c", dtype.I32: "i32(u32($a) * u32($b) + u32($c))", dtype.I64: "i64(u64($a) * u64($b) + u64($c))"},
	ir.MulHi:  {dtype.I32: "__mulhi($a, $b)", dtype.U32: "__umulhi($a, $b)", dtype.I64: "__mul64hi($a, $b)", dtype.U64: "__umul64hi($a, $b)"},
	ir.Bitcast: {
		every: "$T($a)", dtype.F32: "bits_f32(u32($a))", dtype.F64: "bits_f64(u64($a))",
		dtype.U32: "u32_bits($a)", dtype.I32: "i32(u32_bits($a))", dtype.U64: "u64_bits($a)", dtype.I64: "i64(u64_bits($a))",
	},

	ir.AtomicAdd: {
		every: "atomicAdd($p + $a, $b)", dtype.I64: "i64(atomicAdd((u64*)($p + $a), u64($b)))",
		dtype.F16: "atomic_part($p + $a, [=](u16 x) { return f32_f16(f16_f32(x) + f16_f32($b)); })", dtype.BF16: "atomic_part($p + $a, [=](u16 x) { return f32_bf16(bf16_f32(x) + bf16_f32($b)); })",
		dtype.I16: "atomic_part($p + $a, [=](i16 x) { return i16(x + $b); })", dtype.U16: "atomic_part($p + $a, [=](u16 x) { return u16(x + $b); })",
		dtype.I8: "atomic_part($p + $a, [=](i8 x) { return i8(x + $b); })", dtype.U8: "atomic_part($p + $a, [=](u8 x) { return u8(x + $b); })",
	},
	ir.AtomicMin: atomicExtreme("Min", "<"),
	ir.AtomicMax: atomicExtreme("Max", ">"),
	ir.AtomicSwap: {
		every: "atomicCAS($p + $a, $b, $c)", dtype.I64: "i64(atomicCAS((u64*)($p + $a), u64($b), u64($c)))",
		dtype.F32: "bits_f32(atomicCAS((u32*)($p + $a), u32_bits($b), u32_bits($c)))", dtype.F64: "bits_f64(atomicCAS((u64*)($p + $a), u64_bits($b), u64_bits($c)))",
	},
	ir.SharedAdd: {every: "atomicAdd($s + $a, $b)", dtype.I64: "i64(atomicAdd((u64*)($s + $a), u64($b)))"},

	ir.Maximum: {dtype.F32: "max_f32($a, $b)", dtype.F64: "max_f64($a, $b)"},
	ir.Minimum: {dtype.F32: "min_f32($a, $b)", dtype.F64: "min_f64($a, $b)"},

	ir.Barrier:  {every: "__syncthreads()"},
	ir.PopCount: {every: "u32(__popc($a))"},
})

// atomicExtreme returns the forms of an atomic minimum or maximum. If one operand is NaN, the old value remains.
func atomicExtreme(name, than string) forms {
	f := forms{every: "atomic" + name + "($p + $a, $b)"}
	for t, n := range map[dtype.DType]string{dtype.F32: "f32", dtype.F64: "f64"} {
		f[t] = fmt.Sprintf("atomic_%s($p + $a, [=](%s x) { return $b %s x ? $b : x; })", n, n, than)
	}
	for _, t := range []dtype.DType{dtype.I16, dtype.U16, dtype.I8, dtype.U8} {
		f[t] = fmt.Sprintf("atomic_part($p + $a, [=](%v x) { return $b %s x ? %v($b) : x; })", t, than, t)
	}
	for _, t := range []dtype.DType{dtype.F16, dtype.BF16} {
		f[t] = fmt.Sprintf("atomic_part($p + $a, [=](u16 x) { return %v_f32($b) %s %v_f32(x) ? u16($b) : x; })", t, than, t)
	}
	return f
}

var cudaOps = join(gpuOps, map[ir.Op]forms{
	ir.Exp2Fast:        {dtype.F32: "exp2_fast($a)"},
	ir.Lane:            {every: "i32(threadIdx.x & 31)"},
	ir.SubgroupBarrier: {every: "__syncwarp()"},
	ir.ShuffleXor:      shuffles("__shfl_xor_sync(~0u, $v, $n)"),
	ir.ShuffleUp:       shuffles("__shfl_up_sync(~0u, $v, $n)"),
	ir.ShuffleFrom:     shuffles("__shfl_sync(~0u, $v, $b)"),
	ir.Ballot:          {every: "__ballot_sync(~0u, $a)"},
	ir.AsyncCommit:     {every: "copy_commit()"},
	ir.AsyncWait:       {every: "copy_wait<$n>()"},
})

// shuffles returns the forms of an exchange with instructions for 32 and 64 bits; smaller types are exchanged as 32 bits.
func shuffles(form string) forms {
	return forms{
		every:      "$T(" + strings.ReplaceAll(form, "$v", "u32($a)") + ")",
		dtype.Bool: strings.ReplaceAll(form, "$v", "u32($a)") + " != 0",
		dtype.F32:  strings.ReplaceAll(form, "$v", "$a"), dtype.F64: strings.ReplaceAll(form, "$v", "$a"),
		dtype.I64: strings.ReplaceAll(form, "$v", "$a"), dtype.U64: strings.ReplaceAll(form, "$v", "$a"),
	}
}

// gpuCasts are the conversions of CUDA and HIP that need helpers, or whose result would be wrong if it were rounded twice.
var gpuCasts = map[[2]dtype.DType]string{
	{dtype.F16, dtype.F32}: "f16_f32(%s)", {dtype.F32, dtype.F16}: "f32_f16(%s)", {dtype.F64, dtype.F16}: "f32_f16(f64_odd(%s))",
	{dtype.BF16, dtype.F32}: "bf16_f32(%s)", {dtype.F32, dtype.BF16}: "f32_bf16(%s)", {dtype.F64, dtype.BF16}: "f32_bf16(f64_odd(%s))",
	{dtype.I32, dtype.BF16}: "f32_bf16(f64_odd(f64(%s)))", {dtype.U32, dtype.BF16}: "f32_bf16(f64_odd(f64(%s)))",
	{dtype.I64, dtype.BF16}: "f32_bf16(i64_odd(%s))", {dtype.U64, dtype.BF16}: "f32_bf16(u64_odd(%s))",
	{dtype.Bool, dtype.F16}: "u16(%s ? 0x3c00 : 0)", {dtype.Bool, dtype.BF16}: "u16(%s ? 0x3f80 : 0)",
}

var cudaCasts = gpuCasts

var cudaPointers = pointers{
	vectors: map[dtype.DType]string{dtype.F32: "float", dtype.I32: "int", dtype.U32: "uint", dtype.F64: "double", dtype.I64: "longlong", dtype.U64: "ulonglong"},
	vector:  "%s{%s}",
	async:   true,
}

// gpuMemory returns the printer of memory operations for CUDA and HIP.
func gpuMemory(m pointers) func(p *printer, in *ir.Inst) bool {
	return func(p *printer, in *ir.Inst) bool {
		batched := p.k.Members > 0 && in.Imm == 0
		switch {
		case in.Op == ir.Block && batched:
			p.define(in.Out[0], "i32(blockIdx.x) - starts.of[member]")
		case in.Op == ir.Blocks && batched:
			p.define(in.Out[0], "starts.of[member + 1] - starts.of[member]")
		case in.Op == ir.Block:
			p.define(in.Out[0], "i32(blockIdx."+components[in.Imm]+")")
		case in.Op == ir.Blocks:
			p.define(in.Out[0], "i32(gridDim."+components[in.Imm]+")")
		default:
			return fragments(p, in) || m.print(p, in)
		}
		return true
	}
}

// cudaDeclare prints the head of a kernel: parameters and shared arrays.
func cudaDeclare(p *printer, symbol string) {
	var params, own []string // parameters of the kernel, and parameters of the member to which the block belongs
	for i, x := range p.k.Params {
		t, name := p.typ(x.Type), p.param(int32(i))
		if x.Type == dtype.Bool {
			t = "u8"
		}
		restrict := ""
		switch {
		case x.Access == ir.Read && x.Aliased:
			t = "const " + t + "*"
		case x.Access == ir.Read:
			t, restrict = "const "+t+"*", " __restrict__"
		case x.IsBuffer():
			t += "*"
		case !x.Each:
			t = "const " + t
		}
		if x.Each {
			params = append(params, fmt.Sprintf("CONSTANT Each<%s, %d> %s_each", t, p.k.Members, name))
			own = append(own, fmt.Sprintf("%s%s const %s = %s_each.of[member];", t, restrict, name, name))
			continue
		}
		params = append(params, t+restrict+" "+name)
	}
	if n := p.k.Members; n > 0 {
		params = append(params, fmt.Sprintf("CONSTANT Each<i32, %d> starts", n+1))
	}
	bounds := fmt.Sprint(p.k.Threads)
	if p.k.Blocks > 0 {
		bounds += fmt.Sprintf(", %d", p.k.Blocks)
	}
	p.line("extern \"C\" __global__ __launch_bounds__(%s) void %s(%s) {", bounds, symbol, strings.Join(params, ", "))
	p.depth++
	if p.k.Members > 0 {
		p.line("const i32 member = member_of(starts, i32(blockIdx.x));")
	}
	for _, s := range own {
		p.line("%s", s)
	}
	dynamic := p.d.Dynamic(p.k) > 0
	if dynamic {
		p.line("extern __shared__ __align__(16) u8 shared_bytes[];")
	}
	for i, x := range p.k.Shared {
		t, n := p.typ(x.Type), p.shared(int32(i))
		if x.Type == dtype.Bool {
			t = "u8"
		}
		if dynamic {
			p.line("%s* const %s = (%s*)(shared_bytes + %d);", t, n, t, p.k.SharedOffset(ir.Mem(i)))
		} else {
			p.line("__shared__ __align__(16) %s %s[%d];", t, n, x.Len)
		}
	}
	p.fragments()
	p.depth--
}
