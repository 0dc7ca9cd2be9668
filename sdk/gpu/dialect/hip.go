package dialect

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// HIP is HIP C++ for hiprtc, for the CDNA (gfx9, subgroups of 64) and RDNA (gfx10 and later, subgroups of 32) architectures. Except for
// macros and helpers, the text is the same as in CUDA C++. HIPMatrices lists its matrix instructions.
var HIP = &Dialect{
	Name:    "HIP",
	Options: []string{"-std=c++17", "-ffp-contract=off"},
	Threads: 1024,
	Static:  32 << 10,
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
	orders:  []ir.Order{ir.Runs, ir.Strided},
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
	// ROCm 5 has no atomicMin and atomicMax of signed integers of 64 bits.
	ir.AtomicMin: {dtype.I64: "atomic_i64($p + $a, [=](i64 x) { return $b < x ? $b : x; })"},
	ir.AtomicMax: {dtype.I64: "atomic_i64($p + $a, [=](i64 x) { return $b > x ? $b : x; })"},
})

const hipHeader = `#ifdef __GFX9__
#define WAVE 64
#else
#define WAVE 32
#endif
#define WAVE_SYNC() do { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier(); } while (0)
#define SHUFFLE_XOR(v, n) __shfl_xor(v, n)
#define SHUFFLE_UP(v, n) __shfl_up(v, n)
#define SHUFFLE(v, l) __shfl(v, l)
#define BALLOT(c) u32(__ballot(c))
#define CONSTANT const
`

// hipHelpers are the helpers of CUDA without PTX, and the helpers that only HIP has.
var hipHelpers = append(pick(cudaHelpers, "Each<", "member_of", "bits_f32", "bits_f64", "u32_bits", "u64_bits", "bf16_f32", "max_f64", "min_f64", "atomic_f32", "atomic_f64", "atomic_part"), append([]helper{
	{"atomic_i64", `
template <class F> DEVICE i64 atomic_i64(i64* p, F f) {
	u64 old = *(volatile u64*)p, seen;
	do { seen = old; old = atomicCAS((u64*)p, seen, u64(f(i64(seen)))); } while (old != seen);
	return i64(old);
}
`},
	{"max_f32", `
DEVICE f32 max_f32(f32 x, f32 y) { return y != y || x == y && __float_as_int(y) >= 0 || x < y ? y : x; }
`},
	{"min_f32", `
DEVICE f32 min_f32(f32 x, f32 y) { return y != y || x == y && __float_as_int(y) < 0 || y < x ? y : x; }
`},
	{"f16_f32", `
DEVICE f32 f16_f32(u16 x) { return f32(__builtin_bit_cast(_Float16, x)); }
`},
	{"f32_f16", `
DEVICE u16 f32_f16(f32 x) { return __builtin_bit_cast(u16, _Float16(x)); }
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
