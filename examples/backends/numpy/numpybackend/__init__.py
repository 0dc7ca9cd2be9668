"""The primitives of the op table in NumPy."""

from burnplugin import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Backend, Device, types_of

from . import contraction, creation, elementwise, movement, reduction

TYPES = types_of(F64, F32, F16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL)


def backend():
    ops = {}
    for module in (creation, movement, elementwise, reduction, contraction):
        ops.update(module.OPS)
    return Backend("numpy", "0.1.0", "burn", TYPES, ops, [Device("host memory", "cpu", 0, "NumPy")])
