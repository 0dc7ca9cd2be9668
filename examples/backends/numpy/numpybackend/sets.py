"""Sets of element types, and an op of version 1."""

from burnplugin import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Op, types_of

FLOATS = types_of(F64, F32, F16)
SIGNED_INTS = types_of(I64, I32, I16, I8)
INTS = SIGNED_INTS | types_of(U64, U32, U16, U8)
BOOLS = types_of(BOOL)
NUMBERS = FLOATS | INTS
SIGNED = FLOATS | SIGNED_INTS
ANY = NUMBERS | BOOLS


def op(types, kernel, results=0):
    return Op(1, types, kernel, results)


def wide(x):
    """x in the type that sums are kept in."""
    return x.astype("f8") if x.dtype.kind == "f" else x
