// What HIP C++ of burn's kernels needs to run on the processor, thread by thread: this text stands before each of them. A thread of a
// block is a fiber of host.c, which hands over at barriers and at what the threads of a wave do together. Blocks run one after the other.
#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ thread_local

struct host_dim { unsigned x, y, z; };
extern "C" {
host_dim threadIdx, blockIdx, gridDim, blockDim;
void (*host_block)();                               // waits for the block
const unsigned long long *(*host_wave)(unsigned long long); // waits for the wave; returns what each of its threads gave
__attribute__((aligned(16))) thread_local unsigned char shared_bytes[65536];
}
static inline void __syncthreads() { host_block(); }

template <class To, class From> static inline To host_bits(From x) { return __builtin_bit_cast(To, x); }
static inline float __int_as_float(int x) { return host_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return host_bits<float>(x); }
static inline int __float_as_int(float x) { return host_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return host_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }

// The wave: HIP's __shfl functions with the whole wave as their width. A thread that is not there has given all ones.
#ifdef __GFX9__
#define HOST_WAVE 64
#else
#define HOST_WAVE 32
#endif
template <class T> static inline unsigned long long host_word(T x) {
	unsigned long long w = 0;
	__builtin_memcpy(&w, &x, sizeof x);
	return w;
}
template <class T> static inline T host_value(unsigned long long w) {
	T x;
	__builtin_memcpy(&x, &w, sizeof x);
	return x;
}
static inline int host_lane() { return threadIdx.x & (HOST_WAVE - 1); }
template <class T> static inline T __shfl(T v, int lane) { return host_value<T>(host_wave(host_word(v))[lane & (HOST_WAVE - 1)]); }
template <class T> static inline T __shfl_xor(T v, int mask) {
	const int self = host_lane(), to = self ^ mask;
	return host_value<T>(host_wave(host_word(v))[to < HOST_WAVE ? to : self]);
}
template <class T> static inline T __shfl_up(T v, unsigned n) {
	const int self = host_lane();
	return host_value<T>(host_wave(host_word(v))[self < int(n) ? self : self - int(n)]);
}
static inline unsigned long long __ballot(int c) {
	const unsigned long long *all = host_wave(c != 0);
	unsigned long long votes = 0;
	for (int i = 0; i < HOST_WAVE; i++) votes |= (unsigned long long)(all[i] == 1) << i;
	return votes;
}
#define __builtin_amdgcn_fence(...) ((void)0)
#define __builtin_amdgcn_wave_barrier() ((void)host_wave(0))

// Threads run one at a time: what is atomic on a GPU is so here.
template <class T, class U> static inline T atomicAdd(T *p, U v) { T old = *p; *p = T(old + T(v)); return old; }
template <class T, class U> static inline T atomicMin(T *p, U v) { T old = *p; if (T(v) < old) *p = T(v); return old; }
template <class T, class U> static inline T atomicMax(T *p, U v) { T old = *p; if (old < T(v)) *p = T(v); return old; }
template <class T, class U, class V> static inline T atomicCAS(T *p, U c, V v) { T old = *p; if (old == T(c)) *p = T(v); return old; }
static inline void __threadfence() {}

#define HOST_VECTOR(name, type) \
	struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; }; \
	struct __attribute__((aligned(sizeof(type) == 8 ? 16 : 4 * sizeof(type)))) name##4 { type x, y, z, w; };
HOST_VECTOR(float, float) HOST_VECTOR(int, int) HOST_VECTOR(uint, unsigned) HOST_VECTOR(double, double)
HOST_VECTOR(longlong, long long) HOST_VECTOR(ulonglong, unsigned long long)

#define HOST_MATH(n) extern "C" double n(double); extern "C" float n##f(float);
HOST_MATH(exp) HOST_MATH(exp2) HOST_MATH(expm1) HOST_MATH(log) HOST_MATH(log2) HOST_MATH(log1p) HOST_MATH(sqrt) HOST_MATH(sin) HOST_MATH(cos) HOST_MATH(tan)
HOST_MATH(asin) HOST_MATH(acos) HOST_MATH(atan) HOST_MATH(sinh) HOST_MATH(cosh) HOST_MATH(tanh) HOST_MATH(erf) HOST_MATH(erfc)
HOST_MATH(floor) HOST_MATH(ceil) HOST_MATH(trunc) HOST_MATH(rint) HOST_MATH(fabs)
#define HOST_MATH2(n) extern "C" double n(double, double); extern "C" float n##f(float, float);
HOST_MATH2(pow) HOST_MATH2(atan2) HOST_MATH2(fmod) HOST_MATH2(fmin) HOST_MATH2(fmax)
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }

#define MATRIX_WAVE HOST_WAVE
#define matrix_meet() ((void)host_wave(0))
static inline unsigned short matrix_bits(_Float16 x) { return host_bits<unsigned short>(x); }
static inline unsigned short matrix_bits(short x) { return x; }
static inline float matrix_value(_Float16, unsigned short bits) { return host_bits<_Float16>(bits); }
static inline float matrix_value(short, unsigned short bits) { return host_bits<float>(unsigned(bits) << 16); }
#include "matrix.h"

// HOST_KERNEL makes what host.c calls: the kernel with pointers to its arguments, and the bytes of an argument, 0 where there is none.
template <unsigned long... I> struct host_indices {};
template <unsigned long N, unsigned long... I> struct host_count : host_count<N - 1, N - 1, I...> {};
template <unsigned long... I> struct host_count<0, I...> { typedef host_indices<I...> type; };
template <class... A, unsigned long... I> static void host_call(void (*f)(A...), void **p, host_indices<I...>) { f(*(A *)p[I]...); }
template <class... A> static void host_call(void (*f)(A...), void **p) { host_call(f, p, typename host_count<sizeof...(A)>::type()); }
template <class... A> static int host_size(void (*)(A...), int i) {
	const int sizes[] = {int(sizeof(A))..., 0};
	return i < int(sizeof...(A)) ? sizes[i] : 0;
}
#define HOST_KERNEL(k) \
	extern "C" void call_##k(void **p) { host_call(k, p); } \
	extern "C" int size_##k(int i) { return host_size(k, i); }
