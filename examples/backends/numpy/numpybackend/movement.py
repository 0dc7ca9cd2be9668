"""Movement. Tensors are never changed in place, so that views may be given out."""

import math

import numpy as np
from burnplugin import index_error
from burnplugin.types import NUMPY

from . import sets
from .convert import cast, scalar
from .elementwise import greater, lesser
from .sets import op


def strided(n, x):
    index = []
    for start, size, step in zip(n.attrs["start"], n.attrs["size"], n.attrs["step"]):
        end = start + size * step
        index.append(slice(0, 0) if size == 0 else slice(start, end if end >= 0 else None, step))
    return x[tuple(index)]


def padded(x, lo, hi, value):
    """x with elements before and after it along each axis; negative numbers remove."""
    shape = [d + a + b for d, a, b in zip(x.shape, lo, hi)]
    y = np.full(shape, value, x.dtype)
    source, target = [], []
    for d, a, size in zip(x.shape, lo, shape):
        first, last = max(0, -a), min(d, size - a)
        if first >= last:
            return y
        source.append(slice(first, last))
        target.append(slice(first + a, last + a))
    y[tuple(target)] = x[tuple(source)]
    return y


def indexing(n, x, indices):
    """x as [batch, middle, length, inner] and the indices as [batch, positions]."""
    axis, batch = n.attrs["axis"], n.attrs["batch"]
    length = x.shape[axis]
    bad = (indices < 0) | (indices >= length)
    if bad.any() and math.prod(x.shape[:axis] + x.shape[axis + 1:]) > 0:  # else nothing is moved
        raise index_error(f"index {indices[bad][0]}, want one in [0,{length})")
    b = math.prod(x.shape[:batch])
    x = x.reshape(b, math.prod(x.shape[batch:axis]), length, math.prod(x.shape[axis + 1:]))
    return x, indices.reshape(b, math.prod(indices.shape[batch:])).astype("i8")


def gather(n, in_):
    x, indices = indexing(n, *in_)
    if math.prod(n.outputs[0].shape) == 0:
        return np.empty(n.outputs[0].shape, x.dtype)
    b, m = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[None, :, None]
    return x[b, m, indices[:, None, :]].reshape(n.outputs[0].shape)


MEET = {"assign": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": lesser, "max": greater}


def scatter(n, in_):
    x, indices = indexing(n, *in_[:2])
    meet = MEET[n.attrs["mode"]]
    if in_[2].size == 0:
        return in_[0].copy()
    y = x.copy()
    updates = in_[2].reshape(x.shape[0], x.shape[1], indices.shape[1], x.shape[3])
    b, m = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])[None, :]
    for k in range(indices.shape[1]):  # one after the other: equal indices are combined in order
        at = (b, m, indices[:, k][:, None])
        y[at] = meet(y[at], updates[:, :, k])
    return y.reshape(in_[0].shape)


def pad(n, in_):
    return padded(in_[0], n.attrs["lo"], n.attrs["hi"], scalar(n.attrs["value"], in_[0].dtype))


OPS = {name: op(sets.ANY, kernel) for name, kernel in {
    "reshape": lambda n, in_: in_[0].reshape(n.attrs["shape"]),
    "permute": lambda n, in_: in_[0].transpose(n.attrs["axes"]),
    "expand": lambda n, in_: np.broadcast_to(in_[0], n.attrs["shape"]),
    "slice": lambda n, in_: strided(n, in_[0]),
    "pad": pad,
    "flip": lambda n, in_: np.flip(in_[0], n.attrs["axes"]),
    "concat": lambda n, in_: np.concatenate(in_, n.attrs["axis"]),
    "gather": gather,
    "scatter": scatter,
    "cast": lambda n, in_: cast(in_[0], NUMPY[n.attrs["dtype"]]),
    "copy": lambda n, in_: in_[0].copy(),
}.items()}
