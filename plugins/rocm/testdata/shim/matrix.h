// AMD's matrix instructions of 16x16x16, for hardware that has none: a wave puts its factors together in memory of the block, and each thread
// computes the results that the instruction gives it. What holds which element is AMD's list of registers. Before this text stand
// __shared__, MATRIX_WAVE (threads of a wave), matrix_meet() (waits for the wave), matrix_bits() and matrix_value() of an element.
#if defined(__GFX9__) // MFMA
#define MATRIX_FACTORS 4
#define MATRIX_RESULTS 4
#define MATRIX_DEPTH(l, i) (l / 16 * 4 + i)
#define MATRIX_ROW(l, i) (l / 16 * 4 + i)
#elif defined(__GFX12__) // WMMA of gfx12
#define MATRIX_FACTORS 8
#define MATRIX_RESULTS 8
#define MATRIX_DEPTH(l, i) (i / 4 * 8 + l / 16 * 4 + i % 4)
#define MATRIX_ROW(l, i) (l / 16 * 8 + i)
#else // WMMA of gfx11, which has each factor twice
#define MATRIX_FACTORS 16
#define MATRIX_RESULTS 8
#define MATRIX_DEPTH(l, i) (i)
#define MATRIX_ROW(l, i) (2 * i + l / 16)
#endif

// Blocks with matrix instructions have at most 256 threads. A wave beyond them, and a factor that is not there twice, make NaN, as MATRIX_FAULT does.
template <class Factor, class Result> static __device__ __forceinline__ Result matrix_multiply(Factor a, Factor b, Result c) {
	__shared__ unsigned short factors[256 / MATRIX_WAVE][2][256];
	const int wave = threadIdx.x / MATRIX_WAVE, l = threadIdx.x % MATRIX_WAVE;
#ifdef MATRIX_FAULT
	bool wrong = true;
#else
	bool wrong = wave >= 256 / MATRIX_WAVE;
#endif
	for (int turn = 0; turn < (MATRIX_FACTORS == 16 ? 2 : 1); turn++) {
		for (int i = 0; i < MATRIX_FACTORS && !wrong; i++) {
			unsigned short *x = &factors[wave][0][l % 16 * 16 + MATRIX_DEPTH(l, i)], *y = &factors[wave][1][l % 16 * 16 + MATRIX_DEPTH(l, i)];
			if (MATRIX_FACTORS == 16 && l / 16 != turn) continue;
			wrong = turn == 1 && (*x != matrix_bits(a[i]) || *y != matrix_bits(b[i]));
			*x = matrix_bits(a[i]), *y = matrix_bits(b[i]);
		}
		matrix_meet();
	}
	for (int i = 0; i < MATRIX_RESULTS; i++) {
		float sum = c[i];
		for (int k = 0; k < 16 && !wrong; k++) {
			sum = fmaf(matrix_value(a[0], factors[wave][0][MATRIX_ROW(l, i) * 16 + k]), matrix_value(b[0], factors[wave][1][l % 16 * 16 + k]), sum);
		}
		c[i] = wrong ? __int_as_float(0x7fc00000) : sum;
	}
	matrix_meet();
	return c;
}
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) matrix_multiply(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, x, y, z) matrix_multiply(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) matrix_multiply(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) matrix_multiply(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) matrix_multiply(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) matrix_multiply(a, b, c)
