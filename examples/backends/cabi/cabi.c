/*
 * A burn backend as a shared object, in C11: the creation, movement, elementwise, reduction, scan, sort and matmul rows of
 * the op table for f64, f32, i64, i32, u8 and bool. It is written to be read: every kernel is the plain loop.
 */
#include "matmul.h"

#define OP(NAME, TYPES) {#NAME, 1, TYPES, run_##NAME}

static const burn_kernel_row rows[] = {
	OP(full, ANY), OP(iota, NUMBERS), OP(random_bits, BURN_TYPE(BURN_I32)),
	{"reshape", 1, ANY, run_copy}, OP(permute, ANY), OP(expand, ANY), OP(slice, ANY), OP(pad, ANY), OP(flip, ANY), OP(concat, ANY),
	OP(gather, ANY), OP(scatter, ANY), OP(cast, ANY), OP(copy, ANY),
	OP(neg, FLOATS | SIGNED), OP(abs, NUMBERS), OP(exp, FLOATS), OP(log, FLOATS), OP(log1p, FLOATS), OP(expm1, FLOATS),
	OP(sqrt, FLOATS), OP(sin, FLOATS), OP(cos, FLOATS), OP(tan, FLOATS), OP(asin, FLOATS), OP(acos, FLOATS), OP(atan, FLOATS),
	OP(sinh, FLOATS), OP(cosh, FLOATS), OP(tanh, FLOATS), OP(erf, FLOATS), OP(floor, FLOATS), OP(ceil, FLOATS), OP(round, FLOATS),
	OP(not, INTS | BURN_TYPE(BURN_BOOL)), OP(is_nan, FLOATS),
	OP(add, NUMBERS), OP(sub, NUMBERS), OP(mul, NUMBERS), OP(div, NUMBERS), OP(rem, NUMBERS), OP(pow, NUMBERS), OP(max, NUMBERS),
	OP(min, NUMBERS), OP(atan2, FLOATS), OP(equal, ANY), OP(less, NUMBERS), OP(and, INTS | BURN_TYPE(BURN_BOOL)),
	OP(or, INTS | BURN_TYPE(BURN_BOOL)), OP(xor, INTS | BURN_TYPE(BURN_BOOL)), OP(shl, INTS), OP(shr, INTS), OP(where, BURN_TYPE(BURN_BOOL)),
	OP(sum, NUMBERS), OP(prod, NUMBERS), OP(reduce_max, NUMBERS), OP(reduce_min, NUMBERS), OP(argmax, NUMBERS), OP(argmin, NUMBERS),
	OP(cumsum, NUMBERS), OP(cumprod, NUMBERS), OP(cummax, NUMBERS), OP(cummin, NUMBERS), OP(sort, NUMBERS), OP(matmul, NUMBERS),
};

BURN_KERNELS_MAIN("cabi", "0.1.0", "burn", ANY, rows)
