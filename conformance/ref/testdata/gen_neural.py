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
    attrs = {k: number(v) if isinstance(v, float) else v for k, v in attrs.items()}
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
# losses, by the formulas of PyTorch's documentation; the labelled ones by ONNX
x, t, w = f32(4, 3, 2), np.array([[0, 2], [1, 1], [2, 0], [1, 2]], np.int64), f32(3, lo=0.2)
logp = x - np.log(np.exp(x).sum(1, keepdims=True))
for red in ("mean", "sum", "none"):
    case("nll_loss", [logp, t, w], onx("NegativeLogLikelihoodLoss", [logp, t, w], reduction=red), reduction=red)
    case("nll_loss", [logp, t], onx("NegativeLogLikelihoodLoss", [logp, t], reduction=red, ignore_index=1), reduction=red, ignore_index=1)
    case("cross_entropy_loss", [x, t, w], onx("SoftmaxCrossEntropyLoss", [x, t, w], reduction=red), reduction=red)
    case("cross_entropy_loss", [x, t], onx("SoftmaxCrossEntropyLoss", [x, t], reduction=red, ignore_index=1), reduction=red, ignore_index=1)
x, t, w = f64(5, 3), np.array([0, 2, 1, 1, 2]), np.array([0.5, 1.0, 2.0])
logp = x - np.log(np.exp(x).sum(1, keepdims=True))
soft = 0.9 * np.eye(3)[t] + 0.1 / 3  # the target as probabilities
case("cross_entropy_loss", [x, t], -(soft * logp).sum(1).mean(), label_smoothing=0.1)
case("cross_entropy_loss", [x, t, w], -(soft * w * logp).sum() / w[t].sum(), label_smoothing=0.1)


def loss(op, ins, y, **attrs):
    for red, f in (("mean", np.mean), ("sum", np.sum), ("none", lambda v: v)):
        case(op, ins, f(y), reduction=red, **attrs)


a, b = f64(3, 4), f64(3, 4)
d = np.abs(a - b)
loss("mse_loss", [a, b], d**2)
loss("l1_loss", [a, b], d)
loss("huber_loss", [a, b], np.where(d < 0.7, d * d / 2, 0.7 * (d - 0.35)), delta=0.7)
loss("smooth_l1_loss", [a, b], np.where(d < 0.7, d * d / 1.4, d - 0.35), beta=0.7)
p, t = f64(3, 4, lo=0.01, hi=0.99), f64(3, 4, lo=0, hi=1)
loss("bce_loss", [p, t], -(t * np.log(p) + (1 - t) * np.log(1 - p)))
case("bce_loss", [np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0])], np.array([100.0, 100.0, 0.0]), reduction="none")
s, w = 1 / (1 + np.exp(-a)), np.array([0.5, 1, 2, 3])
loss("bce_with_logits_loss", [a, t], -(t * np.log(s) + (1 - t) * np.log(1 - s)))
loss("bce_with_logits_loss", [a, t, w], -(w * t * np.log(s) + (1 - t) * np.log(1 - s)))
loss("kl_div_loss", [np.log(p), t], t * (np.log(t) - np.log(p)))
loss("kl_div_loss", [np.log(p), np.log(t)], t * (np.log(t) - np.log(p)), log_target=True)
t = f64(3, 4, lo=0, hi=4)
loss("poisson_nll_loss", [a, t], np.exp(a) - t * a)
stirling = np.where(t > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0)
loss("poisson_nll_loss", [p, t], p - t * np.log(p + 1e-3) + stirling, log_input=False, epsilon=1e-3, full=True)
y = np.array([1.0, -1, 1])
c = (a * b).sum(1) / np.sqrt(((a * a).sum(1) + 1e-12) * ((b * b).sum(1) + 1e-12))
loss("cosine_embedding_loss", [a, b, y], np.where(y > 0, 1 - c, np.maximum(0, c + 0.3)), margin=-0.3)
y = np.sign(f64(3, 4))
loss("hinge_loss", [a, y], np.maximum(0, 1 - a * y))
loss("hinge_embedding_loss", [a, y], np.where(y > 0, a, np.maximum(0, 1 - a)))
loss("margin_ranking_loss", [a, b, y], np.maximum(0, -y * (a - b) + 0.2), margin=0.2)
n = f64(3, 4)
norm = lambda v, q: np.linalg.norm(v + 1e-6, q, axis=1)
loss("triplet_margin_loss", [a, b, n], np.maximum(0, norm(a - b, 2) - norm(a - n, 2) + 1))
loss("triplet_margin_loss", [a, b, n], np.maximum(0, norm(a - b, 3) - np.minimum(norm(a - n, 3), norm(b - n, 3)) + 2), p=3.0, swap=True, margin=2.0)


def ctc(logp, target, blank):
    """Sums over every alignment."""
    total = 0.0
    for path in np.ndindex(*[logp.shape[1]] * len(logp)):
        merged = [k for i, k in enumerate(path) if (i == 0 or path[i - 1] != k) and k != blank]
        if merged == list(target):
            total += math.exp(sum(logp[i, k] for i, k in enumerate(path)))
    return -math.log(total) if total else math.inf


x = f64(5, 3, 4)
logp = x - np.log(np.exp(x).sum(2, keepdims=True))
t, il, tl = np.array([[1, 1], [2, 3], [3, 0]]), np.array([5, 4, 3]), np.array([2, 2, 1])
y = np.array([ctc(logp[:il[k], k], t[k, :tl[k]], 0) for k in range(3)])
case("ctc_loss", [logp, t, il, tl], y, reduction="none")
case("ctc_loss", [logp, t, il, tl], y.sum(), reduction="sum")
case("ctc_loss", [logp, t, il, tl], (y / tl).mean())
t = np.array([[0, 1], [1, 2], [0, 0]])
tl, il = np.array([2, 0, 2]), np.array([2, 3, 2])
y = np.array([ctc(logp[:il[k], k], t[k, :tl[k]], 3) for k in range(3)])
case("ctc_loss", [logp, t, il, tl], y, reduction="none", blank=3)
case("ctc_loss", [logp, t, il, tl], np.where(np.isinf(y), 0, y), reduction="none", blank=3, zero_infinity=True)

# activations and numbers
x = np.concatenate([f64(13, lo=-6, hi=6), np.array([0, -0.0, 0.5, -0.5, 25, -25])])
sig = lambda v: 1 / (1 + np.exp(-v))
erf = np.vectorize(math.erf)
g = f64(3, 6)
u, v = g[:, :3], g[:, 3:]
case("glu", [g], u * sig(v), axis=1)
case("swiglu", [g], u * sig(u) * v, axis=1)
case("geglu", [g], u * v / 2 * (1 + erf(v / math.sqrt(2))), axis=1)
case("hard_tanh", [x], np.clip(x, -1, 1))
case("relu6", [x], np.clip(x, 0, 6))
case("log_sigmoid", [x], -np.logaddexp(0, -x))
xf = x.astype(np.float32)
case("hard_shrink", [xf], onx("Shrink", [xf], lambd=0.75), **{"lambda": 0.75})
case("soft_shrink", [xf], onx("Shrink", [xf], lambd=0.75, bias=0.75), **{"lambda": 0.75})
case("tanh_shrink", [x], x - np.tanh(x))
case("quick_gelu", [x], x * sig(1.702 * x))
e = np.exp(-g)
case("softmin", [g], e / e.sum(1, keepdims=True), axis=1)
h = np.array([[1, 3, 3], [2, 0, 1], [5, 5, 5]], np.float32)
case("hardmax", [h], onx("Hardmax", [h], axis=1), axis=1)
case("lerp", [u, v, np.float64(0.3)], u + 0.3 * (v - u))
case("frac", [x], np.modf(x)[0])
case("round_away", [np.array([0.5, -0.5, 1.5, 2.5, -2.5, 2.4, 0.0])], np.array([1.0, -1, 2, 3, -3, 2, 0]))
case("exp2", [x], np.exp2(x))
pos = np.abs(x) + 0.1
case("log2", [pos], np.log2(pos))
case("log10", [pos], np.log10(pos))
ends = np.array([[math.inf, -math.inf, -math.inf], [1.0, 2.0, -math.inf]])
case("log_add_exp", [u, v], np.logaddexp(u, v))
case("log_add_exp", list(ends), np.logaddexp(*ends))
case("is_finite", [np.array([0, math.inf, -math.inf, math.nan, 1e308])], np.array([True, False, False, False, True]))
for t in (np.int64, np.int32, np.int8, np.uint8):
    ends = np.array([np.iinfo(t).min, np.iinfo(t).max, 0, 1, 77, np.iinfo(t).max - 5], t)
    case("bit_count", [ends], np.array([bin(int(k) % 2 ** (8 * ends.itemsize)).count("1") for k in ends], t))
    q, r = rng.integers(0 if t == np.uint8 else -99, 99, 30).astype(t), rng.integers(1, 9, 30).astype(t)
    r[::2] = r[::2] if t == np.uint8 else -r[::2]
    case("floor_div", [q, r], np.floor_divide(q, r))
case("floor_div", [u, v], np.floor(u / v))

# rearrangement, neighbours and norms
m = rng.integers(0, 99, (2, 3, 4)).astype(np.int32)
case("roll", [m], np.roll(m, (2, -1), (2, 1)), shifts=[2, -1], axes=[2, 1])
case("tile", [m], np.tile(m, (2, 1, 3)), repeats=[2, 1, 3])
case("repeat_interleave", [m], np.repeat(m, 3, 1), repeats=3, axis=1)
case("stack", [m, m + 1], np.stack([m, m + 1], 2), axis=2)
for mode in ("edge", "reflect", "symmetric", "wrap"):
    case("extend", [m], np.pad(m, ((1, 3), (0, 2), (9, 0)), mode=mode), lo=[1, 0, 9], hi=[3, 2, 0], mode=mode)
case("extend", [m], np.pad(m[:, 1:, :-2], ((0, 0), (0, 0), (1, 0)), mode="edge")[:, :, 1:], lo=[0, -1, 0], hi=[0, 0, -2])
grid = np.meshgrid(m[0, 0], m[0, 1, :3], m[0, 2, :2], indexing="ij")
case("mesh_grid", [m[0, 0], m[0, 1, :3], m[0, 2, :2]], grid)
case("eye", [], np.eye(3, 5, 1, np.float32), rows=3, columns=5, diagonal=1, dtype="f32")
case("linspace", [], np.linspace(-1, 2, 7), start=-1.0, stop=2.0, count=7, dtype="f64")
case("linspace", [], np.linspace(3, 0.5, 4, endpoint=False), start=3.0, stop=0.5, count=4, endpoint=False, dtype="f64")
n = f32(3, 4)
case("lp_normalize", [n], onx("LpNormalization", [n], axis=1, p=2), axis=1)
n64 = f64(3, 4)
case("lp_normalize", [n64], n64 / np.abs(n64).sum(1, keepdims=True), axis=1, p=1.0)
case("lp_normalize", [n64], n64 / np.abs(n64).max(0), axis=0, p=math.inf)
n = f32(6, 6, 1, 2)  # the evaluator goes through as many channels as there are images
for size in (3, 4):
    case("local_response_norm", [n], onx("LRN", [n], size=size, alpha=0.5, beta=0.6, bias=1.5), size=size, alpha=0.5, beta=0.6, bias=1.5)


def philox(counter, key):
    """Philox 4x32-10."""
    x, k = [counter & 0xffffffff, counter >> 32, 0, 0], [key & 0xffffffff, key >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [q >> 32 ^ x[1] ^ k[0], q & 0xffffffff, p >> 32 ^ x[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return x


x = f64(3, 5)
words = np.array(sum((philox(7 + i, 99) for i in range(4)), []))[:15].reshape(3, 5)
kept = words >= round(0.3 * 2**32)
case("dropout", [x], [np.where(kept, x / 0.7, 0), kept], p=0.3, seed=99, counter=7)

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
