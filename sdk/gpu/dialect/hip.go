package dialect

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// HIP is HIP C++ for hiprtc, for the CDNA (gfx9, subgroups of 64) and RDNA (gfx10 and later, subgroups of 32) architectures. Except for
// macros and helpers, the text is the same as in CUDA C++, so that NVRTC compiles it too: a test that needs no AMD compiler. Its matrix
// fragments are 16×16×16, by MFMA, WMMA, or mma.sync with NVRTC.
var HIP = &Dialect{
	Name:    "HIP",
	Options: []string{"-std=c++17", "-ffp-contract=off"},
	Threads: 1024,
	Static:  48 << 10,
	types:   cTypes,
	ops:     hipOps,
	casts:   gpuCasts,
	literal: cLiteral("__int_as_float(0x%x)", "__longlong_as_double(0x%xll)", "ll"),
	syntax:  cSyntax,
	declare: cudaDeclare,
	memory:  gpuMemory(hipPointers),
	header:  cudaHeader + hipHeader,
	helpers: hipHelpers,
	shapes:  [][3]int{{16, 16, 16}},
}

var hipPointers = pointers{vectors: cudaPointers.vectors, vector: cudaPointers.vector}

var hipOps = join(gpuOps, map[ir.Op]forms{
	ir.Exp2Fast:        {dtype.F32: "exp2f($a)"},
	ir.Lane:            {every: "i32(threadIdx.x & (WAVE - 1))"},
	ir.SubgroupBarrier: {every: "WAVE_SYNC()"},
	ir.ShuffleXor:      shuffles("SHUFFLE_XOR($v, $n)"),
	ir.ShuffleUp:       shuffles("SHUFFLE_UP($v, $n)"),
	ir.ShuffleFrom:     shuffles("SHUFFLE($v, $b)"),
	ir.Ballot:          {every: "BALLOT($a)"},
})

const hipHeader = `#ifdef __CUDACC_RTC__
#define WAVE 32
#define WAVE_SYNC() __syncwarp()
#define SHUFFLE_XOR(v, n) __shfl_xor_sync(~0u, v, n)
#define SHUFFLE_UP(v, n) __shfl_up_sync(~0u, v, n)
#define SHUFFLE(v, l) __shfl_sync(~0u, v, l)
#define BALLOT(c) __ballot_sync(~0u, c)
#define FROM_HALF(x, r) asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x))
#define TO_HALF(x, r) asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x))
#else
#ifdef __GFX9__
#define WAVE 64
#else
#define WAVE 32
#endif
#define WAVE_SYNC() do { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier(); } while (0)
#define SHUFFLE_XOR(v, n) __shfl_xor(v, n)
#define SHUFFLE_UP(v, n) __shfl_up(v, n)
#define SHUFFLE(v, l) __shfl(v, l)
#define BALLOT(c) u32(__ballot(c))
#define FROM_HALF(x, r) r = f32(__builtin_bit_cast(_Float16, x))
#define TO_HALF(x, r) r = __builtin_bit_cast(u16, _Float16(x))
#endif
`

// hipHelpers are the helpers of CUDA that have no PTX, and HIP's own.
var hipHelpers = append(pick(cudaHelpers, "Each<", "member_of", "bits_f32", "bits_f64", "u32_bits", "u64_bits", "bf16_f32", "max_f64", "min_f64", "atomic_f32", "atomic_f64", "atomic_part"), append([]helper{
	{"CONSTANT", `
#ifdef __CUDACC_RTC__
#define CONSTANT const __grid_constant__
#else
#define CONSTANT const
#endif
`},
	{"max_f32", `
DEVICE f32 max_f32(f32 x, f32 y) { return y != y || x == y && __float_as_int(y) >= 0 || x < y ? y : x; }
`},
	{"min_f32", `
DEVICE f32 min_f32(f32 x, f32 y) { return y != y || x == y && __float_as_int(y) < 0 || y < x ? y : x; }
`},
	{"f16_f32", `
DEVICE f32 f16_f32(u16 x) { f32 r; FROM_HALF(x, r); return r; }
`},
	{"f32_f16", `
DEVICE u16 f32_f16(f32 x) { u16 r; TO_HALF(x, r); return r; }
`},
	{"f32_bf16", `
DEVICE u16 f32_bf16(f32 x) {
	const u32 b = __float_as_uint(x);
	return u16((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
`},
	{"f64_odd", `
DEVICE f32 f64_odd(f64 x) {
	const f32 r = f32(x);
	if (f64(r) == x || x != x || x - x != 0.0) return r;
	return __uint_as_float((__float_as_uint(r) - (fabs(f64(r)) > fabs(x) ? 1u : 0u)) | 1u);
}
`},
}, append(oddHelpers, hipFragments...)...)...)

// hipFragments are fragments of 16×16×16. For each architecture, macros say which element of a matrix lane l holds as its i-th; the
// rest follows from them.
var hipFragments = []helper{
	{"frag_a_16_16_16", hipFragmentTypes},
	{"frag_b_16_16_16", "\n"},
	{"frag_c_16_16_16", "\n"},
	{"frag_fill", `
DEVICE void frag_fill(frag_c_16_16_16& f, f32 v) {
#pragma unroll
	for (i32 i = 0; i < C_LEN; i++) f.x[i] = v;
}
`},
	{"frag_load", `
#define FRAG_LOAD(NAME, TYPE, LEN, AT) DEVICE void NAME(TYPE& f, const u16* s, i32 stride) { \
	const i32 l = i32(threadIdx.x & (WAVE - 1)); \
	_Pragma("unroll") \
	for (i32 i = 0; i < LEN; i++) f.x[i] = s[AT]; \
}
FRAG_LOAD(frag_load, frag_a_16_16_16, A_LEN, A_LINE(l, i) * stride + A_DEPTH(l, i))
FRAG_LOAD(frag_load_transposed, frag_a_16_16_16, A_LEN, A_DEPTH(l, i) * stride + A_LINE(l, i))
FRAG_LOAD(frag_load, frag_b_16_16_16, B_LEN, B_DEPTH(l, i) * stride + B_LINE(l, i))
FRAG_LOAD(frag_load_transposed, frag_b_16_16_16, B_LEN, B_LINE(l, i) * stride + B_DEPTH(l, i))
`},
	{"frag_store", `
DEVICE void frag_store(const frag_c_16_16_16& f, f32* s, i32 stride) {
	const i32 l = i32(threadIdx.x & (WAVE - 1));
#pragma unroll
	for (i32 i = 0; i < C_LEN; i++) s[C_ROW(l, i) * stride + C_COLUMN(l, i)] = f.x[i];
}
`},
	{"frag_pack_f16", hipPack("f16")},
	{"frag_pack_bf16", hipPack("bf16")},
	{"mma_f16", hipMMA("f16", "f16", "_Float16", "16f16", "f16.f16")},
	{"mma_bf16", hipMMA("bf16", "bf16", "short", "16bf16_1k", "bf16.bf16")},
}

const hipFragmentTypes = `
#if defined(__CUDACC_RTC__)
#define A_LEN 8
#define A_LINE(l, i) ((l >> 2) + (i >> 1 & 1) * 8)
#define A_DEPTH(l, i) ((l & 3) * 2 + (i & 1) + (i >> 2) * 8)
#define B_LEN 8
#define B_LINE(l, i) ((l >> 2) + (i >> 2) * 8)
#define B_DEPTH(l, i) ((l & 3) * 2 + (i & 1) + (i >> 1 & 1) * 8)
#define C_LEN 8
#define C_ROW(l, i) ((l >> 2) + (i >> 1 & 1) * 8)
#define C_COLUMN(l, i) ((l & 3) * 2 + (i & 1) + (i >> 2) * 8)
#define C_LANE(r, c) ((r & 7) * 4 + (c & 7) / 2)
#define C_PLACE(r, c) ((c >> 3) * 4 + (r >> 3) * 2 + (c & 1))
#elif defined(__GFX9__)
#define A_LEN 4
#define A_LINE(l, i) (l & 15)
#define A_DEPTH(l, i) ((l >> 4) * 4 + i)
#define B_LEN 4
#define B_LINE(l, i) (l & 15)
#define B_DEPTH(l, i) ((l >> 4) * 4 + i)
#define C_LEN 4
#define C_ROW(l, i) ((l >> 4) * 4 + i)
#define C_COLUMN(l, i) (l & 15)
#define C_LANE(r, c) (c + (r >> 2) * 16)
#define C_PLACE(r, c) (r & 3)
#else
#define A_LEN 16
#define A_LINE(l, i) (l & 15)
#define A_DEPTH(l, i) (i)
#define B_LEN 16
#define B_LINE(l, i) (l & 15)
#define B_DEPTH(l, i) (i)
#define C_LEN 8
#define C_ROW(l, i) (i * 2 + (l >> 4))
#define C_COLUMN(l, i) (l & 15)
#define C_LANE(r, c) (c + (r & 1) * 16)
#define C_PLACE(r, c) (r >> 1)
#endif
struct frag_a_16_16_16 { u16 x[A_LEN]; };
struct frag_b_16_16_16 { u16 x[B_LEN]; };
struct frag_c_16_16_16 { f32 x[C_LEN]; };
`

// hipPack returns a helper that turns a result into a factor: each element comes from the lane that holds it.
func hipPack(t string) string {
	return `
DEVICE void frag_pack_` + t + `(frag_a_16_16_16& a, const frag_c_16_16_16* c) {
	const i32 l = i32(threadIdx.x & (WAVE - 1));
#pragma unroll
	for (i32 i = 0; i < A_LEN; i++) {
		const i32 row = A_LINE(l, i), column = A_DEPTH(l, i);
		f32 v = 0.0f;
#pragma unroll
		for (i32 e = 0; e < C_LEN; e++) {
			const f32 x = SHUFFLE(c->x[e], C_LANE(row, column));
			if (e == C_PLACE(row, column)) v = x;
		}
		a.x[i] = f32_` + t + `(v);
	}
}
`
}

// hipMMA returns a matrix instruction: its name in PTX, WMMA and MFMA, and the type of the elements there.
func hipMMA(t, wmma, element, mfma, ptx string) string {
	return `
DEVICE void mma_` + t + `(frag_c_16_16_16& c, const frag_a_16_16_16& a, const frag_b_16_16_16& b) {
#if defined(__CUDACC_RTC__)
	const u32* x = (const u32*)a.x;
	const u32* y = (const u32*)b.x;
#pragma unroll
	for (i32 n = 0; n < 2; n++)
		asm("mma.sync.aligned.m16n8k16.row.col.f32.` + ptx + `.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
			: "+f"(c.x[4 * n]), "+f"(c.x[4 * n + 1]), "+f"(c.x[4 * n + 2]), "+f"(c.x[4 * n + 3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * n]), "r"(y[2 * n + 1]));
#else
	typedef ` + element + ` factor __attribute__((ext_vector_type(A_LEN)));
	typedef f32 result __attribute__((ext_vector_type(C_LEN)));
	const factor x = __builtin_bit_cast(factor, a), y = __builtin_bit_cast(factor, b);
#ifdef __GFX9__
	c = __builtin_bit_cast(frag_c_16_16_16, __builtin_amdgcn_mfma_f32_16x16x` + mfma + `(x, y, __builtin_bit_cast(result, c), 0, 0, 0));
#else
	c = __builtin_bit_cast(frag_c_16_16_16, __builtin_amdgcn_wmma_f32_16x16x16_` + wmma + `_w32(x, y, __builtin_bit_cast(result, c)));
#endif
#endif
}
`
}

// pick returns the helpers of a list that have these names.
func pick(list []helper, names ...string) []helper {
	var out []helper
	for _, h := range list {
		for _, n := range names {
			if h.name == n {
				out = append(out, h)
			}
		}
	}
	return out
}
