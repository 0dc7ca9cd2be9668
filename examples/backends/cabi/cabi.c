/*
 * A burn backend as a shared object, in C11: the creation, movement, elementwise, reduction, scan, sort and matmul rows of
 * the op table for f64, f32, i64, i32, u8 and bool. It is written to be read: every kernel is the plain loop.
 */
#include "matmul.h"

/* Claims: all operands have one of TYPES; or the operands differ; or there is a result alone. */
#define OP(NAME, TYPES) {#NAME, 1, run_##NAME, {TYPES}, 0}
#define MIXED(NAME, ...) {#NAME, 1, run_##NAME, {__VA_ARGS__}, 0}
#define MAKE(NAME, TYPES) {#NAME, 1, run_##NAME, {0}, TYPES}

#define BOOLS BURN_TYPE(BURN_BOOL)

static const burn_kernel_row rows[] = {
	MAKE(full, ANY), MAKE(iota, NUMBERS), MAKE(random_bits, BURN_TYPE(BURN_I32)),
	{"reshape", 1, run_copy, {ANY}, 0}, OP(permute, ANY), OP(expand, ANY), OP(slice, ANY), OP(pad, ANY), OP(flip, ANY), OP(concat, ANY),
	MIXED(gather, ANY, SIGNED), MIXED(scatter, ANY, SIGNED, ANY), OP(cast, ANY), OP(copy, ANY),
	OP(neg, FLOATS | SIGNED), OP(abs, NUMBERS), OP(exp, FLOATS), OP(log, FLOATS), OP(log1p, FLOATS), OP(expm1, FLOATS),
	OP(sqrt, FLOATS), OP(sin, FLOATS), OP(cos, FLOATS), OP(tan, FLOATS), OP(asin, FLOATS), OP(acos, FLOATS), OP(atan, FLOATS),
	OP(sinh, FLOATS), OP(cosh, FLOATS), OP(tanh, FLOATS), OP(erf, FLOATS), OP(floor, FLOATS), OP(ceil, FLOATS), OP(round, FLOATS),
	OP(not, INTS | BOOLS), OP(is_nan, FLOATS),
	OP(add, NUMBERS), OP(sub, NUMBERS), OP(mul, NUMBERS), OP(div, NUMBERS), OP(rem, NUMBERS), OP(pow, NUMBERS), OP(max, NUMBERS),
	OP(min, NUMBERS), OP(atan2, FLOATS), OP(equal, ANY), OP(less, NUMBERS), OP(and, INTS | BOOLS), OP(or, INTS | BOOLS),
	OP(xor, INTS | BOOLS), OP(shl, INTS), OP(shr, INTS), MIXED(where, BOOLS, ANY),
	OP(sum, NUMBERS), OP(prod, NUMBERS), OP(reduce_max, NUMBERS), OP(reduce_min, NUMBERS), OP(argmax, NUMBERS), OP(argmin, NUMBERS),
	OP(cumsum, NUMBERS), OP(cumprod, NUMBERS), OP(cummax, NUMBERS), OP(cummin, NUMBERS), OP(sort, NUMBERS), OP(matmul, NUMBERS),
};

BURN_KERNELS_MAIN("cabi", "0.1.0", "burn", ANY, rows)
