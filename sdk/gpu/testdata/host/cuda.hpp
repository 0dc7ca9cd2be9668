// CUDA C++ on the host, for g++: what the texts of package dialect use of the language, with a fiber for each thread of a block. Blocks
// run one after the other. Copies in the background are made as late as they may be, and threads take turns only where they wait.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static

struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, gridDim;

#define VECTOR(name, type) \
	struct __align__(2 * sizeof(type)) name##2 { type x, y; }; \
	struct __align__(16) name##4 { type x, y, z, w; };
VECTOR(float, float) VECTOR(int, int) VECTOR(uint, unsigned) VECTOR(double, double) VECTOR(longlong, long long) VECTOR(ulonglong, unsigned long long)

// Fibers.
struct meeting { int here = 0; unsigned times = 0; };
struct copy { void* to; const void* from; int bytes; };
struct fiber {
	ucontext_t context;
	std::vector<char> stack;
	bool ended;
	std::vector<copy> copies;
	std::vector<std::vector<copy>> groups;
};
struct subgroup { int live; meeting all; unsigned long long words[2][32]; unsigned rows[2][32]; };
static std::vector<fiber*> fibers;
static std::vector<subgroup> subgroups;
static meeting block;
static int live, current;
static unsigned long long moves; // that a thread made, so that a block which stands still is seen
static ucontext_t host;

static void turn() { const int me = current; swapcontext(&fibers[me]->context, &host); current = me; }

static void advance(meeting& m) { m.here = 0; m.times++; }

static void meet(meeting& m, const int& expected) {
	const unsigned time = m.times;
	moves++;
	if (++m.here == expected) { advance(m); return; }
	while (m.times == time) turn();
}

static void __syncthreads() { meet(block, live); }
static subgroup& mine() { return subgroups[threadIdx.x / 32]; }
static void __syncwarp() { meet(mine().all, mine().live); }

template <class F> static auto exchange(unsigned long long word, F read) {
	subgroup& s = mine();
	const int at = s.all.times & 1;
	s.words[at][threadIdx.x & 31] = word;
	meet(s.all, s.live);
	return read(s.words[at]);
}
template <class T> static T lane_of(T v, int lane) {
	unsigned long long w = 0;
	memcpy(&w, &v, sizeof v);
	w = exchange(w, [=](unsigned long long* all) { return all[lane & 31]; });
	memcpy(&v, &w, sizeof v);
	return v;
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int n) { return lane_of(v, (threadIdx.x & 31) ^ n); }
template <class T> static T __shfl_up_sync(unsigned, T v, int n) { const int l = threadIdx.x & 31; return lane_of(v, l < n ? l : l - n); }
template <class T> static T __shfl_sync(unsigned, T v, int l) { return lane_of(v, l); }
static unsigned __ballot_sync(unsigned, bool v) {
	const int n = mine().live;
	return exchange(v, [=](unsigned long long* all) { unsigned r = 0; for (int i = 0; i < n; i++) r |= unsigned(all[i] & 1) << i; return r; });
}

// Intrinsics.
template <class T, class F> static T bits(F x) { T y; static_assert(sizeof x == sizeof y, ""); memcpy(&y, &x, sizeof y); return y; }
static float __uint_as_float(unsigned x) { return bits<float>(x); }
static float __int_as_float(int x) { return bits<float>(x); }
static unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static float toward_zero(float r, bool away) { return away ? nextafterf(r, 0) : r; }
static float __double2float_rz(double x) { const float r = float(x); return toward_zero(r, fabs(double(r)) > fabs(x)); }
static float __ull2float_rz(unsigned long long x) { const float r = float(x); return toward_zero(r, (long double)r > (long double)x); }
static float __ll2float_rz(long long x) { return x < 0 ? -__ull2float_rz(0ull - (unsigned long long)x) : __ull2float_rz(x); }
static long long __float2ll_rz(float x) { return x >= 9223372036854775808.0f ? INT64_MAX : x < -9223372036854775808.0f ? INT64_MIN : (long long)x; }
static unsigned long long __float2ull_rz(float x) { return x >= 18446744073709551616.0f ? UINT64_MAX : x < 0 ? 0 : (unsigned long long)x; }
static float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
static double rsqrt(double x) { return 1 / sqrt(x); }
template <class T> static T atomicAdd(T* p, T v) { const T old = *p; *p = old + v; return old; }
static int atomicAdd(int* p, int v) { return int(atomicAdd((unsigned*)p, unsigned(v))); }
template <class T> static T atomicMin(T* p, T v) { const T old = *p; if (v < old) *p = v; return old; }
template <class T> static T atomicMax(T* p, T v) { const T old = *p; if (v > old) *p = v; return old; }
template <class T> static T atomicCAS(T* p, T was, T v) { const T old = *p; if (old == was) *p = v; return old; }

// Shared memory has addresses of 32 bits.
static char __align__(16) shared_bytes_[256 << 10];
static unsigned __cvta_generic_to_shared(const void* p) { return unsigned((uintptr_t)p - (uintptr_t)shared_bytes_); }
static unsigned long long __cvta_generic_to_global(const void* p) { return (uintptr_t)p; }
static void* at_shared(unsigned a) { return (void*)((uintptr_t)shared_bytes_ + int(a)); }

// PTX, by the names of instructions.
static float half_float(uint16_t x) { return float(bits<_Float16>(x)); }
static uint16_t float_half(float x) { return x != x ? 0x7fff : bits<uint16_t>(_Float16(x)); }
static float brain_float(uint16_t x) { return __uint_as_float(unsigned(x) << 16); }
static uint16_t float_brain(float x) {
	const unsigned b = __float_as_uint(x);
	return x != x ? 0x7fff : uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
static void ptx_cvt_f32_f16(float& r, uint16_t x) { r = half_float(x); }
static void ptx_cvt_rn_f16_f32(uint16_t& r, float x) { r = float_half(x); }
static void ptx_cvt_rn_bf16_f32(uint16_t& r, float x) { r = float_brain(x); }
static void ptx_cvt_rn_f16x2_f32(unsigned& r, float high, float low) { r = unsigned(float_half(high)) << 16 | float_half(low); }
static void ptx_cvt_rn_bf16x2_f32(unsigned& r, float high, float low) { r = unsigned(float_brain(high)) << 16 | float_brain(low); }
static void ptx_ex2_approx_ftz_f32(float& r, float x) { r = exp2f(x); if (fabsf(r) < 0x1p-126f) r = 0; }
// Of zeros the positive one is greater, and NaN stays.
static void ptx_max_NaN_f32(float& r, float a, float b) { r = a != a ? a : b != b ? b : a == b ? bits<float>(bits<unsigned>(a) & bits<unsigned>(b)) : a < b ? b : a; }
static void ptx_min_NaN_f32(float& r, float a, float b) { r = a != a ? a : b != b ? b : a == b ? bits<float>(bits<unsigned>(a) | bits<unsigned>(b)) : a < b ? a : b; }
static void ptx_copy(unsigned to, unsigned long long from, int bytes) {
	if (to % bytes || from % bytes) { fprintf(stderr, "a copy of %d bytes from %llx to %x\n", bytes, from, to); exit(3); }
	fibers[current]->copies.push_back({at_shared(to), (const void*)from, bytes});
}
static void ptx_cp_async_cg_shared_global_L2__128B(unsigned to, unsigned long long from) { ptx_copy(to, from, 16); }
static void ptx_cp_async_ca_shared_global(unsigned to, unsigned long long from, int bytes) { ptx_copy(to, from, bytes); }
static void ptx_cp_async_commit_group() { fiber& f = *fibers[current]; f.groups.push_back(f.copies); f.copies.clear(); }
static void ptx_cp_async_wait_group(int n) {
	auto& g = fibers[current]->groups;
	for (; int(g.size()) > n; g.erase(g.begin()))
		for (const copy& c : g[0]) memcpy(c.to, c.from, c.bytes);
}
// matrices loads n matrices of 8 by 8, whose rows are where the lanes of each eighth of the subgroup say.
static void matrices(unsigned* r, int n, unsigned row, bool transposed) {
	subgroup& s = mine();
	const int at = s.all.times & 1, l = threadIdx.x & 31;
	s.rows[at][l] = row;
	meet(s.all, s.live);
	for (int m = 0; m < n; m++) {
		uint16_t e[2];
		for (int k = 0; k < 2; k++) {
			const int i = transposed ? l % 4 * 2 + k : l / 4, j = transposed ? l / 4 : l % 4 * 2 + k;
			if (s.rows[at][m * 8 + i] % 16) { fprintf(stderr, "a row of a matrix at %x\n", s.rows[at][m * 8 + i]); exit(3); }
			e[k] = ((uint16_t*)at_shared(s.rows[at][m * 8 + i]))[j];
		}
		r[m] = unsigned(e[1]) << 16 | e[0];
	}
	meet(s.all, s.live);
}
static void load4(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned row, bool t) {
	unsigned r[4];
	matrices(r, 4, row, t);
	a = r[0], b = r[1], c = r[2], d = r[3];
}
static void load2(unsigned& a, unsigned& b, unsigned row, bool t) {
	unsigned r[2];
	matrices(r, 2, row, t);
	a = r[0], b = r[1];
}
static void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned row) { load4(a, b, c, d, row, false); }
static void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned row) { load4(a, b, c, d, row, true); }
static void ptx_ldmatrix_sync_aligned_m8n8_x2_shared_b16(unsigned& a, unsigned& b, unsigned row) { load2(a, b, row, false); }
static void ptx_ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16(unsigned& a, unsigned& b, unsigned row) { load2(a, b, row, true); }
static void mma(float (*value)(uint16_t), float* c[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
	const int l = threadIdx.x & 31;
	float whole_a[16][16], whole_b[16][8];
	for (int r = 0; r < 6; r++)
		exchange(r < 4 ? a[r] : b[r - 4], [&](unsigned long long* all) {
			for (int i = 0; i < 32; i++)
				for (int k = 0; k < 2; k++) {
					const float v = value(uint16_t(all[i] >> 16 * k));
					if (r < 4) whole_a[i / 4 + r % 2 * 8][i % 4 * 2 + k + r / 2 * 8] = v;
					else whole_b[i % 4 * 2 + k + (r - 4) * 8][i / 4] = v;
				}
			return 0;
		});
	for (int e = 0; e < 4; e++) {
		double sum = *c[e];
		for (int k = 0; k < 16; k++) sum += double(whole_a[l / 4 + e / 2 * 8][k]) * whole_b[k][l % 4 * 2 + e % 2];
		*c[e] = float(sum);
	}
}
#define MMA(t, value) \
	static void ptx_mma_sync_aligned_m16n8k16_row_col_f32_##t##_##t##_f32(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) { \
		float* c[4] = {&c0, &c1, &c2, &c3}; \
		mma(value, c, {a0, a1, a2, a3}, {b0, b1}); \
	}
MMA(f16, half_float) MMA(bf16, brain_float)

// Launches.
template <class T> static T argument(uint64_t word) { T v; memcpy(&v, &word, sizeof v); return v; }
template <class... A, size_t... I> static void call(void (*f)(A...), const uint64_t* args, std::index_sequence<I...>) { f(argument<A>(args[I])...); }
template <class... A> static void call(void (*f)(A...), const uint64_t* args) { call(f, args, std::index_sequence_for<A...>()); }

struct kernel { void (*run)(const uint64_t* args); int threads; bool meets; };
static const kernel* running;
static const uint64_t* arguments;

static void thread() {
	running->run(arguments);
	subgroup& s = mine();
	fibers[current]->ended = true;
	moves++;
	s.live--, live--;
	if (s.live && s.all.here == s.live) advance(s.all);
	if (live && block.here == live) advance(block);
	for (;;) turn();
}

static bool run_block() {
	const int n = running->threads;
	live = n, block = meeting();
	subgroups.assign((n + 31) / 32, subgroup());
	for (int i = 0; i < n; i++) {
		if (int(fibers.size()) == i) { fibers.push_back(new fiber()); fibers[i]->stack.resize(256 << 10); }
		fiber& f = *fibers[i];
		f.ended = false, f.copies.clear(), f.groups.clear();
		subgroups[i / 32].live++;
		getcontext(&f.context);
		f.context.uc_stack.ss_sp = f.stack.data(), f.context.uc_stack.ss_size = f.stack.size(), f.context.uc_link = 0;
		makecontext(&f.context, thread, 0);
	}
	for (unsigned long long before = ~0ull; live > 0;) {
		if (moves == before) return false;
		before = moves;
		for (int i = 0; i < n; i++) {
			if (fibers[i]->ended) continue;
			current = i, threadIdx.x = i;
			swapcontext(&host, &fibers[i]->context);
		}
	}
	return true;
}

static bool launch(const kernel& k, const uint64_t* grid, const uint64_t* args) {
	running = &k, arguments = args;
	gridDim = {unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])};
	for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
		for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
				if (!k.meets) {
					for (threadIdx.x = 0; int(threadIdx.x) < k.threads; threadIdx.x++) k.run(args);
				} else if (!run_block()) {
					return false;
				}
			}
	return true;
}
