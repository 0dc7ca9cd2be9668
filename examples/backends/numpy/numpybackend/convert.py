"""Conversion between element types, as the op cast defines it."""

import numpy as np


def cast(x, to):
    """Float to integer truncates and saturates, NaN gives 0; integers keep the low bits; to bool is x != 0."""
    to = np.dtype(to)
    if to.kind == "b":
        return x != 0
    if x.dtype.kind != "f" or to.kind == "f":
        return x.astype(to)
    limits = np.iinfo(to)
    x = np.trunc(x.astype("f8"))
    low, high = x <= float(limits.min), x >= float(limits.max)
    y = np.where(low | high | np.isnan(x), 0.0, x).astype(to)
    return np.where(low, to.type(limits.min), np.where(high, to.type(limits.max), y))


def scalar(value, to):
    """A scalar attribute, an int or a float, as an element."""
    return cast(np.asarray(value, "i8" if isinstance(value, int) else "f8"), to)[()]


def least(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max
