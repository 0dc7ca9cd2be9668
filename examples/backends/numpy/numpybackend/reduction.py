"""Reductions, scans, sort."""

import numpy as np

from . import sets
from .convert import greatest, least
from .elementwise import greater, lesser
from .sets import op, wide


def total(ufunc):
    """A sum or product: floats in f64, integers wrap."""
    def kernel(n, in_):
        x = wide(in_[0])
        y = ufunc.reduce(x, axis=tuple(n.attrs["axes"]), dtype=x.dtype, keepdims=n.attrs["keep_dims"])
        return np.asarray(y).astype(in_[0].dtype)
    return kernel


def extreme(ufunc, initial, zero):
    """The greatest or least. zero is the sign of zero that wins."""
    def kernel(n, in_):
        x, axes, keep = in_[0], tuple(n.attrs["axes"]), n.attrs["keep_dims"]
        y = np.asarray(ufunc.reduce(x, axis=axes, keepdims=keep, initial=initial(x.dtype)))
        if x.dtype.kind == "f":
            wins = np.any((x == 0) & (np.signbit(x) == np.signbit(zero)), axis=axes, keepdims=keep)
            y = np.where(y == 0, np.where(wins, zero, -zero), y)
        return y.astype(x.dtype)
    return kernel


def arg(f):
    """NumPy gives the first of equals, and the first NaN."""
    return lambda n, in_: np.asarray(f(in_[0], axis=n.attrs["axis"], keepdims=n.attrs["keep_dims"]), "i8")


def scan(meet, identity):
    def kernel(n, in_):
        x = np.moveaxis(wide(in_[0]), n.attrs["axis"], 0)
        y = np.empty_like(x)
        running = np.full(x.shape[1:], identity(x.dtype), x.dtype)
        for k in range(x.shape[0])[::-1 if n.attrs["reverse"] else 1]:
            following = meet(running, x[k])
            y[k] = running if n.attrs["exclusive"] else following
            running = following
        return np.moveaxis(y, 0, n.attrs["axis"]).astype(in_[0].dtype)
    return kernel


def sort(n, in_):
    """Descending is ascending from behind, so that equal elements stay in their order."""
    x, axis = in_[0], n.attrs["axis"]
    if n.attrs["descending"]:
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    return [np.take_along_axis(x, order, axis), order.astype("i8")]


OPS = {name: op(sets.NUMBERS, kernel) for name, kernel in {
    "sum": total(np.add), "prod": total(np.multiply),
    "reduce_max": extreme(np.maximum, least, 0.0), "reduce_min": extreme(np.minimum, greatest, -0.0),
    "argmax": arg(np.argmax), "argmin": arg(np.argmin),
    "cumsum": scan(np.add, lambda d: 0), "cumprod": scan(np.multiply, lambda d: 1),
    "cummax": scan(greater, least), "cummin": scan(lesser, greatest),
    "sort": sort,
}.items()}
