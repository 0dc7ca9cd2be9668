// What HIP C++ of burn's kernels needs to run on a GPU of NVIDIA's: this text and matrix.h stand before each of them, and NVRTC compiles all. A
// wave of 64 threads is a pair of warps, which meet at a barrier of their own.
#ifdef __GFX9__
#define NV_WAVE 64
#else
#define NV_WAVE 32
#endif

static __device__ __forceinline__ unsigned nv_lane() { return threadIdx.x & (NV_WAVE - 1); }
#if NV_WAVE == 64
// Barrier 0 is that of the block, and there are 15 more: blocks have at most 15 waves.
static __device__ __forceinline__ void nv_meet() {
	const unsigned wave = threadIdx.x / 64, left = (blockDim.x + 31) / 32 * 32 - wave * 64;
	asm volatile("barrier.sync %0, %1;" ::"r"(wave + 1), "r"(left < 64 ? left : 64) : "memory");
}
static __device__ __forceinline__ unsigned long long *nv_slots() {
	__shared__ unsigned long long slots[960];
	return slots;
}
template <class T> static __device__ __forceinline__ T nv_exchange(T v, unsigned from) {
	unsigned long long *slots = nv_slots();
	union { unsigned long long word; T value; } x;
	x.word = 0;
	x.value = v;
	slots[threadIdx.x] = x.word;
	nv_meet();
	x.word = slots[threadIdx.x / 64 * 64 + from];
	nv_meet();
	return x.value;
}
static __device__ __forceinline__ unsigned long long nv_ballot(int c) {
	const unsigned long long half = __ballot_sync(~0u, c);
	const unsigned long long low = nv_exchange(half, 0);
	return blockDim.x - threadIdx.x / 64 * 64 > 32 ? low | nv_exchange(half, 32) << 32 : low;
}
#else
static __device__ __forceinline__ void nv_meet() { __syncwarp(); }
template <class T> static __device__ __forceinline__ T nv_exchange(T v, unsigned from) { return __shfl_sync(~0u, v, from); }
static __device__ __forceinline__ unsigned long long nv_ballot(int c) { return __ballot_sync(~0u, c); }
#endif
template <class T> static __device__ __forceinline__ T nv_shfl(T v, int lane) { return nv_exchange(v, lane & (NV_WAVE - 1)); }
template <class T> static __device__ __forceinline__ T nv_shfl_xor(T v, int mask) { return nv_exchange(v, (nv_lane() ^ mask) & (NV_WAVE - 1)); }
template <class T> static __device__ __forceinline__ T nv_shfl_up(T v, unsigned n) { return nv_exchange(v, nv_lane() < n ? nv_lane() : nv_lane() - n); }
#define __shfl nv_shfl
#define __shfl_xor nv_shfl_xor
#define __shfl_up nv_shfl_up
#define __ballot nv_ballot
#define __builtin_amdgcn_fence(...) ((void)0)
#define __builtin_amdgcn_wave_barrier() nv_meet()

struct nv_half {
	unsigned short bits;
	nv_half() = default;
	__device__ explicit nv_half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
	__device__ explicit operator float() const { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits)); return r; }
};
#define _Float16 nv_half
template <class To, class From> static __device__ __forceinline__ To nv_bits(const From &x) {
	static_assert(sizeof(To) == sizeof(From), "bits");
	To r = *(const To *)&x;
	return r;
}
#define __builtin_bit_cast(T, x) nv_bits<T>(x)

template <class T, int n> struct nv_vector {
	T x[n];
	__device__ __forceinline__ T &operator[](int i) { return x[i]; }
};
#define VECTOR(T, n) nv_vector<T, n>
#define MATRIX_WAVE NV_WAVE
#define matrix_meet nv_meet
static __device__ __forceinline__ unsigned short matrix_bits(nv_half x) { return x.bits; }
static __device__ __forceinline__ unsigned short matrix_bits(short x) { return x; }
static __device__ __forceinline__ float matrix_value(nv_half x, unsigned short bits) { x.bits = bits; return float(x); }
static __device__ __forceinline__ float matrix_value(short, unsigned short bits) { return __uint_as_float(bits << 16); }
