/* Reductions, scans, sort. */
#ifndef REDUCTION_H
#define REDUCTION_H

#include "movement.h"

#define LEAST_F64 (-INFINITY)
#define LEAST_F32 (-INFINITY)
#define LEAST_I64 INT64_MIN
#define LEAST_I32 INT32_MIN
#define LEAST_U8 0
#define GREATEST_F64 INFINITY
#define GREATEST_F32 INFINITY
#define GREATEST_I64 INT64_MAX
#define GREATEST_I32 INT32_MAX
#define GREATEST_U8 255

#define ZERO(S) 0
#define ONE(S) 1
#define LEAST(S) LEAST_##S
#define GREATEST(S) GREATEST_##S

/* Sums and products of f32 are kept in double until the end, so each result has a place of type A beside it. */
#define REDUCE_CASE(OP, ID, S, T, A, MEET)                                                                                    \
	case BURN_##S: {                                                                                                      \
		const T *x = in[0]->data;                                                                                     \
		T *y = out[0]->data;                                                                                          \
		A *sum = malloc((size_t)(out[0]->count ? out[0]->count : 1) * sizeof *sum);                                   \
		if (!sum) {                                                                                                   \
			return burn_fail(e, BURN_ERR_OUT_OF_MEMORY, "partial results");                                       \
		}                                                                                                             \
		for (int64_t i = 0; i < out[0]->count; i++) {                                                                 \
			sum[i] = ID(S);                                                                                       \
		}                                                                                                             \
		for (int64_t i = 0; i < in[0]->count; i++, walk_next(&w)) {                                                   \
			sum[w.at[0]] = MEET(sum[w.at[0]], x[i]);                                                              \
		}                                                                                                             \
		for (int64_t i = 0; i < out[0]->count; i++) {                                                                 \
			y[i] = (T)sum[i];                                                                                     \
		}                                                                                                             \
		free(sum);                                                                                                    \
		return BURN_OK;                                                                                               \
	}

#define REDUCE(NAME, OP, ID)                                                                                                  \
	static int32_t run_##NAME(const burn_node *n, inputs in, outputs out, burn_error *e) {                                \
		walk w = reduce_walk(n, &in[0]->desc);                                                                        \
		switch (in[0]->desc.dtype) {                                                                                  \
			REDUCE_CASE(OP, ID, F64, double, double, OP##_F64)                                                    \
			REDUCE_CASE(OP, ID, F32, float, double, OP##_F64)                                                     \
			REDUCE_CASE(OP, ID, I64, int64_t, int64_t, OP##_I64)                                                  \
			REDUCE_CASE(OP, ID, I32, int32_t, int32_t, OP##_I32)                                                  \
			REDUCE_CASE(OP, ID, U8, uint8_t, uint8_t, OP##_U8)                                                    \
		}                                                                                                             \
		return burn_fail(e, BURN_ERR_DTYPE, "element type %u", in[0]->desc.dtype);                                    \
	}

/* A walk over x whose operand 0 is the result: it does not move along the reduced axes. */
static walk reduce_walk(const burn_node *n, const burn_desc *x) {
	uint64_t count;
	const int64_t *axes = burn_ints(n, "axes", &count);
	walk w = walk_over(x);
	int64_t stride = 1;
	for (int d = w.rank - 1; d >= 0; d--) {
		int reduced = 0;
		for (uint64_t k = 0; k < count; k++) {
			reduced = reduced || axes[k] == d;
		}
		w.stride[0][d] = reduced ? 0 : stride;
		stride *= reduced ? 1 : x->dims[d];
	}
	return w;
}

REDUCE(sum, add, ZERO)
REDUCE(prod, mul, ONE)
REDUCE(reduce_max, max, LEAST)
REDUCE(reduce_min, min, GREATEST)

/* Whether element a of x comes before b in ascending order: NaN is greater than everything, and the zeros are equal. */
#define BEFORE_FLOAT(S, T, W, SIGN)                                                                                           \
	static inline int before_##S(T a, T b) { return isnan(b) ? !isnan(a) : a < b; }
#define BEFORE_INT(S, T, W, SIGN)                                                                                             \
	static inline int before_##S(T a, T b) { return a < b; }
EACH_FLOAT(BEFORE_FLOAT)
EACH_INT(BEFORE_INT)

#define BEFORE_CASE(S, T, W, SIGN)                                                                                            \
	case BURN_##S: return before_##S(((const T *)x)[a], ((const T *)x)[b]);

static int before(uint32_t dtype, const void *x, int64_t a, int64_t b) {
	switch (dtype) { EACH_NUMBER(BEFORE_CASE) }
	return 0;
}

static int is_nan_at(uint32_t dtype, const void *x, int64_t k) {
	number v = get(dtype, x, k);
	return !v.is_int && isnan(v.f);
}

/* The first NaN, else the first of the greatest (least). */
static int32_t arg(const burn_node *n, inputs in, outputs out, int greatest) {
	uint32_t dtype = in[0]->desc.dtype;
	lines l = lines_along(&in[0]->desc, burn_int(n, "axis"));
	int64_t *y = out[0]->data;
	for (int64_t o = 0; o < l.outer; o++) {
		for (int64_t i = 0; i < l.inner; i++) {
			int64_t base = o * l.length * l.inner + i, best = 0;
			for (int64_t k = 1; k < l.length && !is_nan_at(dtype, in[0]->data, base + best * l.inner); k++) {
				int64_t a = base + best * l.inner, b = base + k * l.inner;
				if (is_nan_at(dtype, in[0]->data, b) || (greatest ? before(dtype, in[0]->data, a, b) : before(dtype, in[0]->data, b, a))) {
					best = k;
				}
			}
			y[o * l.inner + i] = best;
		}
	}
	return BURN_OK;
}

static int32_t run_argmax(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)e;
	return arg(n, in, out, 1);
}

static int32_t run_argmin(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)e;
	return arg(n, in, out, 0);
}

#define SCAN_CASE(ID, S, T, A, MEET)                                                                                          \
	case BURN_##S:                                                                                                        \
		for (int64_t o = 0; o < l.outer; o++) {                                                                       \
			for (int64_t i = 0; i < l.inner; i++) {                                                               \
				A sum = ID(S);                                                                                \
				for (int64_t k = 0; k < l.length; k++) {                                                      \
					int64_t at = (o * l.length + (reverse ? l.length - 1 - k : k)) * l.inner + i;         \
					A next = MEET(sum, ((const T *)in[0]->data)[at]);                                     \
					((T *)out[0]->data)[at] = (T)(exclusive ? sum : next);                                \
					sum = next;                                                                           \
				}                                                                                             \
			}                                                                                                     \
		}                                                                                                             \
		return BURN_OK;

#define SCAN(NAME, OP, ID)                                                                                                    \
	static int32_t run_##NAME(const burn_node *n, inputs in, outputs out, burn_error *e) {                                \
		lines l = lines_along(&in[0]->desc, burn_int(n, "axis"));                                                     \
		int exclusive = burn_flag(n, "exclusive"), reverse = burn_flag(n, "reverse");                                 \
		switch (in[0]->desc.dtype) {                                                                                  \
			SCAN_CASE(ID, F64, double, double, OP##_F64)                                                          \
			SCAN_CASE(ID, F32, float, double, OP##_F64)                                                           \
			SCAN_CASE(ID, I64, int64_t, int64_t, OP##_I64)                                                        \
			SCAN_CASE(ID, I32, int32_t, int32_t, OP##_I32)                                                        \
			SCAN_CASE(ID, U8, uint8_t, uint8_t, OP##_U8)                                                          \
		}                                                                                                             \
		return burn_fail(e, BURN_ERR_DTYPE, "element type %u", in[0]->desc.dtype);                                    \
	}

SCAN(cumsum, add, ZERO)
SCAN(cumprod, mul, ONE)
SCAN(cummax, max, LEAST)
SCAN(cummin, min, GREATEST)

/* Stable merge sort of positions along each line. */
static int32_t run_sort(const burn_node *n, inputs in, outputs out, burn_error *e) {
	uint32_t dtype = in[0]->desc.dtype;
	uint64_t size = burn_size_of(dtype);
	int descending = burn_flag(n, "descending");
	lines l = lines_along(&in[0]->desc, burn_int(n, "axis"));
	int64_t *at = malloc((size_t)(2 * l.length + 1) * sizeof *at);
	if (!at) {
		return burn_fail(e, BURN_ERR_OUT_OF_MEMORY, "positions of %lld elements", (long long)l.length);
	}
	for (int64_t line = 0; line < l.outer * l.inner; line++) {
		int64_t base = line / l.inner * l.length * l.inner + line % l.inner;
		int64_t *from = at, *to = at + l.length;
		for (int64_t k = 0; k < l.length; k++) {
			from[k] = k;
		}
		for (int64_t width = 1; width < l.length; width *= 2) {
			for (int64_t lo = 0; lo < l.length; lo += 2 * width) {
				int64_t mid = lo + width < l.length ? lo + width : l.length, hi = mid + width < l.length ? mid + width : l.length;
				for (int64_t a = lo, b = mid, k = lo; k < hi; k++) {
					int second = a >= mid;
					if (a < mid && b < hi) {
						int64_t x = base + from[a] * l.inner, y = base + from[b] * l.inner;
						second = descending ? before(dtype, in[0]->data, x, y) : before(dtype, in[0]->data, y, x);
					}
					to[k] = second ? from[b++] : from[a++];
				}
			}
			int64_t *swap = from;
			from = to;
			to = swap;
		}
		for (int64_t k = 0; k < l.length; k++) {
			copy_element(out[0]->data, base + k * l.inner, in[0]->data, base + from[k] * l.inner, size);
			((int64_t *)out[1]->data)[base + k * l.inner] = from[k];
		}
	}
	free(at);
	return BURN_OK;
}

#endif
