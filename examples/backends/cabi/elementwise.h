/* Unary, binary and ternary ops: one scalar function for each op and type, and a kernel that walks the operands. */
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H

#include "types.h"

static inline int negative(int64_t v) { return v < 0; }

/* Integers wrap: they are computed as 64-bit unsigned numbers, and the low bits are kept. */
#define INT_OPS(S, T, W, SIGN)                                                                                                \
	static inline T add_##S(T a, T b) { return (T)((uint64_t)a + (uint64_t)b); }                                          \
	static inline T sub_##S(T a, T b) { return (T)((uint64_t)a - (uint64_t)b); }                                          \
	static inline T mul_##S(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }                                          \
	static inline T div_##S(T a, T b) {                                                                                   \
		return b == 0 ? (T)~(T)0 : SIGN && b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b);                            \
	}                                                                                                                     \
	static inline T rem_##S(T a, T b) { return b == 0 ? a : SIGN && b == (T)-1 ? 0 : (T)(a % b); }                        \
	static inline T pow_##S(T a, T b) {                                                                                   \
		uint64_t y = 1, x = (uint64_t)a;                                                                              \
		if (SIGN && negative(b)) {                                                                                 \
			return a == 1 || (a == (T)-1 && b % 2 == 0) ? 1 : a == (T)-1 ? (T)-1 : 0;                             \
		}                                                                                                             \
		for (uint64_t e = (uint64_t)b; e > 0; e >>= 1, x *= x) {                                                      \
			y *= e & 1 ? x : 1;                                                                                   \
		}                                                                                                             \
		return (T)y;                                                                                                  \
	}                                                                                                                     \
	static inline T max_##S(T a, T b) { return a > b ? a : b; }                                                           \
	static inline T min_##S(T a, T b) { return a < b ? a : b; }                                                           \
	static inline T shl_##S(T a, T b) { return (uint64_t)b >= W ? 0 : (T)((uint64_t)a << b); }                            \
	static inline T shr_##S(T a, T b) { return (uint64_t)b < W ? (T)(a >> b) : SIGN && negative(a) ? (T)-1 : 0; }      \
	static inline T neg_##S(T a) { return (T)(0 - (uint64_t)a); }                                                         \
	static inline T abs_##S(T a) { return SIGN && negative(a) ? neg_##S(a) : a; }                                      \
	static inline T not_##S(T a) { return (T)~a; }
EACH_INT(INT_OPS)

#define FLOAT_OPS(S, T, W, SIGN)                                                                                              \
	static inline T add_##S(T a, T b) { return a + b; }                                                                   \
	static inline T sub_##S(T a, T b) { return a - b; }                                                                   \
	static inline T mul_##S(T a, T b) { return a * b; }                                                                   \
	static inline T div_##S(T a, T b) { return a / b; }                                                                   \
	static inline T rem_##S(T a, T b) { return (T)fmod(a, b); }                                                           \
	static inline T pow_##S(T a, T b) { return (T)pow(a, b); }                                                            \
	static inline T atan2_##S(T a, T b) { return (T)atan2(a, b); }                                                        \
	static inline T max_##S(T a, T b) {                                                                                   \
		return isnan(a) ? a : isnan(b) ? b : a == b ? (signbit(a) ? b : a) : a > b ? a : b;                           \
	}                                                                                                                     \
	static inline T min_##S(T a, T b) {                                                                                   \
		return isnan(a) ? a : isnan(b) ? b : a == b ? (signbit(a) ? a : b) : a < b ? a : b;                           \
	}                                                                                                                     \
	static inline T neg_##S(T a) { return -a; }                                                                           \
	static inline T abs_##S(T a) { return (T)fabs(a); }                                                                   \
	static inline T round_##S(T a) { return (T)nearbyint(a); } /* ties to even */                                         \
	static inline uint8_t is_nan_##S(T a) { return isnan(a) != 0; }
EACH_FLOAT(FLOAT_OPS)

/* Functions of math.h, computed in double and rounded once. */
#define MATH(NAME)                                                                                                            \
	static inline double NAME##_F64(double a) { return NAME(a); }                                                         \
	static inline float NAME##_F32(float a) { return (float)NAME(a); }
MATH(exp) MATH(log) MATH(log1p) MATH(expm1) MATH(sqrt) MATH(sin) MATH(cos) MATH(tan) MATH(asin) MATH(acos) MATH(atan)
MATH(sinh) MATH(cosh) MATH(tanh) MATH(erf) MATH(floor) MATH(ceil)

#define COMPARE_OPS(S, T, W, SIGN)                                                                                            \
	static inline uint8_t equal_##S(T a, T b) { return a == b; }                                                          \
	static inline uint8_t less_##S(T a, T b) { return a < b; }
EACH_NUMBER(COMPARE_OPS) EACH_BOOL(COMPARE_OPS)

#define LOGIC_OPS(S, T, W, SIGN)                                                                                              \
	static inline T and_##S(T a, T b) { return a & b; }                                                                   \
	static inline T or_##S(T a, T b) { return a | b; }                                                                    \
	static inline T xor_##S(T a, T b) { return a ^ b; }
EACH_INT(LOGIC_OPS) EACH_BOOL(LOGIC_OPS)

static inline uint8_t not_BOOL(uint8_t a) { return !a; }

/* Kernels. OP and R, the type of the result (or SAME), come from the macros that the type lists are given to. */
#define SAME_TYPE(T) T
#define BOOL_TYPE(T) uint8_t

#define UNARY_CASE(OP, R, S, T)                                                                                               \
	case BURN_##S: {                                                                                                      \
		const T *a = in[0]->data;                                                                                     \
		R(T) *y = out[0]->data;                                                                                       \
		for (int64_t i = 0; i < out[0]->count; i++) {                                                                 \
			y[i] = OP##_##S(a[i]);                                                                                \
		}                                                                                                             \
		return BURN_OK;                                                                                               \
	}

#define BINARY_CASE(OP, R, S, T)                                                                                              \
	case BURN_##S: {                                                                                                      \
		const T *a = in[0]->data, *b = in[1]->data;                                                                   \
		R(T) *y = out[0]->data;                                                                                       \
		walk w = walk_over(&out[0]->desc);                                                                            \
		walk_broadcast(&w, 0, &in[0]->desc);                                                                          \
		walk_broadcast(&w, 1, &in[1]->desc);                                                                          \
		for (int64_t i = 0; i < out[0]->count; i++, walk_next(&w)) {                                                  \
			y[i] = OP##_##S(a[w.at[0]], b[w.at[1]]);                                                              \
		}                                                                                                             \
		return BURN_OK;                                                                                               \
	}

#define KERNEL(OP, CASES)                                                                                                     \
	static int32_t run_##OP(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e) {   \
		(void)n;                                                                                                      \
		switch (in[0]->desc.dtype) { CASES }                                                                          \
		return burn_fail(e, BURN_ERR_DTYPE, "element type %u", in[0]->desc.dtype);                                    \
	}

#define CASES_FLOAT(CASE, OP, R) CASE(OP, R, F64, double) CASE(OP, R, F32, float)
#define CASES_SIGNED(CASE, OP, R) CASE(OP, R, I64, int64_t) CASE(OP, R, I32, int32_t)
#define CASES_INT(CASE, OP, R) CASES_SIGNED(CASE, OP, R) CASE(OP, R, U8, uint8_t)
#define CASES_NUMBER(CASE, OP, R) CASES_FLOAT(CASE, OP, R) CASES_INT(CASE, OP, R)
#define CASES_BITS(CASE, OP, R) CASES_INT(CASE, OP, R) CASE(OP, R, BOOL, uint8_t)
#define CASES_ANY(CASE, OP, R) CASES_NUMBER(CASE, OP, R) CASE(OP, R, BOOL, uint8_t)

#define FLOAT_UNARY(OP) KERNEL(OP, CASES_FLOAT(UNARY_CASE, OP, SAME_TYPE))
FLOAT_UNARY(exp) FLOAT_UNARY(log) FLOAT_UNARY(log1p) FLOAT_UNARY(expm1) FLOAT_UNARY(sqrt) FLOAT_UNARY(sin) FLOAT_UNARY(cos)
FLOAT_UNARY(tan) FLOAT_UNARY(asin) FLOAT_UNARY(acos) FLOAT_UNARY(atan) FLOAT_UNARY(sinh) FLOAT_UNARY(cosh) FLOAT_UNARY(tanh)
FLOAT_UNARY(erf) FLOAT_UNARY(floor) FLOAT_UNARY(ceil) FLOAT_UNARY(round)
KERNEL(neg, CASES_FLOAT(UNARY_CASE, neg, SAME_TYPE) CASES_SIGNED(UNARY_CASE, neg, SAME_TYPE))
KERNEL(abs, CASES_NUMBER(UNARY_CASE, abs, SAME_TYPE))
KERNEL(not, CASES_BITS(UNARY_CASE, not, SAME_TYPE))
KERNEL(is_nan, CASES_FLOAT(UNARY_CASE, is_nan, BOOL_TYPE))

#define NUMBER_BINARY(OP) KERNEL(OP, CASES_NUMBER(BINARY_CASE, OP, SAME_TYPE))
NUMBER_BINARY(add) NUMBER_BINARY(sub) NUMBER_BINARY(mul) NUMBER_BINARY(div) NUMBER_BINARY(rem) NUMBER_BINARY(pow)
NUMBER_BINARY(max) NUMBER_BINARY(min)
KERNEL(atan2, CASES_FLOAT(BINARY_CASE, atan2, SAME_TYPE))
KERNEL(equal, CASES_ANY(BINARY_CASE, equal, BOOL_TYPE))
KERNEL(less, CASES_NUMBER(BINARY_CASE, less, BOOL_TYPE))
KERNEL(and, CASES_BITS(BINARY_CASE, and, SAME_TYPE))
KERNEL(or, CASES_BITS(BINARY_CASE, or, SAME_TYPE))
KERNEL(xor, CASES_BITS(BINARY_CASE, xor, SAME_TYPE))
KERNEL(shl, CASES_INT(BINARY_CASE, shl, SAME_TYPE))
KERNEL(shr, CASES_INT(BINARY_CASE, shr, SAME_TYPE))

static int32_t run_where(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e) {
	const uint8_t *condition = in[0]->data;
	uint64_t size = burn_size_of(out[0]->desc.dtype);
	walk w = walk_over(&out[0]->desc);
	(void)n, (void)e;
	for (int k = 0; k < 3; k++) {
		walk_broadcast(&w, k, &in[k]->desc);
	}
	for (int64_t i = 0; i < out[0]->count; i++, walk_next(&w)) {
		int k = condition[w.at[0]] ? 1 : 2;
		copy_element(out[0]->data, i, in[k]->data, w.at[k], size);
	}
	return BURN_OK;
}

#endif
