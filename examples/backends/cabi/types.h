/* The element types of this backend, and a walk over broadcast operands. */
#ifndef TYPES_H
#define TYPES_H

#include <math.h>

#include "burn_kernels.h"

#define FLOATS (BURN_TYPE(BURN_F64) | BURN_TYPE(BURN_F32))
#define SIGNED (BURN_TYPE(BURN_I64) | BURN_TYPE(BURN_I32))
#define INTS (SIGNED | BURN_TYPE(BURN_U8))
#define NUMBERS (FLOATS | INTS)
#define ANY (NUMBERS | BURN_TYPE(BURN_BOOL))

/* M(name, C type, width in bits, whether it is signed) for each type of a class. */
#define EACH_FLOAT(M) M(F64, double, 64, 1) M(F32, float, 32, 1)
#define EACH_SIGNED(M) M(I64, int64_t, 64, 1) M(I32, int32_t, 32, 1)
#define EACH_INT(M) EACH_SIGNED(M) M(U8, uint8_t, 8, 0)
#define EACH_NUMBER(M) EACH_FLOAT(M) EACH_INT(M)
#define EACH_BOOL(M) M(BOOL, uint8_t, 1, 0)

/* A number on its way from one type to another: an integer or a float. */
typedef struct number {
	int is_int;
	int64_t i;
	double f;
} number;

static number get(uint32_t dtype, const void *p, int64_t k) {
	switch (dtype) {
	case BURN_F64: return (number){0, 0, ((const double *)p)[k]};
	case BURN_F32: return (number){0, 0, ((const float *)p)[k]};
	case BURN_I64: return (number){1, ((const int64_t *)p)[k], 0};
	case BURN_I32: return (number){1, ((const int32_t *)p)[k], 0};
	}
	return (number){1, ((const uint8_t *)p)[k], 0};
}

/* Truncates toward zero, brings into [lo, hi]; NaN gives 0. */
static int64_t saturate(double f, int64_t lo, int64_t hi) {
	if (isnan(f)) {
		return 0;
	}
	if (f >= (double)hi) {
		return hi;
	}
	return f <= (double)lo ? lo : (int64_t)f;
}

/* Stores v as the op cast converts it. */
static void set(uint32_t dtype, void *p, int64_t k, number v) {
	switch (dtype) {
	case BURN_F64: ((double *)p)[k] = v.is_int ? (double)v.i : v.f; break;
	case BURN_F32: ((float *)p)[k] = v.is_int ? (float)v.i : (float)v.f; break;
	case BURN_I64: ((int64_t *)p)[k] = v.is_int ? v.i : saturate(v.f, INT64_MIN, INT64_MAX); break;
	case BURN_I32: ((int32_t *)p)[k] = (int32_t)(v.is_int ? v.i : saturate(v.f, INT32_MIN, INT32_MAX)); break;
	case BURN_U8: ((uint8_t *)p)[k] = (uint8_t)(v.is_int ? v.i : saturate(v.f, 0, 255)); break;
	case BURN_BOOL: ((uint8_t *)p)[k] = v.is_int ? v.i != 0 : v.f != 0; break;
	}
}

static number scalar(const burn_node *n, const char *name) {
	const burn_attr *a = burn_find(n, name);
	return a ? (number){(int)a->is_int, a->i, a->f} : (number){1, 0, 0};
}

/* A walk over the elements of a shape in row-major order, with the position in up to three operands. */
typedef struct walk {
	int rank;
	int64_t dims[BURN_MAX_RANK], index[BURN_MAX_RANK];
	int64_t stride[3][BURN_MAX_RANK], at[3];
} walk;

static walk walk_over(const burn_desc *d) {
	walk w = {.rank = (int)d->rank};
	memcpy(w.dims, d->dims, sizeof w.dims);
	return w;
}

/* Operand k broadcasts to the shape of the walk. */
static void walk_broadcast(walk *w, int k, const burn_desc *d) {
	int64_t stride = 1;
	for (int i = (int)d->rank - 1, o = w->rank - 1; i >= 0; i--, o--) {
		w->stride[k][o] = d->dims[i] == 1 ? 0 : stride;
		stride *= d->dims[i];
	}
}

static inline void walk_next(walk *w) {
	for (int d = w->rank - 1; d >= 0; d--) {
		if (++w->index[d] < w->dims[d]) {
			for (int k = 0; k < 3; k++) {
				w->at[k] += w->stride[k][d];
			}
			return;
		}
		for (int k = 0; k < 3; k++) {
			w->at[k] -= w->stride[k][d] * (w->dims[d] - 1);
		}
		w->index[d] = 0;
	}
}

/* A shape cut at an axis: outer * length * inner elements. */
typedef struct lines {
	int64_t outer, length, inner;
} lines;

static lines lines_along(const burn_desc *d, int64_t axis) {
	lines l = {1, d->dims[axis], 1};
	for (uint32_t i = 0; i < d->rank; i++) {
		*(i < axis ? &l.outer : i > axis ? &l.inner : &(int64_t){0}) *= d->dims[i];
	}
	return l;
}

static inline void copy_element(void *to, int64_t i, const void *from, int64_t k, uint64_t size) {
	switch (size) {
	case 1: ((uint8_t *)to)[i] = ((const uint8_t *)from)[k]; break;
	case 4: ((uint32_t *)to)[i] = ((const uint32_t *)from)[k]; break;
	case 8: ((uint64_t *)to)[i] = ((const uint64_t *)from)[k]; break;
	}
}

#endif
