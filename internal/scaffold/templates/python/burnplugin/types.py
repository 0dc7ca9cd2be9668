"""Element types and types of tensors."""

from typing import NamedTuple

import numpy as np

F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL = range(1, 14)

NUMPY = {F64: np.dtype("<f8"), F32: np.dtype("<f4"), F16: np.dtype("<f2"), I64: np.dtype("<i8"), I32: np.dtype("<i4"),
         I16: np.dtype("<i2"), I8: np.dtype("i1"), U64: np.dtype("<u8"), U32: np.dtype("<u4"), U16: np.dtype("<u2"), U8: np.dtype("u1"),
         BOOL: np.dtype("?")}

SIZES = {F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U64: 8, U32: 4, U16: 2, U8: 1, BOOL: 1}

MAX_RANK = 8


class Type(NamedTuple):
    """An element type and a shape; id is that of the tensor, or 0."""

    dtype: int
    shape: tuple
    id: int = 0

    @property
    def count(self):
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def nbytes(self):
        return self.count * SIZES[self.dtype]


def types_of(*dtypes):
    """The set of element types as the protocol carries it: bit d for type d."""
    bits = 0
    for d in dtypes:
        bits |= 1 << d
    return bits
