"""A burn backend as a plugin process: the protocol of sdk/wire/PROTOCOL.md, without the ops.

A backend is a Backend with a table of ops, and main(backend) is the whole program.
"""

from .backend import Backend, Device, Node, Op
from .errors import BurnError, NodeError, dtype_error, index_error, kernel_error, shape_error, unsupported
from .process import main
from .types import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type, types_of

__all__ = ["BOOL", "F16", "F32", "F64", "I16", "I32", "I64", "I8", "U16", "U32", "U64", "U8", "Backend", "BurnError", "Device", "Node",
           "NodeError", "Op", "Type", "dtype_error", "index_error", "kernel_error", "main", "shape_error", "types_of", "unsupported"]
