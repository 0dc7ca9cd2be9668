"""full, iota, random_bits."""

import numpy as np
from burnplugin import I32, U32, types_of
from burnplugin.types import NUMPY

from . import sets
from .convert import cast, scalar
from .sets import op

MASK = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def full(n, _):
    dtype = NUMPY[n.attrs["dtype"]]
    return np.full(n.attrs["shape"], scalar(n.attrs["value"], dtype), dtype)


def iota(n, _):
    shape, axis = n.attrs["shape"], n.attrs["axis"]
    line = [1] * len(shape)
    line[axis] = shape[axis]
    counts = cast(np.arange(shape[axis], dtype="i8"), NUMPY[n.attrs["dtype"]])
    return np.broadcast_to(counts.reshape(line), shape)


def random_bits(n, _):
    """Philox 4x32-10."""
    count = int(np.prod(n.attrs["shape"], dtype="i8"))
    block = np.arange((count + 3) // 4, dtype="u8") + np.uint64(n.attrs["counter"] & (1 << 64) - 1)
    seed = n.attrs["seed"] & (1 << 64) - 1
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    c = [block & MASK, block >> SHIFT, np.zeros_like(block), np.zeros_like(block)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [p1 >> SHIFT ^ c[1] ^ key[0], p1 & MASK, p0 >> SHIFT ^ c[3] ^ key[1], p0 & MASK]
        key = [key[0] + np.uint64(0x9E3779B9) & MASK, key[1] + np.uint64(0xBB67AE85) & MASK]
    words = np.stack(c, axis=-1).reshape(-1)[:count].astype("u4")
    return words.view(NUMPY[n.attrs["dtype"]]).reshape(n.attrs["shape"])


OPS = {"full": op((), full, sets.ANY), "iota": op((), iota, sets.NUMBERS), "random_bits": op((), random_bits, types_of(I32, U32))}
