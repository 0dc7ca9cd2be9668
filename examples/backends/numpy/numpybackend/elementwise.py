"""Unary, binary and ternary ops. NumPy broadcasts and wraps as the op table wants; what differs is written out."""

import math

import numpy as np

from . import sets
from .sets import op


def bits(x):
    """An integer array as unsigned numbers of the same width."""
    return x.view(f"u{x.dtype.itemsize}")


def through_double(f):
    """A function computed in f64 and rounded once."""
    return lambda n, in_: f(*(x.astype("f8") for x in in_)).astype(in_[0].dtype)


def greater(a, b):
    """The greater of two: NaN if one is NaN, and +0 above -0."""
    y = np.maximum(a, b)
    return np.where(a == b, np.where(np.signbit(a), b, a), y) if y.dtype.kind == "f" else y


def lesser(a, b):
    y = np.minimum(a, b)
    return np.where(a == b, np.where(np.signbit(a), a, b), y) if y.dtype.kind == "f" else y


def safe(a, b):
    """b without what cannot be divided by: 0, and -1, which the least integer cannot."""
    zero = b == 0
    minus = b == -1 if b.dtype.kind == "i" else np.zeros_like(zero)
    return np.where(zero | minus, b.dtype.type(1), b), zero, minus


def div(n, in_):
    a, b = in_
    if a.dtype.kind == "f":
        return np.divide(a, b)
    d, zero, minus = safe(a, b)
    q = np.floor_divide(a, d)
    q = np.where((a - q * d != 0) & ((a < 0) != (d < 0)), q + q.dtype.type(1), q)  # toward zero
    q = np.where(minus, np.negative(a), q)
    return np.where(zero, ~a.dtype.type(0), q)


def rem(n, in_):
    a, b = in_
    if a.dtype.kind == "f":
        return through_double(np.fmod)(n, in_)
    d, zero, _ = safe(a, b)
    return np.where(zero, a, np.fmod(a, d))


def power(n, in_):
    a, b = in_
    if a.dtype.kind == "f":
        return through_double(np.power)(n, in_)
    a, b = np.broadcast_arrays(a, b)
    one, y, x, e = a.dtype.type(1), np.ones_like(a), a.copy(), bits(b.copy())
    while e.any():
        y = np.where(e & 1 == 1, y * x, y)
        x, e = x * x, e >> 1
    if a.dtype.kind == "i":
        odd = np.where(b & 1 == 1, -one, one)
        y = np.where(b < 0, np.where(a == 1, one, np.where(a == -1, odd, one - one)), y)
    return y


def shl(n, in_):
    a, b = in_
    width = 8 * a.dtype.itemsize
    u = bits(b)
    return np.where(u >= width, a.dtype.type(0), np.left_shift(a, b & b.dtype.type(width - 1)))


def shr(n, in_):
    a, b = in_
    width = 8 * a.dtype.itemsize
    u = bits(b)
    far = np.right_shift(a, a.dtype.type(width - 1)) if a.dtype.kind == "i" else a.dtype.type(0)
    return np.where(u >= width, far, np.right_shift(a, b & b.dtype.type(width - 1)))


erf = np.vectorize(math.erf, otypes=["f8"])


def unary(types, f):
    return op(types, lambda n, in_: f(in_[0]))


def binary(types, f):
    return op(types, lambda n, in_: f(in_[0], in_[1]))


OPS = {name: op(sets.FLOATS, through_double(f)) for name, f in {
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": erf,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "atan2": np.arctan2}.items()}
OPS.update({
    "neg": unary(sets.SIGNED, np.negative), "abs": unary(sets.NUMBERS, np.abs), "not": unary(sets.INTS | sets.BOOLS, np.invert),
    "is_nan": unary(sets.FLOATS, np.isnan),
    "add": binary(sets.NUMBERS, np.add), "sub": binary(sets.NUMBERS, np.subtract), "mul": binary(sets.NUMBERS, np.multiply),
    "div": op(sets.NUMBERS, div), "rem": op(sets.NUMBERS, rem), "pow": op(sets.NUMBERS, power),
    "max": binary(sets.NUMBERS, greater), "min": binary(sets.NUMBERS, lesser),
    "equal": binary(sets.ANY, np.equal), "less": binary(sets.NUMBERS, np.less),
    "and": binary(sets.INTS | sets.BOOLS, np.bitwise_and), "or": binary(sets.INTS | sets.BOOLS, np.bitwise_or),
    "xor": binary(sets.INTS | sets.BOOLS, np.bitwise_xor), "shl": op(sets.INTS, shl), "shr": op(sets.INTS, shr),
    "where": op((sets.BOOLS, sets.ANY), lambda n, in_: np.where(*in_)),
})
