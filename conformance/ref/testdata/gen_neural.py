"""Writes golden_neural.json: selection, sequences, losses, activations and rearrangements by NumPy and the reference
evaluator of ONNX, whose operators are defined independently of burn.

Run with numpy and onnx installed:  python gen_neural.py > golden_neural.json
"""
import json
import math
import sys

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

rng = np.random.default_rng(13)
NAMES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}
cases = []


def number(v):
    if isinstance(v, (bool, np.bool_)):
        return int(v)
    if isinstance(v, (float, np.floating)):
        f = float(v)
        return f if math.isfinite(f) else ("nan" if math.isnan(f) else "inf" if f > 0 else "-inf")
    return int(v)


def tensor(a):
    a = np.asarray(a)
    return {"dtype": NAMES[a.dtype.name], "shape": list(a.shape), "data": [number(v) for v in a.ravel()]}


def case(op, ins, outs, **attrs):
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    cases.append({"op": op, "attrs": attrs, "inputs": [tensor(a) for a in ins], "outputs": [tensor(a) for a in outs]})


def onx(kind, ins, outs=1, opset=23, **attrs):
    """Evaluates one ONNX operator; None leaves an input out."""
    names = ["" if a is None else f"i{k}" for k, a in enumerate(ins)]
    node = helper.make_node(kind, names, [f"o{k}" for k in range(outs)], **attrs)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, ins) if n]
    graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name=f"o{k}") for k in range(outs)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, {n: a for n, a in zip(names, ins) if n})


def f64(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape)


def f32(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape).astype(np.float32)


def filled(a, n):
    """a with zeros up to n entries."""
    return np.concatenate([a, np.zeros((n - len(a), *a.shape[1:]), a.dtype)])


# selection
x = rng.integers(0, 3, (3, 4)).astype(np.int32)
nz = np.argwhere(x).astype(np.int64)
case("nonzero", [x], [filled(nz, 12), np.int64(len(nz))])
nan = np.array([0.0, -0.0, np.nan, 1e-310])
case("nonzero", [nan], [np.array([[2], [3], [0], [0]]), np.int64(2)])
c = np.array([True, False, True, True])
x = f64(2, 4)
kept = np.compress(c, x, 1)
case("compress", [x, c], [np.concatenate([kept, np.zeros((2, 1))], 1), np.int64(3)], axis=1)
for x in (rng.integers(-2, 3, 12), np.array([2.0, np.nan, 1, 2, np.nan, -1, 1])):
    v, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    n = len(x)
    case("unique", [x], [filled(v, n), filled(first, n), inverse, filled(counts, n), np.int64(len(v))])
    by = np.argsort(first)
    case("unique", [x], [filled(v[by], n), filled(first[by], n), np.argsort(by)[inverse], filled(counts[by], n), np.int64(len(v))], sorted=False)
for centre in (0, 1):
    b, s = f32(8, 4, lo=0, hi=3), f32(8, lo=0, hi=1)
    limits = [np.array([5], np.int64), np.array([0.3], np.float32), np.array([0.2], np.float32)]
    got = onx("NonMaxSuppression", [b[None], s[None, None], *limits], center_point_box=centre)[0][:, 2]
    case("nms", [b, s], [filled(got, 5), np.int64(len(got))], max_output=5, iou_threshold=0.3, score_threshold=float(np.float32(0.2)), center_point=bool(centre))

# sequences
q, k, v = f32(2, 4, 3, 6), f32(2, 2, 5, 6), f32(2, 2, 5, 4)
case("attention", [q, k, v], onx("Attention", [q, k, v]))
case("attention", [q, k, v], onx("Attention", [q, k, v], scale=0.7), scale=0.7)
case("attention", [q, k, v], onx("Attention", [q, k, v], is_causal=1), causal=True)
case("attention", [q, k, v], onx("Attention", [q, k, v], softcap=1.5), softcap=1.5)
m = rng.random((3, 5)) < 0.7
m[:, 0] = True
case("attention", [q, k, v, m], onx("Attention", [q, k, v, m]))
bias = f32(4, 3, 5)
case("attention", [q, k, v, bias], onx("Attention", [q, k, v, bias]))
past = f32(2, 2, 2, 6), f32(2, 2, 2, 4)
case("attention", [q, np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)],
     onx("Attention", [q, k, v, None, *past], 3, is_causal=1)[0], causal=True, past=2)
near = np.abs(np.arange(3)[:, None] + 1 - np.arange(5)) < 2
case("attention", [q, k, v], onx("Attention", [q, k, v, near]), window=2, past=1)
cache, new = f64(2, 5, 3), f64(2, 2, 3)
want = cache.copy()
want[:, 1:3] = new
case("cache_write", [cache, np.int64(1), new], want, axis=1)
want = cache.copy()
want[0, 3:], want[1, :2] = new
case("cache_write", [cache, np.array([3, 0]), new], want, axis=1)
x, cos, sin = f32(2, 3, 4, 8), f32(2, 4, 4), f32(2, 4, 4)
wide = lambda a: a[:, None].copy()
case("rotary_embedding", [x, wide(cos), wide(sin)], onx("RotaryEmbedding", [x, cos, sin]))
case("rotary_embedding", [x, wide(cos), wide(sin)], onx("RotaryEmbedding", [x, cos, sin], interleaved=1), interleaved=True)
cos, sin = f32(2, 4, 2), f32(2, 4, 2)
case("rotary_embedding", [x, wide(cos), wide(sin)], onx("RotaryEmbedding", [x, cos, sin], rotary_embedding_dim=4, num_heads=3))
T, B, I, H = 3, 2, 4, 3
sx, w, r, bb, h0 = f32(T, B, I), f32(1, H, I), f32(1, H, H), f32(1, 2 * H), f32(1, B, H)
case("rnn", [sx, w, r, bb[:, :H] + bb[:, H:], h0], onx("RNN", [sx, w, r, bb, None, h0], 2, hidden_size=H))
h, ys = h0[0].astype(np.float64), []
for t in reversed(range(T)):
    h = np.maximum(sx[t] @ w[0].T + h @ r[0].T + bb[0, :H], 0)
    ys.insert(0, h[None])
case("rnn", [sx, w, r, bb[:, :H].copy(), h0], [np.array(ys).astype(np.float32), h[None].astype(np.float32)], direction="reverse", activation="relu")
table, idx = f64(5, 3), np.array([[1, 4], [0, 4]])
case("embedding", [table, idx], table[idx])
case("embedding", [table, idx], np.where((idx == 4)[..., None], 0, table[idx]), padding=4)
#--

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
