"""What a backend is made of."""

from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

from . import errors
from .types import MAX_RANK, Type


class Op(NamedTuple):
    """A claim: the version of the op's row, the types of its operands, and the kernel.

    Types are sets as types_of gives them: one for all operands, or a tuple by operand, whose last holds for all behind it. An op
    without operands has () there, and says the types of its result. kernel(node, arrays) gives an array, or a list of them. It
    must not change its operands, and may give views of them."""

    version: int
    types: int | tuple
    kernel: Callable
    results: int = 0

    @property
    def operands(self):
        return self.types if isinstance(self.types, tuple) else (self.types,)


class Device(NamedTuple):
    name: str
    kind: str
    memory: int = 0
    detail: str = ""


@dataclass
class Node:
    """One application of an op. attrs has every attribute of the row by name: int, float, bool, str, or a list; a scalar is an
    int or a float as it was given; a dtype is its number."""

    op: str
    version: int
    inputs: list
    outputs: list
    attrs: dict[str, Any]
    drop: int = 0


@dataclass
class Backend:
    name: str
    version: str
    vendor: str
    types: int
    ops: dict[str, Op]
    devices: list = field(default_factory=list)
    # configure(options, threads) is told, before a device is opened, the options that the user gave the backend, as a dict of texts,
    # and the threads to compute with, 0 for any number. It raises ValueError for what it does not take.
    configure: Callable | None = None

    def check(self, node, inputs):
        """Raises unsupported for a node that is not claimed."""
        op = self.ops.get(node.op)
        if op is None or op.version != node.version:
            raise errors.unsupported(f"{node.op} version {node.version}")
        for k, t in enumerate(inputs):
            self._check_type(node, t, op.operands[min(k, len(op.operands) - 1)])
        for t in node.outputs:
            self._check_type(node, t, op.results or self.types)

    def _check_type(self, node, t, claimed):
        if not self.types & claimed & 1 << t.dtype or len(t.shape) > MAX_RANK:
            raise errors.unsupported(f"{node.op} on type {t.dtype} and rank {len(t.shape)}")

    def check_tensor(self, t: Type):
        if not self.types >> t.dtype & 1:
            raise errors.dtype_error(f"element type {t.dtype} is not there")
