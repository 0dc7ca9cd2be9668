/* The matrix product. f32 is summed in double. */
#ifndef MATMUL_H
#define MATMUL_H

#include "reduction.h"

/* Strides of one operand: of the batch dimensions along the walk, of its rows and of its columns. */
static void matrix(const burn_desc *d, int transpose, int64_t *row, int64_t *column) {
	int64_t last = d->dims[d->rank - 1];
	*row = transpose ? 1 : last;
	*column = transpose ? last : 1;
}

#define MATMUL_CASE(S, T, A, MUL, ADD)                                                                                        \
	case BURN_##S: {                                                                                                      \
		const T *x = (const T *)in[0]->data + w.at[0] * a_size, *y = (const T *)in[1]->data + w.at[1] * b_size;       \
		T *z = (T *)out[0]->data + batch * rows * columns;                                                            \
		for (int64_t i = 0; i < rows; i++) {                                                                          \
			for (int64_t j = 0; j < columns; j++) {                                                               \
				A sum = 0;                                                                                    \
				for (int64_t k = 0; k < inner; k++) {                                                         \
					sum = ADD(sum, MUL(x[i * a_row + k * a_column], y[k * b_row + j * b_column]));        \
				}                                                                                             \
				z[i * columns + j] = (T)sum;                                                                  \
			}                                                                                                     \
		}                                                                                                             \
		break;                                                                                                        \
	}

static int32_t run_matmul(const burn_node *n, inputs in, outputs out, burn_error *e) {
	burn_desc a = in[0]->desc, b = in[1]->desc, y = out[0]->desc;
	int transpose_a = burn_flag(n, "transpose_a"), transpose_b = burn_flag(n, "transpose_b");
	int64_t rows = y.dims[y.rank - 2], columns = y.dims[y.rank - 1], inner = a.dims[a.rank - (transpose_a ? 2 : 1)];
	int64_t a_row, a_column, b_row, b_column, a_size = rows * inner, b_size = inner * columns, batches = 1;
	(void)e;
	matrix(&a, transpose_a, &a_row, &a_column);
	matrix(&b, transpose_b, &b_row, &b_column);
	a.rank -= 2, b.rank -= 2, y.rank -= 2;
	walk w = walk_over(&y);
	walk_broadcast(&w, 0, &a);
	walk_broadcast(&w, 1, &b);
	for (uint32_t i = 0; i < y.rank; i++) {
		batches *= y.dims[i];
	}
	for (int64_t batch = 0; batch < batches; batch++, walk_next(&w)) {
		switch (in[0]->desc.dtype) {
			MATMUL_CASE(F64, double, double, mul_F64, add_F64)
			MATMUL_CASE(F32, float, double, mul_F64, add_F64)
			MATMUL_CASE(I64, int64_t, int64_t, mul_I64, add_I64)
			MATMUL_CASE(I32, int32_t, int32_t, mul_I32, add_I32)
			MATMUL_CASE(U8, uint8_t, uint8_t, mul_U8, add_U8)
		}
	}
	return BURN_OK;
}

#endif
