"""matmul, conv, window_reduce."""

import itertools
import math

import numpy as np

from . import sets
from .convert import least
from .movement import padded
from .sets import op, wide


def matmul(n, in_):
    a, b = wide(in_[0]), wide(in_[1])
    if n.attrs["transpose_a"]:
        a = a.swapaxes(-1, -2)
    if n.attrs["transpose_b"]:
        b = b.swapaxes(-1, -2)
    return np.matmul(a, b).astype(in_[0].dtype)


def windows(x, kernel, sizes, strides, dilation):
    """For each position in the window, in row-major order, what is there for every place of the window."""
    lead = (slice(None),) * (x.ndim - len(kernel))
    for at in itertools.product(*map(range, kernel)):
        yield at, x[lead + tuple(slice(k * d, k * d + (size - 1) * s + 1 if size else 0, s)
                                 for k, d, size, s in zip(at, dilation, sizes, strides))]


def conv(n, in_):
    x, w, a = wide(in_[0]), wide(in_[1]), n.attrs
    groups, rank = a["groups"], x.ndim - 2
    spread = np.zeros(x.shape[:2] + tuple((d - 1) * s + 1 if d else 0 for d, s in zip(x.shape[2:], a["input_dilation"])), x.dtype)
    spread[(slice(None),) * 2 + tuple(slice(None, None, s) for s in a["input_dilation"])] = x
    x = padded(spread, [0, 0] + a["pad_lo"], [0, 0] + a["pad_hi"], 0)
    batch, channels, out = x.shape[0], x.shape[1] // groups, n.outputs[0].shape
    places = math.prod(out[2:])
    y = np.zeros((batch, groups, out[1] // groups, places), x.dtype)
    w = w.reshape((groups, out[1] // groups) + w.shape[1:])
    if y.size and channels:
        for at, part in windows(x, w.shape[3:], out[2:], a["strides"], a["kernel_dilation"]):
            y += np.matmul(w[(slice(None),) * 3 + at], part.reshape(batch, groups, channels, places))
    return y.reshape(out).astype(in_[0].dtype)


def window_reduce(n, in_):
    x, a = in_[0], n.attrs
    k = len(a["window"])
    out, lead = n.outputs[0].shape, x.ndim - k
    lo, hi = [0] * lead + a["pad_lo"], [0] * lead + a["pad_hi"]
    if a["reduce"] == "sum":
        wider = wide(x)
        y = np.zeros(out, wider.dtype)
        for _, part in windows(padded(wider, lo, hi, 0), a["window"], out[lead:], a["strides"], a["dilation"]):
            y += part
        return y.astype(x.dtype)
    positions = np.arange(math.prod(x.shape[lead:]), dtype="i8").reshape(x.shape[lead:])
    positions = padded(positions, a["pad_lo"], a["pad_hi"], -1)
    y, best = np.full(out, least(x.dtype), x.dtype), np.full(out, -1, "i8")
    parts = windows(padded(x, lo, hi, least(x.dtype)), a["window"], out[lead:], a["strides"], a["dilation"])
    places = windows(positions, a["window"], out[lead:], a["strides"], a["dilation"])
    for (_, part), (_, place) in zip(parts, places):
        wins = (place >= 0) & ((best < 0) | (part > y) | ((part != part) & (y == y)))
        y, best = np.where(wins, part, y), np.where(wins, place, best)
    return [y, best] if a["indices"] else y


OPS = {name: op(sets.NUMBERS, kernel) for name, kernel in {"matmul": matmul, "conv": conv, "window_reduce": window_reduce}.items()}
