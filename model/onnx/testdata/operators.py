"""Writes operators.json: one-node models with inputs and the outputs of onnxruntime, or, where that lacks an operator or
a type, of the reference evaluator of onnx. Run: python operators.py > operators.json"""
import base64
import json
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

f32, f64, f16 = np.float32, np.float64, np.float16
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
rng = np.random.default_rng(1)
cases = []


def A(v, d=f32):
    return np.array(v, d)


def R(*shape, d=f32, lo=-3, hi=3):
    if np.issubdtype(d, np.floating):
        return rng.uniform(lo, hi, shape).astype(d)
    if d == bool:
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(max(lo, 0) if np.issubdtype(d, np.unsignedinteger) else lo, hi + 1, shape).astype(d)


def I(*v):
    return np.array(v, i64)


def case(op, opset, inputs, outputs=1, const=(), name="", **attrs):
    """inputs: arrays, None for an absent one. const: positions that are initializers."""
    ins, feeds, inits = [], {}, []
    names = []
    for i, a in enumerate(inputs):
        if a is None:
            names.append("")
            continue
        a = np.asarray(a)
        n = f"x{i}"
        names.append(n)
        if i in const:
            inits.append(numpy_helper.from_array(a, n))
        else:
            ins.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape))
            feeds[n] = a
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attrs)
    outs = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "g", ins, outs, inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 21 else 10)
    peer = "onnxruntime"
    try:
        so = ort.SessionOptions()
        so.log_severity_level = 4
        if opset > 24:
            raise ValueError("opset")
        got = ort.InferenceSession(model.SerializeToString(), so, providers=["CPUExecutionProvider"]).run(None, feeds)
    except Exception:
        peer = "reference"
        got = ReferenceEvaluator(model).run(None, feeds)
    inferred = [np.asarray(g) for g in got]
    label = name or "_".join([op, str(opset)] + [f"{k}={v}" for k, v in attrs.items() if not isinstance(v, onnx.TensorProto)]
                             + ["x".join([str(a.dtype)] + [str(s) for s in a.shape]) for a in inputs if a is not None])
    enc = lambda a, n: base64.b64encode(numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), n).SerializeToString()).decode()
    cases.append({"name": label, "peer": peer, "model": base64.b64encode(model.SerializeToString()).decode(),
                  "inputs": [enc(a, n) for n, a in feeds.items()], "outputs": [enc(a, f"y{i}") for i, a in enumerate(inferred)]})


# Arithmetic: types, broadcasting, zero-sized operands, wrapping.
case("Add", 7, [R(2, 3), R(3)])
case("Add", 14, [R(2, 1, 3, d=i8, lo=-120, hi=120), R(4, 1, d=i8, lo=-120, hi=120)])
case("Mul", 14, [R(0, 3), R(1, 3)])
case("Div", 14, [A([7, -7, 7, -7], i32), A([2, 2, -2, -2], i32)])
case("Div", 14, [A([7, 200], u8), A([2, 3], u8)])
case("Mod", 10, [A([7, -7, 7, -7], i64), A([3, 3, -3, -3], i64)])
case("Mod", 13, [A([7, -7, 7, -7], i16), A([3, 3, -3, -3], i16)], fmod=1)
case("Mod", 13, [A([7.5, -7.5, 7.5, -7.5]), A([3, 3, -3, -3])], fmod=1)
case("Pow", 12, [A([1, 2, 3], i64), A([4, 5, 6], f32)])
case("Pow", 13, [A([1.5, 2, -3]), A([2, 3, 3], i64)])
case("Pow", 15, [A([1, 2, -3], i32), A([4, 3, 3], i64)])
case("Pow", 7, [A([2, 4, 9]), A(0.5)])
case("BitShift", 11, [A([16, 4, 1], u8), A([1, 2, 3], u8)], direction="RIGHT")
case("BitShift", 11, [A([16, 4, 1], u64), A([1, 2, 63], u64)], direction="LEFT")
case("BitwiseNot", 18, [A([0, 1, -5], i32)])
case("BitwiseXor", 18, [A([0, 1, 250], u8), A([3], u8)])
case("Sign", 13, [A([-3, 0, 5], i64)])
case("Abs", 13, [A([3, 0, 255], u8)])
case("Neg", 13, [A([3, 0, -128], i8)])
case("Round", 11, [A([0.5, 1.5, 2.5, -0.5, -1.5, 2.4])])
case("Erf", 13, [R(3, 4)])
case("IsInf", 10, [A([1, np.inf, -np.inf, np.nan])], detect_positive=0)
case("IsInf", 10, [A([1, np.inf, -np.inf, np.nan])], detect_negative=0)
case("IsNaN", 13, [A([1, np.inf, np.nan], f16)])
case("Equal", 13, [A([True, False], bool), A([[True], [False]], bool)])
case("Less", 13, [A([1, -2, 3], i64), A(1, i64)])
case("GreaterOrEqual", 16, [A([1, 2, 3, np.nan]), A([2, 2, 2, 2])])
case("Sum", 13, [R(2, 3), R(3), R(1)])
case("Max", 13, [A([1, -5], i64), A([[0], [3]], i64), A([2, 2], i64)])
case("Min", 12, [A([1, 200], u8), A([3, 100], u8)])
case("Mean", 13, [R(2, 3), R(2, 1), R(3), R(1)])
case("Max", 8, [R(2, 3)])
for op, opset in dict(Acos=7, Acosh=9, Asin=7, Asinh=9, Atan=7, Atanh=9, Ceil=13, Cos=7, Cosh=9, Erf=13, Exp=13, Floor=13, Log=13,
                      Reciprocal=13, Round=11, Sin=7, Sinh=9, Sqrt=13, Tan=7, Tanh=13, Sigmoid=13, Softplus=7, Softsign=7, Relu=14,
                      HardSwish=14, Mish=18, Abs=13, Neg=13, Sign=13).items():
    case(op, opset, [A([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.3])], name=op + "_special_values")
for d in (i8, u16, i64, f16, f64):
    case("Add", 14, [R(3, 4, d=d, hi=100), R(4, d=d, hi=9)])
    case("Max", 13, [R(3, 4, d=d), R(4, d=d), R(3, 1, d=d)])
    case("Less", 13, [R(3, 4, d=d), R(4, d=d)])
for d in (i32, i64, f32, f64):
    for e in (i32, i64, f32, f64):
        case("Pow", 15, [R(5, d=d, lo=1, hi=6), R(5, d=e, lo=0, hi=3)])

# Activations and the like.
case("Clip", 7, [R(2, 3)], min=-1.0, max=1.0)
case("Clip", 7, [R(5)], min=0.0)
case("Clip", 11, [R(2, 3), A(-1), A(1)])
case("Clip", 11, [R(2, 3), A(-1), A(1)], const=(1, 2), name="Clip_11_constants")
case("Clip", 12, [A([1, 5, 9], i64), None, A(4, i64)], const=(2,))
case("Clip", 13, [A([1, 5, 9], u8), A(2, u8), A(7, u8)])
case("Clip", 13, [R(4)])
case("LeakyRelu", 16, [R(2, 3)])
case("PRelu", 16, [R(2, 3, 2), R(3, 1)])
case("PRelu", 16, [A([-3, 4], i32), A([2], i32)])
case("Elu", 7, [R(5)], alpha=0.5)
case("Selu", 7, [R(5)])
case("Celu", 12, [R(5)], alpha=2.0)
case("HardSigmoid", 7, [R(5)])
case("HardSwish", 14, [R(5, lo=-5, hi=5)])
case("ThresholdedRelu", 10, [R(5)])
case("Shrink", 9, [R(7)], lambd=1.5, bias=0.5)
case("Shrink", 9, [A([-3, -1, 0, 1, 3], i32)], lambd=1.5, bias=1.0)
case("Gelu", 20, [R(6)])
case("Gelu", 20, [R(6)], approximate="tanh")
case("Mish", 18, [R(6)])
case("Swish", 24, [R(6)], alpha=0.5)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case(op, 11, [R(2, 3, 4)])
    case(op, 11, [R(2, 3, 4)], axis=2)
    case(op, 11, [R(2, 3, 4)], axis=-2)
    case(op, 9, [R(2, 3)], axis=0)
    case(op, 13, [R(2, 3, 4)], axis=1)
    case(op, 13, [R(2, 3, 4)])
case("Hardmax", 13, [A([[1, 3, 3], [2, 2, 1]])])
case("Softmax", 13, [R(0, 3)])

# Reductions: axes as attribute and input, none, empty tensors, integers, bools.
for op in "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split():
    case(op, 11, [R(2, 3, 4)], axes=[-1, 0], keepdims=0)
    case(op, 11, [R(2, 3, 4)])
    case(op, 18, [R(2, 3, 4), I(1)])
    case(op, 18, [R(2, 3, 4), I(-3)], const=(1,), keepdims=0, name=op + "_18_constant_axes")
    case(op, 18, [R(2, 3)], noop_with_empty_axes=1)
    case(op, 11, [R(3, 4, d=i32)], axes=[1])
case("ReduceLogSum", 11, [R(2, 3, lo=1)], axes=[1])
case("ReduceLogSum", 18, [R(2, 3, lo=1), I(0)], keepdims=0)
case("ReduceSum", 13, [R(2, 0, 3), I(1)])
case("ReduceProd", 18, [R(2, 0, 3), I(1)])
case("ReduceSum", 13, [A(3)])
case("ReduceMax", 20, [R(3, 4, d=bool), I(1)])
case("ReduceMin", 20, [R(3, 4, d=bool), I(0)], keepdims=0)
case("ReduceMax", 12, [R(3, 4, d=i8)], axes=[-1])
case("ReduceMin", 18, [R(3, 4, d=u8, hi=250), I(0)])
case("ReduceSum", 13, [R(2, 3, d=f64), I()])
case("ReduceMean", 13, [R(2, 3, d=f16)], axes=[1])
for op in ("ArgMax", "ArgMin"):
    case(op, 11, [R(3, 4)], axis=-1)
    case(op, 13, [A([[1, 2, 2, 1], [3, 3, 1, 1]])], axis=1, keepdims=0)
    case(op, 13, [A([[1, 2, 2, 1], [3, 3, 1, 1]])], axis=1, keepdims=0, select_last_index=1)
    case(op, 13, [A([[1, 2, 2, 1], [3, 3, 1, 1]], i32)])
case("CumSum", 11, [R(2, 3), A(1, i32)])
case("CumSum", 14, [R(2, 3, d=i64), A(-2, i64)], exclusive=1)
case("CumSum", 14, [R(2, 3, d=f64), A(1, i32)], exclusive=1, reverse=1)
case("CumProd", 26, [A([1, 2, 3]), A(0, i64)], exclusive=1, reverse=1)

# Movement.
case("Reshape", 7, [R(2, 3, 4), I(0, -1)])
case("Reshape", 13, [R(2, 3, 4), I(4, 0, 2)])
case("Reshape", 14, [R(0, 3), I(3, 0)], allowzero=1)
case("Reshape", 14, [R(6), I(-1)], const=(1,))
case("Reshape", 14, [R(1), I()])
for axis in (0, 1, 2, 3, -1, -3):
    case("Flatten", 13, [R(2, 3, 4)], axis=axis)
case("Flatten", 13, [A(3)], axis=0)
case("Squeeze", 11, [R(1, 3, 1)], axes=[-1])
case("Squeeze", 11, [R(1, 3, 1)])
case("Squeeze", 13, [R(1, 3, 1), I(0)])
case("Squeeze", 13, [R(1, 3, 1)])
case("Unsqueeze", 11, [R(2, 3)], axes=[0, -1])
case("Unsqueeze", 13, [R(2, 3), I(3, 0)])
case("Unsqueeze", 13, [A(3), I(0)])
case("Transpose", 13, [R(2, 3, 4)])
case("Transpose", 13, [R(2, 3, 4, d=bool)], perm=[1, 0, 2])
case("Expand", 8, [R(3, 1), I(2, 1, 4)])
case("Expand", 13, [R(3, 1, d=i8), I(1)])
case("Expand", 13, [R(1), I(0)])
case("Tile", 7, [R(2, 3), I(2, 3)])
case("Tile", 13, [R(2, 1, 2, 1, 2, 1, d=i32), I(1, 2, 2, 2, 1, 3)])
case("Tile", 13, [R(2), I(0)])
case("Concat", 11, [R(2, 3), R(1, 3)], axis=-2)
case("Concat", 13, [R(2, 0, d=i64), R(2, 3, d=i64)], axis=1)
case("DepthToSpace", 11, [R(1, 8, 2, 3)], blocksize=2, mode="CRD")
case("DepthToSpace", 11, [R(1, 8, 2, 3)], blocksize=2)
case("SpaceToDepth", 13, [R(1, 2, 4, 6)], blocksize=2)

# Slices, splits.
big = np.iinfo(i64).max
case("Slice", 7, [R(4, 5)], starts=[1, -3], ends=[100, -1])
case("Slice", 9, [R(4, 5)], starts=[1], ends=[3], axes=[1])
case("Slice", 10, [R(4, 5), I(0, 4), I(4, 0), I(0, 1), I(2, -2)])
case("Slice", 13, [R(4, 5), I(-1), I(-big), I(-1), I(-1)])
case("Slice", 13, [R(4, 5), I(0), I(big), I(1), I(3)], const=(1, 2, 3, 4))
case("Slice", 13, [R(4, 5), A([3], i32), A([1], i32)])
case("Slice", 13, [R(4, 5), I(0), I(4), I(0), I(100)])
case("Slice", 13, [R(5), I(10), I(-10), I(0), I(-2)])
case("Split", 11, [R(6, 2)], 3)
case("Split", 11, [R(2, 6)], 2, axis=-1, split=[2, 4])
case("Split", 13, [R(6), I(1, 0, 5)], 3)
case("Split", 13, [R(4, 2)], 2)
case("Split", 18, [R(7)], 3, num_outputs=3)
case("CenterCropPad", 18, [R(5, 4), I(3, 7)])
case("CenterCropPad", 18, [R(4, 5, 3), I(7, 2)], axes=[-1, 1])

# Padding.
case("Pad", 7, [R(2, 3)], pads=[1, 0, 2, 1], value=1.5)
case("Pad", 7, [R(3, 4)], pads=[1, 2, 2, 1], mode="reflect")
case("Pad", 10, [R(3, 4)], pads=[1, 2, 2, 1], mode="edge")
case("Pad", 11, [R(2, 3), I(0, 1, 0, 2), A(2.5)])
case("Pad", 11, [R(2, 3), I(0, 1, 0, 2), A(2.5)], const=(1, 2), name="Pad_11_constants")
case("Pad", 13, [R(4, 3), I(-1, 1, -1, 0)])
case("Pad", 13, [R(2, 3, d=i64), I(0, 1, 0, 2), A(-7, i64)])
case("Pad", 13, [R(2, 3, d=bool), I(0, 1, 0, 2), A(True, bool)])
case("Pad", 18, [R(2, 3), I(1, 2), A(9), I(-1)])
case("Pad", 18, [R(4, 5), I(3, 2), None, I(-1)], mode="reflect")
case("Pad", 19, [R(3, 4), I(1, 3, 2, 4)], mode="wrap")
case("Pad", 19, [R(3, 2, d=i32), I(2, 0, 2, 5)], mode="edge")
for mode in ("reflect", "edge", "wrap"):
    case("Pad", 19, [R(4, 5), I(1, 2, 3, -1)], mode=mode)
    case("Pad", 19, [R(4, 5), I(-2, 0, 1, -1)], mode=mode, name=f"Pad_19_{mode}_removes_and_adds")

# Indexing.
case("Gather", 11, [R(3, 4), A([[0, -1], [1, 2]], i64)])
case("Gather", 13, [R(3, 4), A([[0, -1], [1, 2]], i32)], axis=-1)
case("Gather", 13, [R(3, 4), A(-2, i64)], const=(1,))
case("Gather", 13, [R(3, 4), A([], i64)])
case("GatherElements", 13, [R(3, 3), A([[0, -1, 2]], i64)])
case("GatherElements", 11, [R(3, 4), A([[0, -1], [1, -4]], i32)], axis=-1)
case("GatherND", 11, [R(2, 3, 4), A([[0, -1], [1, 2]], i64)])
case("GatherND", 12, [R(2, 3, 4), A([[-1], [0]], i64)], batch_dims=1)
case("GatherND", 13, [R(2, 3), A([[0, -1], [-2, 2]], i64)], const=(1,))
case("Scatter", 9, [R(3, 3), A([[1, -1, 0]], i64), R(1, 3)])
case("ScatterElements", 11, [R(3, 4), A([[0, -1], [1, 2]], i64), R(2, 2)], axis=1)
case("ScatterElements", 16, [R(3), A([0, 0, -1], i64), R(3)], reduction="add")
case("ScatterElements", 18, [R(3, d=i32), A([0, 0, -1], i64), R(3, d=i32)], reduction="max")
case("ScatterElements", 18, [R(3), A([0, 0, 2], i64), R(3)], reduction="mul", const=(1,))
case("ScatterND", 11, [R(4, 2), A([[1], [-1]], i64), R(2, 2)])
case("ScatterND", 16, [R(2, 3), A([[1, -1], [1, 2], [0, 0]], i64), R(3)], reduction="add")
case("ScatterND", 18, [R(2, 3), A([[1, 2], [0, 0]], i64), R(2)], reduction="min")
case("TensorScatter", 24, [R(2, 1, 4, 3), R(2, 1, 2, 3), I(1, 3)], mode="circular")
case("TensorScatter", 24, [R(2, 1, 4, 3), R(2, 1, 4, 1)], axis=-1)
case("OneHot", 9, [A([0, -1, 5, -6, 2], i64), A(5, i64), A([2, 7])])
case("OneHot", 11, [A([[1, 0]], i64), A([3], i64), A([0, 1], i64)], axis=-2)
case("OneHot", 11, [A([1, 0]), A(3), A([0, 1])], axis=0)
case("ReverseSequence", 10, [R(4, 3, 2), I(4, 1, 2)])
case("ReverseSequence", 10, [R(3, 4), I(4, 1, 2)], batch_axis=0, time_axis=1)
case("Where", 9, [A([True, False], bool), R(2, 2), A(1)])
case("Where", 16, [A([[True], [False]], bool), R(2, d=u8, hi=9), R(1, 2, d=u8, hi=9)])
case("TopK", 7, [R(2, 5)], 2, k=3)
case("TopK", 10, [R(5, 2), I(2)], 2, axis=0)
case("TopK", 11, [A([[1, 3, 3, 0], [2, 2, 5, 1]], i64), I(3)], 2, largest=0)
case("TopK", 11, [A([[1, 3, 3, 0], [2, 2, 5, 1]]), I(0)], 2)
case("Compress", 9, [R(3, 2), A([False, True, True], bool)], axis=0)
case("Compress", 11, [R(3, 2), A([False, True, True], bool)], axis=-2)
case("Compress", 11, [R(3, 2), A([True, False, True, True], bool)])
case("NonZero", 9, [A([[0, 2, 0], [-0.0, 0, 3]])])
case("NonZero", 13, [A([True, False, True], bool)])
case("NonZero", 13, [R(0, 2)])
case("Unique", 11, [A([2, 1, 1, 3, 4, 3])], 4)
case("Unique", 11, [A([2, 1, 1, 3, 4, 3], i64)], 4, sorted=0)
case("Unique", 11, [A([[1, 0, 0], [1, 0, 0], [2, 3, -4]])], 4, axis=0)
case("Unique", 11, [A([[1, 1, 0], [2, 2, 0], [-5, -5, 1]])], 4, axis=-1)
case("Unique", 11, [A([[[1, 1], [0, 1], [2, 1], [0, 1]], [[1, 1], [0, 1], [2, 1], [0, 1]]])], 4, axis=1)
case("Unique", 11, [A([-3, 2, -3, 0], i8)], 4)
case("Trilu", 14, [R(2, 3, 4)])
case("Trilu", 14, [R(3, 4, d=i64), A(-1, i64)], upper=0)
case("Trilu", 14, [R(3, 3, d=bool), A(1, i64)], const=(1,))
case("Trilu", 14, [R(0, 3)])

# Creation.
case("Range", 11, [A(1, i64), A(10, i64), A(3, i64)])
case("Range", 11, [A(5, i32), A(-4, i32), A(-2, i32)])
case("Range", 11, [A(0, f32), A(1, f32), A(0.25, f32)])
case("Range", 11, [A(3, i16), A(3, i16), A(1, i16)])
case("Range", 11, [A(1, f64), A(2, f64), A(-1, f64)])
case("ConstantOfShape", 9, [I(2, 3)])
case("ConstantOfShape", 9, [I()], value=helper.make_tensor("v", TensorProto.INT64, [1], [7]))
case("ConstantOfShape", 20, [I(0, 2)], value=helper.make_tensor("v", TensorProto.BOOL, [1], [1]))
case("EyeLike", 9, [R(3, 4)], k=-1)
case("EyeLike", 9, [R(2, 2, d=i32)], k=1, dtype=TensorProto.DOUBLE)
case("Shape", 15, [R(2, 3, 4)], start=-2)
case("Shape", 15, [R(2, 3, 4)], start=1, end=-1)
case("Shape", 13, [A(1)])
case("Size", 13, [R(2, 0, 4)])
case("Constant", 12, [], value_ints=[1, -2, 3])
case("Constant", 12, [], value_floats=[1.5, 2.0])
case("Constant", 12, [], value_int=-5)
case("Constant", 12, [], value_float=2.5)
case("Constant", 13, [], value=numpy_helper.from_array(R(2, 2, d=u16, hi=65000)))

# Casts.
for to in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT8, TensorProto.BOOL, TensorProto.UINT8, TensorProto.DOUBLE):
    case("Cast", 13, [A([0, 1.5, 2.75, 100])], to=to)
    case("Cast", 9, [A([0, 1, 100, 127], i64)], to=to)
    case("Cast", 13, [A([True, False], bool)], to=to)
case("Cast", 13, [A([300, -1, 129], i32)], to=TensorProto.UINT8)
case("CastLike", 15, [A([1.5, 2.5]), R(0, d=i64)])
case("BitCast", 26, [A([1.5, -2.0, 0.0])], to=TensorProto.INT32)

# Attributes that few models use, one by one.
tokens = I(94, 17, 36, 12, 28, 17, 36)
bag = dict(min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2], ngram_indexes=[2, 0, 1, 4],
           pool_int64s=[94, 17, 17, 36, 94, 36])
weighted = dict(bag, weights=[10.0, 20.0, 30.0, 40.0])
for mode in "TF", "IDF", "TFIDF":
    case("TfIdfVectorizer", 9, [tokens], mode=mode, **weighted)
    case("TfIdfVectorizer", 9, [np.stack([tokens, tokens[::-1]]).astype(i32)], mode=mode, **bag)
    case("TfIdfVectorizer", 9, [tokens], name=f"TfIdfVectorizer_shared_place_{mode}", mode=mode, **dict(weighted, ngram_indexes=[2, 0, 0, 1]))
case("TfIdfVectorizer", 9, [tokens], mode="TF", **dict(bag, min_gram_length=2, max_skip_count=5))
case("TfIdfVectorizer", 9, [np.zeros((2, 0), i64)], mode="TF", **bag)
case("TfIdfVectorizer", 9, [tokens], mode="TF", name="TfIdfVectorizer_three_lengths", min_gram_length=1, max_gram_length=3, max_skip_count=2,
     ngram_counts=[0, 1, 3], ngram_indexes=[0, 1, 2, 3], pool_int64s=[17, 17, 36, 94, 36, 28, 17, 12, 36])

for ceil in 0, 1:
    for count in 0, 1:
        case("AveragePool", 19, [R(1, 2, 9, 8)], kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1], dilations=[2, 1], ceil_mode=ceil, count_include_pad=count)
    case("LpPool", 18, [R(1, 2, 9, 8)], kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1], dilations=[2, 1], ceil_mode=ceil, p=3)
    case("MaxPool", 12, [R(1, 2, 9, 8)], outputs=2, kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1], dilations=[2, 1], ceil_mode=ceil, storage_order=ceil)
case("AveragePool", 10, [R(1, 1, 7)], kernel_shape=[3], strides=[2], auto_pad="SAME_LOWER")
case("AveragePool", 11, [R(1, 1, 5, 4, 6)], kernel_shape=[3, 2, 2], strides=[2, 2, 2], auto_pad="SAME_UPPER", count_include_pad=1)
case("MaxPool", 12, [R(1, 1, 7, 6, d=i8, hi=100)], kernel_shape=[3, 3], strides=[2, 2], auto_pad="VALID")

image = R(1, 2, 7, 9)
for mode in "linear", "cubic":
    for transform in "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric":
        for size in [4, 5], [13, 11], [1, 1]:
            case("Resize", 19, [image, None, None, I(1, 2, *size)], const=(3,), mode=mode, coordinate_transformation_mode=transform)
    for size in [4, 5], [13, 4]:
        case("Resize", 18, [image, None, None, I(1, 2, *size)], const=(3,), mode=mode, antialias=1)
        case("Resize", 18, [image, None, None, I(1, 2, *size)], const=(3,), mode=mode, antialias=1, exclude_outside=1)
case("Resize", 13, [image, None, None, I(1, 2, 10, 12)], const=(3,), mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)
for policy in "stretch", "not_larger", "not_smaller":
    case("Resize", 18, [image, None, None, I(5, 12)], const=(3,), mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)
for nearest in "round_prefer_floor", "round_prefer_ceil", "floor", "ceil":
    case("Resize", 13, [image, None, A([1, 1, 0.6, 1.7])], const=(2,), mode="nearest", nearest_mode=nearest)
    case("Resize", 13, [image, None, A([1, 1, 0.5, 2])], const=(2,), mode="nearest", nearest_mode=nearest, coordinate_transformation_mode="asymmetric")
case("Resize", 13, [image, A([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2]), None, I(1, 2, 5, 6)], const=(1, 3), mode="linear",
     coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5)

heads = lambda n, s, d=4: R(2, n, s, d)
for mode in range(4):
    case("Attention", 23, [heads(4, 3), heads(2, 5), heads(2, 5, 6), R(3, 5), None, None], 4, softcap=2.0, qk_matmul_output_mode=mode,
         is_causal=mode % 2, name=f"Attention_scores_{mode}")
case("Attention", 23, [heads(4, 3), heads(2, 2), heads(2, 2), R(2, 1, 3, 5, d=bool), heads(2, 3), heads(2, 3)], 4, scale=0.3, name="Attention_past")
case("Attention", 23, [R(2, 3, 16), R(2, 2, 8), R(2, 2, 8), None, heads(2, 3), heads(2, 3)], 4, q_num_heads=4, kv_num_heads=2, is_causal=1,
     name="Attention_past_rank_3")
case("Attention", 24, [heads(2, 3), heads(2, 5), heads(2, 5), None, None, None, I(3, 5)], 1, is_causal=1, name="Attention_padded_cache")
case("RMSNormalization", 23, [R(2, 3, 4), R(3, 4)], axis=1, epsilon=0.1)
for partial in 0, 4:
    for interleaved in 0, 1:
        half = (partial or 8) // 2
        case("RotaryEmbedding", 23, [R(2, 3, 5, 8), R(9, half), R(9, half), R(2, 5, d=i64, lo=0, hi=8)], rotary_embedding_dim=partial, interleaved=interleaved)
case("RotaryEmbedding", 23, [R(2, 5, 24), R(2, 5, 4), R(2, 5, 4)], num_heads=3)
case("TensorScatter", 24, [R(2, 3, 6, 2), R(2, 3, 2, 2), I(1, 5)], axis=2, mode="circular")
case("TensorScatter", 24, [R(2, 6, 2), R(2, 2, 2), I(1, 4)])
case("Swish", 24, [R(3, 4)], alpha=1.5)

for reduction in "add", "mul", "max", "min":
    case("ScatterElements", 18, [R(4, 3), R(2, 3, d=i64, lo=0, hi=3), R(2, 3)], axis=0, reduction=reduction)
    case("ScatterND", 18, [R(4, 3), A([[1], [-1], [1]], i64), R(3, 3)], reduction=reduction)
for mode in "linear", "nearest", "cubic":
    for padding in "zeros", "border", "reflection":
        for align in 0, 1:
            case("GridSample", 20, [R(2, 2, 4, 5), R(2, 3, 2, 2, lo=-2, hi=2)], mode=mode, padding_mode=padding, align_corners=align)
            if mode != "cubic":
                case("GridSample", 20, [R(1, 2, 3, 4, 5), R(1, 2, 3, 2, 3, lo=-2, hi=2)], mode=mode, padding_mode=padding, align_corners=align)
for op, gates in dict(RNN=1, GRU=3, LSTM=4).items():
    for direction, n in dict(forward=1, reverse=1, bidirectional=2).items():
        states = [R(n, 2, 3)] * (2 if op == "LSTM" else 1)
        peep = [R(n, 9)] if op == "LSTM" else []
        case(op, 14, [R(4, 2, 5), R(n, gates * 3, 5), R(n, gates * 3, 3), R(n, gates * 6), A([4, 2], i32)] + states + peep, 3 if op == "LSTM" else 2,
             hidden_size=3, direction=direction, clip=0.8, name=f"{op}_{direction}_lengths_clip")
    case(op, 14, [R(4, 2, 5), R(1, gates * 3, 5), R(1, gates * 3, 3)], 2, hidden_size=3, activations=["HardSigmoid", "LeakyRelu", "Elu"][:max(1, gates - 1 if gates > 1 else 1)],
         activation_alpha=[0.3, 0.1, 0.5][:max(1, gates - 1 if gates > 1 else 1)], activation_beta=[0.4], name=f"{op}_other_functions")
case("GRU", 14, [R(4, 2, 5), R(1, 9, 5), R(1, 9, 3), R(1, 18)], 2, hidden_size=3, linear_before_reset=1)
case("LSTM", 14, [R(4, 2, 5), R(1, 12, 5), R(1, 12, 3), R(1, 24)], 3, hidden_size=3, input_forget=1)
for axis in 0, 1, -1:
    case("ArgMax", 13, [A([[1, 3, 3], [3, 1, 3]])], axis=axis, select_last_index=1, keepdims=0)
    case("ArgMin", 13, [A([[1, 3, 1], [1, 1, 3]])], axis=axis, select_last_index=1)
case("TopK", 11, [R(3, 5), I(2)], 2, const=(1,), axis=0, largest=0)
case("CumSum", 14, [R(3, 4), A(1, i32)], exclusive=1, reverse=1)
for inverse in 0, 1:
    case("DFT", 20, [R(2, 6, 3, 2), A(7, i64), A(1, i64)], const=(1, 2), inverse=inverse)
case("DFT", 20, [R(2, 6, 1), None, A(-2, i64)], const=(2,), onesided=1)
case("STFT", 17, [R(1, 20, 1), A(5, i64), R(8), A(8, i64)], const=(1, 3), onesided=0)
case("QuantizeLinear", 21, [R(4, 6), A([[0.1, 0.2], [0.05, 0.3], [0.1, 0.1], [0.2, 0.4]]), R(4, 2, d=u8, hi=9)], axis=1, block_size=3)
case("DequantizeLinear", 21, [R(4, 6, d=i8, lo=-99, hi=99), A([[0.1, 0.2], [0.05, 0.3], [0.1, 0.1], [0.2, 0.4]]), R(4, 2, d=i8)], axis=1, block_size=3)
case("QuantizeLinear", 13, [R(3, 4), A([0.1, 0.02, 0.5, 1]), R(4, d=i8)], axis=-1)
case("OneHot", 11, [A([[0, -1], [9, 2]], i64), A(3, i64), A([5, 7])], const=(1,), axis=0)
case("ReverseSequence", 10, [R(4, 3, 2), I(1, 4, 2)], time_axis=0, batch_axis=1)
case("EyeLike", 22, [R(3, 4)], k=-1, dtype=TensorProto.INT32)
case("Trilu", 14, [R(2, 3, 4), A(-1, i64)], upper=0)
case("GatherElements", 13, [R(3, 4), A([[0, -1, 2, 1]], i64)], axis=0)
case("GatherND", 13, [R(2, 3, 4), A([[[1]], [[2]]], i64)], batch_dims=1)
case("Compress", 11, [R(3, 4), A([True, False, True], bool)], axis=1)
case("Unique", 11, [A([[2, 1, 2], [1, 3, 1], [2, 1, 2]])], 4, axis=0, sorted=0)
case("Hardmax", 13, [A([[1, 3, 3], [2, 2, 1]])], axis=0)
case("LpNormalization", 22, [R(3, 4)], axis=0, p=1)
case("LRN", 13, [R(2, 5, 3, 2)], size=3, alpha=0.5, beta=0.6, bias=1.5)
case("MeanVarianceNormalization", 13, [R(2, 3, 4)], axes=[0, 2])
case("GroupNormalization", 21, [R(2, 6, 3), R(6), R(6)], num_groups=3, epsilon=0.1)
case("LayerNormalization", 17, [R(2, 3, 4), R(3, 4), R(3, 4)], 3, axis=1, epsilon=0.1)
case("InstanceNormalization", 22, [R(2, 3, 4, 2), R(3), R(3)], epsilon=0.1)
case("BatchNormalization", 15, [R(3, 2, 4), R(2), R(2), R(2), R(2, lo=1)], 3, training_mode=1, momentum=0.7, epsilon=0.1)
case("ConvTranspose", 22, [R(1, 4, 3, 4), R(4, 3, 3, 2), R(6)], group=2, strides=[2, 3], dilations=[2, 1], output_padding=[1, 2], pads=[1, 0, 2, 1])
for auto in "SAME_UPPER", "SAME_LOWER":
    case("Conv", 22, [R(1, 2, 6, 7), R(3, 2, 3, 2)], strides=[2, 3], auto_pad=auto)
    case("ConvTranspose", 22, [R(1, 2, 4, 3), R(2, 3, 3, 2)], strides=[2, 3], auto_pad=auto)
case("Conv", 22, [R(1, 4, 5, 4, 6), R(4, 2, 2, 3, 1), R(4)], group=2, strides=[1, 2, 2], dilations=[2, 1, 1], pads=[1, 0, 0, 1, 1, 0])
case("ConvTranspose", 22, [R(1, 2, 4, 3), R(2, 1, 3, 3)], strides=[2, 2], output_shape=[9, 6])
for op in "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare":
    case(op, 18, [R(3, 2, 4, lo=1), I(0, -1)], const=(1,), keepdims=0)
    case(op, 18, [R(3, 2, lo=1)], noop_with_empty_axes=1)
    case(op, 18, [R(3, 2, lo=1)], keepdims=0)
for op in "HannWindow", "HammingWindow", "BlackmanWindow":
    case(op, 17, [A(7, i64)], const=(0,), periodic=0)
    case(op, 17, [A(6, i64)], const=(0,))
case("MelWeightMatrix", 17, [A(5, i64), A(16, i64), A(8000, i64), A(100, f32), A(3500, f32)], const=(0, 1, 2, 3, 4))
for mode in "DCR", "CRD":
    case("DepthToSpace", 13, [R(1, 8, 2, 3)], blocksize=2, mode=mode)
case("Pad", 19, [R(2, 3), I(0, 2, 0, 1), None, I(0, 1)], const=(1, 3), mode="wrap")
case("Pad", 18, [R(2, 3), I(1, -1), A(2.5), I(-1)], const=(1, 2, 3))
case("Shrink", 9, [R(3, 4)], lambd=1.5, bias=0.5)
case("BitwiseAnd", 18, [R(3, 4, d=i16, lo=-99, hi=99), R(4, d=i16, lo=-99, hi=99)])
case("Det", 22, [R(2, 3, 3)])
case("CenterCropPad", 18, [R(4, 3, 5), I(6, 2)], const=(1,), axes=[0, 2])
case("RoiAlign", 16, [R(1, 2, 6, 7), A([[0.5, 1, 4, 5], [1, 0, 6, 3]]), I(0, 0)], output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.8,
     coordinate_transformation_mode="output_half_pixel")
case("MaxUnpool", 11, [A([[[[5, 6], [7, 8]]]]), A([[[[5, 7], [13, 15]]]], i64)], kernel_shape=[2, 2], strides=[2, 2])
case("NonMaxSuppression", 11, [R(1, 6, 4, lo=0, hi=5), R(1, 2, 6, lo=0, hi=1), I(3), A([0.3]), A([0.2])], const=(2, 3, 4), center_point_box=1)
case("QLinearConv", 10, [R(1, 2, 5, 5, d=u8, hi=255), A(0.02), A(120, u8), R(3, 2, 3, 3, d=i8, lo=-99, hi=99), A([0.01, 0.02, 0.03]), A([0, 0, 0], i8),
                         A(0.5), A(100, u8), R(3, d=i32, lo=-500, hi=500)], const=(1, 2, 3, 4, 5, 6, 7, 8), pads=[1, 1, 1, 1])
case("ConvInteger", 10, [R(1, 2, 5, 5, d=u8, hi=255), R(3, 2, 3, 3, d=u8, hi=99), A(7, u8), A([50], u8)], const=(3,), strides=[2, 1])
case("SoftmaxCrossEntropyLoss", 13, [R(3, 4, 2), R(3, 2, d=i64, lo=0, hi=3), R(4, lo=1)], 2, ignore_index=1, reduction="mean")
case("NegativeLogLikelihoodLoss", 13, [R(3, 4), R(3, d=i64, lo=0, hi=3), R(4, lo=1)], ignore_index=1, reduction="none")

print(json.dumps({"cases": cases}, indent=0, sort_keys=True))
print(len(cases), "cases;", [c["name"] for c in cases if c["peer"] != "onnxruntime"], file=sys.stderr)
