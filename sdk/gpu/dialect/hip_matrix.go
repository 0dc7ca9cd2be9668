package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// matrixUnit describes the matrix instructions of 16×16×16 of a family of AMD architectures, as listed by AMD's matrix instruction
// calculator. The expressions, in C, compute the place in a matrix of element i of lane l.
type matrixUnit struct {
	name          string
	architectures []string
	macro         string // macro that compilers define for the family
	order         ir.Order
	// A thread holds factors elements of A and of B. line is the row of A or column of B; runs of 4 elements are neighbours along depth.
	factors     int
	line, depth string
	// A thread holds results elements of C. All of them are in column l & 15.
	results int
	row     string
	f16     instruction
	bf16    instruction
}

// instruction is a matrix instruction: the function of the compiler, and its arguments after the matrices.
type instruction struct{ function, rest string }

var matrixUnits = []matrixUnit{
	{"MFMA", []string{"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"}, "__GFX9__", ir.Runs, 4, "(l & 15)", "((l >> 4) * 4 + i)", 4, "((l >> 4) * 4 + i)",
		instruction{"__builtin_amdgcn_mfma_f32_16x16x16f16", ", 0, 0, 0"}, instruction{"__builtin_amdgcn_mfma_f32_16x16x16bf16_1k", ", 0, 0, 0"}},
	{"WMMA of gfx11", []string{"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}, "__GFX11__", ir.Strided, 16, "(l & 15)", "(i)", 8,
		"(i * 2 + (l >> 4))", instruction{"__builtin_amdgcn_wmma_f32_16x16x16_f16_w32", ""}, instruction{"__builtin_amdgcn_wmma_f32_16x16x16_bf16_w32", ""}},
	{"WMMA of gfx12", []string{"gfx1200", "gfx1201"}, "__GFX12__", ir.Runs, 8, "(l & 15)", "((i >> 2) * 8 + (l >> 4) * 4 + (i & 3))", 8, "((l >> 4) * 8 + i)",
		instruction{"__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12", ""}, instruction{"__builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12", ""}},
}

// HIPMatrices returns the matrix instructions that HIP has for an architecture, whose name may be followed by features, as in
// gfx90a:xnack-. It returns none for architectures that are not listed: gfx900 to gfx908 lack instructions for bf16, and gfx10 has no
// matrix unit.
func HIPMatrices(architecture string) []ir.MMA {
	name, _, _ := strings.Cut(architecture, ":")
	for _, u := range matrixUnits {
		if slices.Contains(u.architectures, name) {
			return []ir.MMA{{M: 16, N: 16, K: 16, Type: dtype.F16, Order: u.order}, {M: 16, N: 16, K: 16, Type: dtype.BF16, Order: u.order}}
		}
	}
	return nil
}

// hipFragments are the helpers of fragments. Macros define which elements a thread holds; the other helpers use them.
var hipFragments = []helper{
	{"VECTOR(", `
#ifndef VECTOR
#define VECTOR(T, n) T __attribute__((ext_vector_type(n)))
#endif
`},
	{"frag_a_16_16_16", hipFragmentTypes()},
	{"frag_b_16_16_16", "\n"},
	{"frag_c_16_16_16", "\n"},
	{"frag_fill", `
DEVICE void frag_fill(frag_c_16_16_16& f, f32 v) {
#pragma unroll
	for (i32 i = 0; i < C_LEN; i++) f.x[i] = v;
}
`},
	{"frag_load", `
#define FRAG_LOAD(NAME, TYPE, AT) DEVICE void NAME(TYPE& f, const u16* s, i32 stride) { \
	const i32 l = i32(threadIdx.x & (WAVE - 1)); \
	_Pragma("unroll") \
	for (i32 i = 0; i < FACTOR_LEN; i++) f.x[i] = s[AT]; \
}
#define FRAG_LOAD_RUNS(NAME, TYPE) DEVICE void NAME(TYPE& f, const u16* s, i32 stride) { \
	const i32 l = i32(threadIdx.x & (WAVE - 1)); \
	_Pragma("unroll") \
	for (i32 i = 0; i < FACTOR_LEN; i += 4) *(uint2*)(f.x + i) = *(const uint2*)(s + FACTOR_LINE(l, i) * stride + FACTOR_DEPTH(l, i)); \
}
FRAG_LOAD_RUNS(frag_load, frag_a_16_16_16)
FRAG_LOAD(frag_load_transposed, frag_a_16_16_16, FACTOR_DEPTH(l, i) * stride + FACTOR_LINE(l, i))
FRAG_LOAD(frag_load, frag_b_16_16_16, FACTOR_DEPTH(l, i) * stride + FACTOR_LINE(l, i))
FRAG_LOAD_RUNS(frag_load_transposed, frag_b_16_16_16)
`},
	{"frag_store", `
DEVICE void frag_store(const frag_c_16_16_16& f, f32* s, i32 stride) {
	const i32 l = i32(threadIdx.x & (WAVE - 1));
#pragma unroll
	for (i32 i = 0; i < C_LEN; i++) s[C_ROW(l, i) * stride + (l & 15)] = f.x[i];
}
`},
	{"frag_pack_f16", hipPack("f16")},
	{"frag_pack_bf16", hipPack("bf16")},
	{"mma_f16", hipMMA("f16", "_Float16", func(u matrixUnit) instruction { return u.f16 })},
	{"mma_bf16", hipMMA("bf16", "short", func(u matrixUnit) instruction { return u.bf16 })},
}

// byUnit returns text with one branch of the preprocessor for each family.
func byUnit(branch func(u matrixUnit) string) string {
	var w strings.Builder
	for i, u := range matrixUnits {
		word := "elif"
		if i == 0 {
			word = "if"
		}
		fmt.Fprintf(&w, "#%s defined(%s)\n%s", word, u.macro, branch(u))
	}
	return w.String() + "#endif\n"
}

func hipFragmentTypes() string {
	return "\n" + byUnit(func(u matrixUnit) string {
		lane, place := "(c + (r) / C_LEN * 16)", "((r) % C_LEN)"
		if u.order == ir.Strided {
			lane, place = "(c + ((r) & 1) * 16)", "((r) >> 1)"
		}
		return fmt.Sprintf("#define FACTOR_LEN %d\n#define FACTOR_LINE(l, i) %s\n#define FACTOR_DEPTH(l, i) %s\n#define C_LEN %d\n#define C_ROW(l, i) %s\n"+
			"#define C_LANE(r, c) %s\n#define C_PLACE(r) %s\n", u.factors, u.line, u.depth, u.results, u.row, lane, place)
	}) + `struct __align__(8) frag_a_16_16_16 { u16 x[FACTOR_LEN]; };
struct __align__(8) frag_b_16_16_16 { u16 x[FACTOR_LEN]; };
struct frag_c_16_16_16 { f32 x[C_LEN]; };
`
}

// hipPack returns a helper that converts a result to a factor. Each element is read from the lane that holds it, two elements at a time.
func hipPack(t string) string {
	return `
DEVICE void frag_pack_` + t + `(frag_a_16_16_16& a, const frag_c_16_16_16* c) {
	const i32 l = i32(threadIdx.x & (WAVE - 1));
	u32 pairs[C_LEN / 2];
#pragma unroll
	for (i32 e = 0; e < C_LEN / 2; e++) pairs[e] = u32(f32_` + t + `(c->x[2 * e])) | u32(f32_` + t + `(c->x[2 * e + 1])) << 16;
#pragma unroll
	for (i32 i = 0; i < FACTOR_LEN; i++) {
		const i32 row = FACTOR_LINE(l, i), column = FACTOR_DEPTH(l, i);
		u32 v = 0;
#pragma unroll
		for (i32 e = 0; e < C_LEN / 2; e++) {
			const u32 x = SHUFFLE(pairs[e], C_LANE(row, column));
			if (e == C_PLACE(row) / 2) v = x;
		}
		a.x[i] = u16(v >> C_PLACE(row) % 2 * 16);
	}
}
`
}

// hipMMA returns the helper that calls the matrix instruction of a type. element is the name of the type in the functions of the compiler.
func hipMMA(t, element string, of func(u matrixUnit) instruction) string {
	return `
DEVICE void mma_` + t + `(frag_c_16_16_16& c, const frag_a_16_16_16& a, const frag_b_16_16_16& b) {
	typedef VECTOR(` + element + `, FACTOR_LEN) factor;
	typedef VECTOR(f32, C_LEN) result;
	const factor x = __builtin_bit_cast(factor, a), y = __builtin_bit_cast(factor, b);
	const result z = __builtin_bit_cast(result, c);
` + byUnit(func(u matrixUnit) string {
		in := of(u)
		return fmt.Sprintf("\tc = __builtin_bit_cast(frag_c_16_16_16, %s(x, y, z%s));\n", in.function, in.rest)
	}) + "}\n"
}
