"""Writes golden.json: small cases computed by NumPy and ONNX Runtime, for the tests of the reference kernels.

Run with numpy, onnx and onnxruntime installed:  python gen.py > golden.json
"""
import json
import math
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper

rng = np.random.default_rng(7)
NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool"}
cases = []


def number(v):
    if isinstance(v, (bool, np.bool_)):
        return int(v)
    if isinstance(v, (float, np.floating)):
        f = float(v)
        return f if math.isfinite(f) else ("nan" if math.isnan(f) else "inf" if f > 0 else "-inf")
    return str(int(v)) if abs(int(v)) > 2**53 else int(v)


def tensor(a):
    a = np.asarray(a)
    return {"dtype": NAMES[a.dtype.name], "shape": list(a.shape), "data": [number(v) for v in a.ravel()]}


def case(op, ins, outs, **attrs):
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    cases.append({"op": op, "attrs": attrs, "inputs": [tensor(a) for a in ins], "outputs": [tensor(a) for a in outs]})


def ort(kind, ins, outs=1, opset=20, **attrs):
    """Runs one ONNX operator; None leaves an input out."""
    names = ["" if a is None else f"i{k}" for k, a in enumerate(ins)]
    node = helper.make_node(kind, names, [f"o{k}" for k in range(outs)], **attrs)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, ins) if n]
    graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name=f"o{k}") for k in range(outs)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    s = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return s.run(None, {n: a for n, a in zip(names, ins) if n})


def f32(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape).astype(np.float32)


def f64(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape)


def ints(dtype, *shape, lo=None, hi=None):
    i = np.iinfo(dtype)
    return rng.integers(i.min if lo is None else lo, i.max if hi is None else hi, shape, dtype=dtype, endpoint=True)


special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, 1e-310, 3.7, -3.7])
few = special[[0, 1, 2, 3, 4, 5, 8, 12]]
grid = [np.repeat(few, len(few)), np.tile(few, len(few))]

np.seterr(all="ignore")
for name, f in {"neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
                "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
                "cosh": np.cosh, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "is_nan": np.isnan,
                "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "trunc": np.trunc, "reciprocal": np.reciprocal,
                "square": np.square, "sign": np.sign, "is_inf": np.isinf}.items():
    x = np.concatenate([special, f64(8)])
    case(name, [x], f(x))
x = f64(20, lo=-4, hi=4)
case("erf", [x], np.array([math.erf(v) for v in x]))

for name, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod, "pow": np.power,
                "atan2": np.arctan2, "equal": np.equal, "less": np.less, "not_equal": np.not_equal, "greater": np.greater,
                "greater_equal": np.greater_equal, "less_equal": np.less_equal, "max": np.maximum, "min": np.minimum}.items():
    case(name, grid, f(*grid))
    a, b = f64(2, 1, 3, lo=0.1), f64(4, 1, lo=0.1)
    case(name, [a, b], f(a, b))
finite = [a[np.isfinite(grid[0]) & np.isfinite(grid[1]) & (grid[1] != 0)] for a in grid]
case("floor_mod", finite, np.mod(*finite))

for t in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.int16, np.uint16):
    edge = np.array([np.iinfo(t).min, np.iinfo(t).max, 0, 1, 3, 100], dtype=t)
    a, b = np.repeat(edge, len(edge)), np.tile(edge, len(edge))
    for name, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "less": np.less,
                    "equal": np.equal, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
        case(name, [a, b], f(a, b))
    c = np.tile(np.arange(2, 8, dtype=t), len(edge))
    case("shl", [a, c], np.left_shift(a, c))
    case("shr", [a, c], np.right_shift(a, c))
    case("not", [edge], np.invert(edge))
    x = ints(t, 3, 4)
    case("sum", [x], x.sum(axis=1, dtype=t), axes=[1])
    case("prod", [x], x.prod(axis=0, dtype=t), axes=[0])
    case("cumsum", [x], x.cumsum(axis=1, dtype=t), axis=1)
    case("sort", [x], [np.sort(x, 1), np.argsort(x, 1, kind="stable")], axis=1)
    case("argmax", [x], x.argmax(1), axis=1)
    small = ints(t, 5, 1, lo=0, hi=3)
    case("pow", [x[:1], small[:, :1]], np.power(x[:1], small[:, :1]))
for t in (np.int32, np.int64, np.int8):
    a = ints(t, 40, lo=-20, hi=20)
    b = ints(t, 40, lo=-5, hi=5)
    b[b == 0] = 3
    case("div", [a, b], np.trunc(a / b).astype(t))
    case("rem", [a, b], np.fmod(a, b))
    case("floor_mod", [a, b], np.mod(a, b))

x = f64(3, 4, 5)
for name, f in {"sum": np.sum, "prod": np.prod, "reduce_max": np.max, "reduce_min": np.min, "mean": np.mean, "variance": np.var}.items():
    for axes in ([], [0], [1, 2], [0, 1, 2]):
        case(name, [x], f(x, axis=tuple(axes)) if axes or name in ("sum", "mean") else (np.zeros_like(x) if name == "variance" else x), axes=axes)
    case(name, [x], f(x, axis=(1,), keepdims=True), axes=[1], keep_dims=True)
case("variance", [x], x.var(axis=1, ddof=1), axes=[1], correction=1.0)
case("log_sum_exp", [x], np.log(np.exp(x).sum((0, 2))), axes=[0, 2])
for name, f in {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}.items():
    case(name, [x], f(x, axis=1), axis=1)
    case(name, [x], np.flip(f(np.flip(x, 1), axis=1), 1), axis=1, reverse=True)
case("cumsum", [x], np.concatenate([np.zeros((3, 1, 5)), np.cumsum(x, 1)[:, :-1]], 1), axis=1, exclusive=True)
ties = np.array([[2.0, 1, 2, 1, np.nan, 3, np.nan], [3, 3, 1, 1, 2, 2, 0]])
case("argmax", [ties], np.argmax(ties, 1), axis=1)
case("argmin", [ties], np.argmin(ties, 1), axis=1, keep_dims=False)
case("sort", [ties], [np.sort(ties, 1), np.argsort(ties, 1, kind="stable")], axis=1)
case("sort", [x], [np.sort(x, 0), np.argsort(x, 0, kind="stable")], axis=0)
plain = f32(4, 6)
v, i = ort("TopK", [plain, np.array([3], np.int64)], 2, axis=1)
case("topk", [plain], [v, i], k=3, axis=1)
v, i = ort("TopK", [plain, np.array([2], np.int64)], 2, axis=0, largest=0)
case("topk", [plain], [v, i], k=2, axis=0, largest=False)

# movement
m = ints(np.int32, 2, 3, 4)
case("reshape", [m], m.reshape(4, 6), shape=[4, 6])
case("permute", [m], m.transpose(2, 0, 1), axes=[2, 0, 1])
case("expand", [m[:, :1]], np.broadcast_to(m[:, :1], (5, 2, 3, 4)), shape=[5, 2, 3, 4])
case("slice", [m], m[:, 2:0:-1, 1:4:2], start=[0, 2, 1], size=[2, 2, 2], step=[1, -1, 2])
case("pad", [m[:, :, 1:]], np.pad(m[:, :, 1:], ((1, 0), (0, 2), (1, 1)), constant_values=9), lo=[1, 0, 1], hi=[0, 2, 1], value=9)
case("pad", [m], m[:, 1:, :-2], lo=[0, -1, 0], hi=[0, 0, -2])
case("flip", [m], np.flip(m, (0, 2)), axes=[0, 2])
case("concat", [m, m[:, :1], m], np.concatenate([m, m[:, :1], m], 1), axis=1)
case("copy", [m], m)
case("full", [], np.full((2, 3), 7, np.uint8), value=7, dtype="u8", shape=[2, 3])
case("iota", [], np.broadcast_to(np.arange(3, dtype=np.float32)[:, None], (2, 3, 4)), dtype="f32", shape=[2, 3, 4], axis=1)
c = np.array([[True], [False]])
a, b = f32(2, 3), f32(3)
case("where", [c, a, b], np.where(c, a, b))
idx = np.array([[2, 0], [1, 1]], np.int64)
case("gather", [m, idx], np.take(m, idx, 1), axis=1)
bx, bi = f32(2, 4, 3), np.array([[3, 1], [0, 0]], np.int64)
case("gather", [bx, bi], np.take_along_axis(bx, bi[:, :, None], 1), axis=1, batch=1)
ge = np.array([[1, 0, 1], [0, 0, 1]], np.int64)
g = f32(2, 3)
case("gather_elements", [g, ge], np.take_along_axis(g, ge, 0), axis=0)
case("gather_nd", [g, np.array([[1, 2], [0, 0]], np.int64)], g[[1, 0], [2, 0]])
case("gather_nd", [g, np.array([[1], [0]], np.int64)], g[[1, 0]])
case("gather_nd", [bx, np.array([[3], [1]], np.int64)], bx[[0, 1], [3, 1]], batch=1)
for mode, red in (("assign", "none"), ("add", "add"), ("mul", "mul"), ("min", "min"), ("max", "max")):
    base, up = f32(4, 3), f32(2, 3)
    where = np.array([[3], [1]], np.int64)
    case("scatter_nd", [base, where, up], ort("ScatterND", [base, where, up], reduction=red), mode=mode)
    se = np.array([[3, 1, 0], [1, 1, 2]], np.int64) if mode != "assign" else np.array([[3, 1, 0], [1, 2, 2]], np.int64)
    case("scatter_elements", [base, se, up], ort("ScatterElements", [base, se, up], axis=0, reduction=red), axis=0, mode=mode)
want = bx.copy()
upd = f32(2, 2, 3)
for n in range(2):
    for k in range(2):
        want[n, bi[n, k]] = upd[n, k]
case("scatter", [bx, bi, upd], want, axis=1, batch=1)
want = bx.copy()
np.add.at(want, (slice(None), np.array([3, 3])), upd)
case("scatter", [bx, np.array([3, 3], np.int64), upd], want, axis=1, mode="add")
case("one_hot", [np.array([0, 2, 5, -1], np.int64)], np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], np.float32), depth=3, axis=1, dtype="f32")
for src in (np.float64, np.float32, np.int64, np.int8, np.uint8, np.bool_):
    for dst in (np.float64, np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_):
        v = np.array([0, 1, 2, 3, 60, 127]).astype(src)
        case("cast", [v], v.astype(dst), dtype=NAMES[np.dtype(dst).name])
v = f64(40, lo=-70000, hi=70000)
case("cast", [v], v.astype(np.float16), dtype="f16")
case("cast", [v], v.astype(np.float32), dtype="f32")

# contraction
a, b = f64(3, 1, 2, 4), f64(5, 4, 3)
case("matmul", [a, b], a @ b)
case("matmul", [a, b.swapaxes(1, 2).copy()], a @ b, transpose_b=True)
case("matmul", [a.swapaxes(2, 3).copy(), b], a @ b, transpose_a=True)
ia, ib = ints(np.int8, 3, 4), ints(np.int8, 4, 2)
case("matmul", [ia, ib], ia @ ib)
xl, wl, bl = f64(2, 3, 4), f64(5, 4), f64(5)
case("linear", [xl, wl, bl], xl @ wl.T + bl, transpose_w=True)
case("linear", [xl[0, 0], wl.T.copy()], xl[0, 0] @ wl.T)
cx, cw = f32(2, 4, 7, 6), f32(6, 2, 3, 2)
case("conv", [cx, cw], ort("Conv", [cx, cw], group=2, strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2]), strides=[2, 1], pad_lo=[1, 0],
     pad_hi=[2, 1], kernel_dilation=[1, 2], input_dilation=[1, 1], groups=2)
cx, cw = f32(1, 3, 9), f32(2, 3, 4)
case("conv", [cx, cw], ort("Conv", [cx, cw], strides=[2]), strides=[2], pad_lo=[0], pad_hi=[0], kernel_dilation=[1], input_dilation=[1])
tx, tw = f32(1, 2, 4), f32(2, 3, 3)  # transposed: channels in, channels out
flipped = np.flip(tw.transpose(1, 0, 2), 2).copy()
case("conv", [tx, flipped], ort("ConvTranspose", [tx, tw], strides=[2], pads=[1, 0]), strides=[1], pad_lo=[1], pad_hi=[2], kernel_dilation=[1],
     input_dilation=[2])
case("conv", [tx, flipped], ort("ConvTranspose", [tx, tw], pads=[3, 0]), strides=[1], pad_lo=[-1], pad_hi=[2], kernel_dilation=[1], input_dilation=[1])
px = f32(1, 2, 6, 5)
geo = dict(window=[3, 2], strides=[2, 1], pad_lo=[1, 0], pad_hi=[1, 1], dilation=[1, 2])
onx = dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], dilations=[1, 2])
y, i = ort("MaxPool", [px], 2, **onx)
case("window_reduce", [px], [y, i % 30], reduce="max", indices=True, **geo)
case("avg_pool", [px], ort("AveragePool", [px], **onx), overhang=[0, 0], **geo)
case("avg_pool", [px], ort("AveragePool", [px], count_include_pad=1, **onx), overhang=[0, 0], count_pad=True, **geo)
windows = np.lib.stride_tricks.sliding_window_view(px, (2, 2), (2, 3))
case("window_reduce", [px], windows.sum((4, 5)), reduce="sum", window=[2, 2], strides=[1, 1], pad_lo=[0, 0], pad_hi=[0, 0], dilation=[1, 1])

# activations
x = np.concatenate([f32(12, lo=-6, hi=6), np.array([0, -0.0, 20, -20], np.float32)])
for name, kind, attrs in (("relu", "Relu", {}), ("leaky_relu", "LeakyRelu", {"alpha": 0.1}), ("elu", "Elu", {"alpha": 1.5}),
                          ("selu", "Selu", {}), ("celu", "Celu", {"alpha": 0.7}), ("sigmoid", "Sigmoid", {}),
                          ("hard_sigmoid", "HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("hard_swish", "HardSwish", {}),
                          ("gelu", "Gelu", {"approximate": "none"}), ("gelu", "Gelu", {"approximate": "tanh"}), ("mish", "Mish", {}),
                          ("softplus", "Softplus", {}), ("softsign", "Softsign", {}), ("thresholded_relu", "ThresholdedRelu", {"alpha": 1.2})):
    case(name, [x], ort(kind, [x], **attrs), **attrs)
slope = f32(3)
p = f32(2, 3)
case("prelu", [p, slope], ort("PRelu", [p, slope]))
case("silu", [x.astype(np.float64)], x / (1 + np.exp(-0.5 * x.astype(np.float64))), alpha=0.5)
r = f64(6, lo=0.1)
case("rsqrt", [r], 1 / np.sqrt(r))
case("clamp", [r], np.clip(r, 0.5, 1.5), min=0.5, max=1.5)
s = f32(3, 4, 2, lo=-9, hi=9)
case("softmax", [s], ort("Softmax", [s], axis=1), axis=1)
case("log_softmax", [s], ort("LogSoftmax", [s], axis=0), axis=0)

# normalisation
nx, sc, bi_, mu, va = f32(2, 4, 3, 2), f32(4), f32(4), f32(4), f32(4, lo=0.1)
case("batch_norm", [nx, sc, bi_, mu, va], ort("BatchNormalization", [nx, sc, bi_, mu, va], epsilon=1e-3), epsilon=1e-3)
ls, lb = f32(3, 2), f32(3, 2)
case("layer_norm", [nx, ls, lb], ort("LayerNormalization", [nx, ls, lb], axis=2, epsilon=1e-4)[0], axis=2, epsilon=1e-4)
case("rms_norm", [nx, ls], nx / np.sqrt((nx * nx).mean((2, 3), keepdims=True) + 1e-4) * ls, axis=2, epsilon=1e-4)
case("group_norm", [nx, sc, bi_], ort("InstanceNormalization", [nx, sc, bi_], epsilon=1e-4), groups=4, epsilon=1e-4)
grouped = nx.reshape(2, 2, -1)
grouped = ((grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)).reshape(nx.shape)
case("group_norm", [nx, sc, bi_], grouped * sc[:, None, None] + bi_[:, None, None], groups=2)

# recurrent
T, B, I, H = 3, 2, 4, 3
for direction, D in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
    sx, w, r, bb = f32(T, B, I), f32(D, 4 * H, I), f32(D, 4 * H, H), f32(D, 8 * H)
    h0, c0 = f32(D, B, H), f32(D, B, H)
    out = ort("LSTM", [sx, w, r, bb, None, h0, c0], 3, hidden_size=H, direction=direction)
    case("lstm", [sx, w, r, bb[:, :4 * H] + bb[:, 4 * H:], h0, c0], out, direction=direction)
    for after in (0, 1):
        w, r, bb = f32(D, 3 * H, I), f32(D, 3 * H, H), f32(D, 6 * H)
        out = ort("GRU", [sx, w, r, bb, None, h0], 2, hidden_size=H, direction=direction, linear_before_reset=after)
        case("gru", [sx, w, r, bb[:, :3 * H].copy(), bb[:, 3 * H:].copy(), h0], out, direction=direction, reset_after=bool(after))

# quantization
q = np.concatenate([f32(20, lo=-50, hi=50), np.array([0.25, 0.75, -0.25, 1.25], np.float32)])
for t, zp in ((np.uint8, 128), (np.int8, -3)):
    scale, zero = np.array(0.5, np.float32), np.array(zp, t)
    y = ort("QuantizeLinear", [q, scale, zero])[0]
    case("quantize", [q, scale, zero], y)
    case("dequantize", [y, scale, zero], ort("DequantizeLinear", [y, scale, zero]))
qa, scale, zero = f32(2, 3, 4, lo=-20, hi=20), f32(3, lo=0.05, hi=0.5), np.array([0, 10, 200], np.uint8)
y = ort("QuantizeLinear", [qa, scale, zero], axis=1)[0]
case("quantize", [qa, scale, zero], y, axis=1)
case("dequantize", [y, scale, zero], ort("DequantizeLinear", [y, scale, zero], axis=1), axis=1)

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
