package dialect

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// WGSL is WebGPU's language. It has no types of 64 bits. Elements of less than 32 bits are packed in memory, several to a word, as in other
// languages; their values are i32 or u32, and floats of 16 bits are represented by their bits. Buffers are bound to group 0 in order, all
// for reading and writing: WebGPU rejects a buffer that is bound both read-only and for writing, and buffers of package gpu are parts of a
// few large buffers. The scalars follow as one uniform with one word for each; a bool is a u32. Subgroup operations need the extension
// "subgroups".
//
// The functions exp, log, sin and others of the language may have large errors, so they are computed with sums, products and quotients
// (polyfill_math.go). Other inaccuracies that the language allows remain: quotients and roots may be wrong by a few units in the last
// place, fma may round twice, and subnormal numbers may be flushed. NaN is recognized by its bits, because compilers may fold comparisons.
var WGSL = &Dialect{
	Name:    "WGSL",
	Threads: 256,
	Static:  16 << 10,
	types: map[dtype.DType]string{
		dtype.F32: "f32", dtype.I32: "i32", dtype.U32: "u32", dtype.Bool: "bool", dtype.I16: "i32", dtype.I8: "i32",
		dtype.F16: "u32", dtype.BF16: "u32", dtype.U16: "u32", dtype.U8: "u32",
	},
	ops:     wgslOps,
	casts:   wgslCasts(),
	literal: wgslLiteral,
	syntax: syntax{
		define: "let %[2]s: %[1]s = %[3]s;",
		loop:   "for (var %[2]s: %[1]s = %[3]s; %[2]s < %[4]s; %[2]s += %[5]s) {",
		always: "loop {",
		local:  "var %[2]s: array<%[1]s, %[3]d>;",
	},
	declare: wgslDeclare,
	memory:  wgslMemory,
	isNaN:   "is_nan_f32($a)",
	helpers: portable,
}

// Corrected is WGSL for hardware whose quotients and roots of f32 are wrong by a few units in the last place and whose fma rounds once.
// Helpers correct the quotients and roots.
var Corrected = corrected()

func corrected() *Dialect {
	d := *WGSL
	d.ops = maps.Clone(WGSL.ops)
	for op, form := range map[ir.Op]string{ir.Div: "quotient_f32($a, $b)", ir.Sqrt: "root_f32($a)"} {
		d.ops[op] = maps.Clone(d.ops[op])
		if d.ops[op] == nil {
			d.ops[op] = forms{}
		}
		d.ops[op][dtype.F32] = form
	}
	return &d
}

func wgslLiteral(t dtype.DType, bits uint64) string {
	switch t {
	case dtype.F32:
		if f := math.Float32frombits(uint32(bits)); finite(float64(f)) {
			return decimal(float64(f), 32, "f")
		}
		return fmt.Sprintf("f32_bits(0x%xu)", uint32(bits))
	case dtype.I32:
		if int32(bits) == math.MinInt32 {
			return "(-2147483647i - 1i)"
		}
		return bracket(strconv.FormatInt(int64(int32(bits)), 10) + "i")
	case dtype.I16:
		return bracket(strconv.FormatInt(int64(int16(bits)), 10) + "i")
	case dtype.I8:
		return bracket(strconv.FormatInt(int64(int8(bits)), 10) + "i")
	case dtype.F16, dtype.BF16, dtype.U16:
		return fmt.Sprintf("0x%xu", uint16(bits))
	case dtype.U8:
		return fmt.Sprintf("%du", uint8(bits))
	case dtype.Bool:
		return strconv.FormatBool(bits&1 != 0)
	}
	return fmt.Sprintf("%du", uint32(bits))
}

// wgslMath names the functions of f32.
var wgslMath = map[ir.Op]string{
	ir.Exp: "exp_f32", ir.Exp2: "exp2_f32", ir.Expm1: "expm1_f32", ir.Log: "log_f32", ir.Log2: "log2_f32", ir.Log1p: "log1p_f32", ir.Sqrt: "sqrt", ir.Rsqrt: "inverseSqrt",
	ir.Sin: "sine_f32", ir.Cos: "cosine_f32", ir.Tan: "tangent_f32", ir.Asin: "asin_f32", ir.Acos: "acos_f32", ir.Atan: "atan_f32", ir.Sinh: "sinh_f32", ir.Cosh: "cosh_f32",
	ir.Tanh: "tanh_f32", ir.Erf: "erf_f32", ir.Erfc: "erfc_f32", ir.Floor: "floor", ir.Ceil: "ceil", ir.Trunc: "trunc", ir.Round: "round", ir.Pow: "pow_f32",
	ir.Atan2: "atan2_f32", ir.Rem: "fmod_f32", ir.FMA: "fma",
}

// wgslFunctions returns the forms of the functions in wgslMath.
func wgslFunctions() map[ir.Op]forms {
	m := functions(wgslMath)
	for o, f := range m {
		m[o] = forms{dtype.F32: f[dtype.F64]} // the same names
	}
	return m
}

var wgslOps = join(cOps, wgslFunctions(), map[ir.Op]forms{
	ir.Add: {dtype.I32: "$a + $b"}, ir.Sub: {dtype.I32: "$a - $b"}, ir.Mul: {dtype.I32: "$a * $b"}, ir.Neg: {dtype.I32: "-$a", dtype.U32: "0u - $a"},
	ir.Shl: {every: "$a << u32($b)", dtype.I32: "$a << u32($b)"}, ir.Shr: {every: "$a >> u32($b)"},
	ir.Div: {every: "$a / $b", dtype.F32: "over_f32($a, $b)"}, // WGSL rejects a quotient of two constants that is not a number
	ir.Ne:  {every: "$a != $b", dtype.F32: "!($a == $b)"},     // for NaN, compilers replace the other form by false
	ir.Lt:  {dtype.Bool: "!$a && $b"},
	ir.Le:  {dtype.Bool: "!$a || $b"},
	ir.Rem: {every: "$a % $b", dtype.I32: "rem_i32($a, $b)", dtype.I16: "rem_i32($a, $b)", dtype.I8: "rem_i32($a, $b)"},
	ir.Min: {every: "min($a, $b)"}, ir.Max: {every: "max($a, $b)"}, ir.Abs: {every: "abs($a)"},
	ir.FMA:     {every: "$a * $b + $c"},
	ir.Maximum: {dtype.F32: "max_f32($a, $b)"}, ir.Minimum: {dtype.F32: "min_f32($a, $b)"}, ir.Exp2Fast: {dtype.F32: "exp2($a)"},
	ir.MulHi:  {dtype.U32: "mulhi_u32($a, $b)", dtype.I32: "mulhi_i32($a, $b)"},
	ir.Select: {every: "select($c, $b, $a)"},
	ir.Bitcast: {
		every: "bitcast<$T>($a)", dtype.F16: "u32($a) & 0xffffu", dtype.BF16: "u32($a) & 0xffffu", dtype.U16: "u32($a) & 0xffffu",
		dtype.U8: "u32($a) & 0xffu", dtype.I16: "extractBits(i32($a), 0u, 16u)", dtype.I8: "extractBits(i32($a), 0u, 8u)",
	},
	ir.Thread: {every: "i32(thread_at.x)"}, ir.Lane: {every: "i32(lane_at)"},
	ir.SubgroupBarrier: {every: "subgroupBarrier()"},
	ir.ShuffleXor:      wgslExchange("subgroupShuffleXor($v, $nu)"),
	ir.ShuffleUp:       wgslExchange("select(subgroupShuffleUp($v, $nu), $v, lane_at < $nu)"),
	ir.ShuffleFrom:     wgslExchange("subgroupShuffle($v, u32($b))"),
	ir.Ballot:          {every: "subgroupBallot($a).x"},
	ir.PopCount:        {every: "countOneBits($a)"},
	ir.AsyncCommit:     {every: ""}, ir.AsyncWait: {every: ""},
})

func wgslExchange(form string) forms {
	return forms{every: strings.ReplaceAll(form, "$v", "$a"), dtype.Bool: strings.ReplaceAll(form, "$v", "u32($a)") + " != 0u"}
}

// wgslCasts returns all conversions except those that cast composes.
func wgslCasts() map[[2]dtype.DType]string {
	m := map[[2]dtype.DType]string{
		{dtype.F16, dtype.F32}: "unpack2x16float(%s).x", {dtype.F32, dtype.F16}: "f32_f16(%s)",
		{dtype.BF16, dtype.F32}: "bf16_f32(%s)", {dtype.F32, dtype.BF16}: "f32_bf16(%s)",
		{dtype.I32, dtype.BF16}: "f32_bf16(i32_odd(%s))", {dtype.U32, dtype.BF16}: "f32_bf16(u32_odd(%s))",
		{dtype.F32, dtype.Bool}: "!(%s == 0.0f)",
		{dtype.Bool, dtype.F16}: "select(0u, 0x3c00u, %s)", {dtype.Bool, dtype.BF16}: "select(0u, 0x3f80u, %s)",
	}
	narrow := map[dtype.DType]string{
		dtype.I8: "extractBits(i32(%s), 0u, 8u)", dtype.I16: "extractBits(i32(%s), 0u, 16u)",
		dtype.U8: "(u32(%s) & 0xffu)", dtype.U16: "(u32(%s) & 0xffffu)",
	}
	for _, from := range []dtype.DType{dtype.F32, dtype.I32, dtype.I16, dtype.I8, dtype.U32, dtype.U16, dtype.U8, dtype.Bool} {
		for to, form := range narrow {
			m[[2]dtype.DType{from, to}] = form
		}
	}
	return m
}
