package dialect

// cudaHeader names the types. NVRTC has no header for them.
const cudaHeader = `typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef float f32; typedef double f64;
#define DEVICE static __device__ __forceinline__
`

// cudaHelpers are in CUDA C++ and PTX of compute capability 8.0.
var cudaHelpers = []helper{
	// Each holds the arguments of the members of a batched kernel. With CONSTANT, threads read parameters in place; without it, an index
	// that is not constant makes each thread copy all parameters.
	{"Each<", `
template <class T, int N> struct Each { T of[N]; };
`},
	{"CONSTANT", `
#define CONSTANT const __grid_constant__
`},
	{"member_of", `
template <int N> DEVICE i32 member_of(const Each<i32, N>& starts, i32 block) {
	i32 member = 0, step = 1;
	while (step < N - 1) step *= 2;
	for (; step > 0; step /= 2) if (member + step < N - 1 && starts.of[member + step] <= block) member += step;
	return member;
}
`},
	{"bits_f32", `
DEVICE f32 bits_f32(u32 x) { return __uint_as_float(x); }
`},
	{"bits_f64", `
DEVICE f64 bits_f64(u64 x) { return __longlong_as_double(i64(x)); }
`},
	{"u32_bits", `
DEVICE u32 u32_bits(f32 x) { return __float_as_uint(x); }
DEVICE u32 u32_bits(i32 x) { return u32(x); }
DEVICE u32 u32_bits(u32 x) { return x; }
`},
	{"u64_bits", `
DEVICE u64 u64_bits(f64 x) { return u64(__double_as_longlong(x)); }
DEVICE u64 u64_bits(i64 x) { return u64(x); }
DEVICE u64 u64_bits(u64 x) { return x; }
`},
	{"f16_f32", `
DEVICE f32 f16_f32(u16 x) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
`},
	{"f32_f16", `
DEVICE u16 f32_f16(f32 x) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
`},
	{"bf16_f32", `
DEVICE f32 bf16_f32(u16 x) { return __uint_as_float(u32(x) << 16); }
`},
	{"f32_bf16", `
DEVICE u16 f32_bf16(f32 x) { u16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
`},
	// Rounding to odd: a later rounding to fewer bits returns the same result as a single rounding.
	{"f64_odd", `
DEVICE f32 f64_odd(f64 x) { const f32 r = __double2float_rz(x); return f64(r) == x || x != x || x - x != 0.0 ? r : __uint_as_float(__float_as_uint(r) | 1u); }
`},
	{"i64_odd", `
DEVICE f32 i64_odd(i64 x) { const f32 r = __ll2float_rz(x); return __float2ll_rz(r) == x ? r : __uint_as_float(__float_as_uint(r) | 1u); }
`},
	{"u64_odd", `
DEVICE f32 u64_odd(u64 x) { const f32 r = __ull2float_rz(x); return __float2ull_rz(r) == x ? r : __uint_as_float(__float_as_uint(r) | 1u); }
`},
	{"max_f32", `
DEVICE f32 max_f32(f32 x, f32 y) { f32 r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
`},
	{"min_f32", `
DEVICE f32 min_f32(f32 x, f32 y) { f32 r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
`},
	{"max_f64", `
DEVICE f64 max_f64(f64 x, f64 y) { return y != y || x == y && __double_as_longlong(y) >= 0 || x < y ? y : x; }
`},
	{"min_f64", `
DEVICE f64 min_f64(f64 x, f64 y) { return y != y || x == y && __double_as_longlong(y) < 0 || y < x ? y : x; }
`},
	{"atomic_f32", `
template <class F> DEVICE f32 atomic_f32(f32* p, F f) {
	u32 old = *(volatile u32*)p, seen;
	do { seen = old; old = atomicCAS((u32*)p, seen, __float_as_uint(f(__uint_as_float(seen)))); } while (old != seen);
	return __uint_as_float(old);
}
`},
	{"atomic_f64", `
template <class F> DEVICE f64 atomic_f64(f64* p, F f) {
	u64 old = *(volatile u64*)p, seen;
	do { seen = old; old = atomicCAS((u64*)p, seen, u64(__double_as_longlong(f(__longlong_as_double(i64(seen)))))); } while (old != seen);
	return __longlong_as_double(i64(old));
}
`},
	{"atomic_part", `
template <class T, class F> DEVICE T atomic_part(T* p, F f) {
	u32* const word = (u32*)(u64(p) & ~u64(3));
	const u32 shift = u32(u64(p) & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
	u32 old = *(volatile u32*)word, seen;
	do { seen = old; old = atomicCAS(word, seen, seen & ~mask | (u32(f(T(seen >> shift))) << shift & mask)); } while (old != seen);
	return T(old >> shift);
}
`},
	{"exp2_fast", `
DEVICE f32 exp2_fast(f32 x) {
	f32 y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
`},
	{"copy_async", `
template <int N> DEVICE void copy_async(void* to, const void* from) {
	const u32 s = u32(__cvta_generic_to_shared(to));
	const u64 g = __cvta_generic_to_global(from);
	if (N == 16) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(s), "l"(g) : "memory");
	else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(s), "l"(g), "n"(N) : "memory");
}
`},
	{"copy_commit", `
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
`},
	{"copy_wait", `
template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
`},
	{"frag_a_16_8_16", `
struct frag_a_16_8_16 { u32 x[4]; };
`},
	{"frag_b_16_8_16", `
struct frag_b_16_8_16 { u32 x[2]; };
`},
	{"frag_c_16_8_16", `
struct frag_c_16_8_16 { f32 x[4]; };
`},
	{"frag_fill", `
DEVICE void frag_fill(frag_c_16_8_16& f, f32 v) { f.x[0] = v; f.x[1] = v; f.x[2] = v; f.x[3] = v; }
`},
	// An 8×8 matrix is loaded from the addresses of its rows. Lanes 8m to 8m+7 supply the addresses for matrix m.
	{"frag_load", `
DEVICE void frag_load(frag_a_16_8_16& f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + (lane & 15) * stride + (lane >> 4) * 8));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3]) : "r"(a) : "memory");
}
DEVICE void frag_load_transposed(frag_a_16_8_16& f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + ((lane >> 4) * 8 + (lane & 7)) * stride + (lane >> 3 & 1) * 8));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3]) : "r"(a) : "memory");
}
DEVICE void frag_load(frag_b_16_8_16& f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + (lane & 15) * stride));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(f.x[0]), "=r"(f.x[1]) : "r"(a) : "memory");
}
DEVICE void frag_load_transposed(frag_b_16_8_16& f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + (lane & 7) * stride + (lane >> 3 & 1) * 8));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(f.x[0]), "=r"(f.x[1]) : "r"(a) : "memory");
}
`},
	{"_pair(", `
DEVICE void frag_load_pair(frag_b_16_8_16* f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + (lane & 15) * stride + (lane >> 4) * 8));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(f[0].x[0]), "=r"(f[0].x[1]), "=r"(f[1].x[0]), "=r"(f[1].x[1]) : "r"(a) : "memory");
}
DEVICE void frag_load_transposed_pair(frag_b_16_8_16* f, const u16* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31);
	const u32 a = u32(__cvta_generic_to_shared(s + ((lane >> 4) * 8 + (lane & 7)) * stride + (lane >> 3 & 1) * 8));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(f[0].x[0]), "=r"(f[0].x[1]), "=r"(f[1].x[0]), "=r"(f[1].x[1]) : "r"(a) : "memory");
}
`},
	{"mma_f16", `
DEVICE void mma_f16(frag_c_16_8_16& c, const frag_a_16_8_16& a, const frag_b_16_8_16& b) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3]) : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.x[0]), "r"(b.x[1]));
}
`},
	{"mma_bf16", `
DEVICE void mma_bf16(frag_c_16_8_16& c, const frag_a_16_8_16& a, const frag_b_16_8_16& b) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3]) : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.x[0]), "r"(b.x[1]));
}
`},
	{"frag_pack_f16", `
DEVICE void frag_pack_f16(frag_a_16_8_16& a, const frag_c_16_8_16* c) {
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a.x[0]) : "f"(c[0].x[1]), "f"(c[0].x[0]));
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a.x[1]) : "f"(c[0].x[3]), "f"(c[0].x[2]));
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a.x[2]) : "f"(c[1].x[1]), "f"(c[1].x[0]));
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a.x[3]) : "f"(c[1].x[3]), "f"(c[1].x[2]));
}
`},
	{"frag_pack_bf16", `
DEVICE void frag_pack_bf16(frag_a_16_8_16& a, const frag_c_16_8_16* c) {
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a.x[0]) : "f"(c[0].x[1]), "f"(c[0].x[0]));
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a.x[1]) : "f"(c[0].x[3]), "f"(c[0].x[2]));
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a.x[2]) : "f"(c[1].x[1]), "f"(c[1].x[0]));
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a.x[3]) : "f"(c[1].x[3]), "f"(c[1].x[2]));
}
`},
	{"frag_store", `
DEVICE void frag_store(const frag_c_16_8_16& f, f32* s, i32 stride) {
	const i32 lane = i32(threadIdx.x & 31), row = lane >> 2, column = (lane & 3) * 2;
	s[row * stride + column] = f.x[0]; s[row * stride + column + 1] = f.x[1];
	s[(row + 8) * stride + column] = f.x[2]; s[(row + 8) * stride + column + 1] = f.x[3];
}
`},
}
