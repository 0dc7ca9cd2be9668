"""Writes golden_numeric.json: statistics, random distributions, einsum, Fourier transforms and linear algebra by NumPy.

Run with numpy installed:  python gen_numeric.py > golden_numeric.json
"""
import json
import math
import sys

import numpy as np

rng = np.random.default_rng(11)
NAMES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "uint8": "u8", "bool": "bool"}
cases = []
nan, inf = math.nan, math.inf


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


def rounded(op, ins, outs, **attrs):
    """A case computed in f64 on f32 operands."""
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    narrow = lambda a: a.astype(np.float32) if a.dtype == np.float64 else a
    case(op, ins, [narrow(np.asarray(a)) for a in outs], **attrs)


def f64(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape)


def f32(*shape, lo=-2.0, hi=2.0):
    return f64(*shape, lo=lo, hi=hi).astype(np.float32)


np.seterr(all="ignore")

# statistics and search
x = f64(3, 4, 5)
case("std", [x], x.std(axis=(0, 2)), axes=[0, 2])
case("std", [x], x.std(axis=1, ddof=1, keepdims=True), axes=[1], correction=1.0, keep_dims=True)
case("median", [x], np.median(x, axis=1), axes=[1])
case("median", [x], np.median(x, axis=(0, 2), keepdims=True), axes=[0, 2], keep_dims=True)
holed = x.copy()
holed[1, 2, 3] = nan
case("median", [holed], np.median(holed, axis=2), axes=[2])
qs = [0.0, 0.2, 0.5, 0.9, 1.0]
for i in ("linear", "lower", "higher", "midpoint", "nearest"):
    case("quantile", [x], np.quantile(x, qs, axis=2, method=i), q=qs, axes=[2], interpolation=i)
case("quantile", [holed], np.quantile(holed, qs, axis=(1, 2), keepdims=True), q=qs, axes=[1, 2], keep_dims=True)
v = f64(3, 7)
case("covariance", [v], np.cov(v))
case("covariance", [v], np.cov(v, ddof=0), correction=0.0)
case("corrcoef", [v], np.corrcoef(v))
h, edges = f64(40), np.array([-1.5, -1.0, 0.25, 1.0, 2.0])
h[:4], h[4] = edges[[0, 4, 2, 1]], nan
case("histogram", [h, edges], np.histogram(h[~np.isnan(h)], edges)[0])
hi, ei = rng.integers(0, 9, (4, 10)), np.array([1, 3, 6, 7])
case("histogram", [hi, ei], np.histogram(hi, ei)[0])
s = np.array([-1.0, 0.0, 0.0, 0.5, 2.0, nan])
q = np.array([[-2.0, -1.0, 0.0], [0.3, 5.0, nan]])
case("searchsorted", [s, q], np.searchsorted(s, q))
case("searchsorted", [s, q], np.searchsorted(s, q, side="right"), right=True)
sb, qb = np.sort(rng.integers(0, 6, (2, 7)), 1), rng.integers(0, 7, (2, 4))
case("searchsorted", [sb, qb], np.stack([np.searchsorted(a, b) for a, b in zip(sb, qb)]))
ties = np.array([[2.0, 1, 2, 1, nan, 3, nan], [3, 3, 1, 1, 2, 2, 0]])
case("argsort", [ties], np.argsort(ties, 1, kind="stable"), axis=1)
case("argsort", [x], np.argsort(-x, 0, kind="stable"), axis=0, descending=True)
case("log_cumsum_exp", [x], np.logaddexp.accumulate(x, 1), axis=1)
case("log_cumsum_exp", [300 * x], np.logaddexp.accumulate(300 * x, 2), axis=2)
case("log_cumsum_exp", [x], np.flip(np.logaddexp.accumulate(np.flip(x, 0), 0), 0), axis=0, reverse=True)


def running(a, best):
    out = np.zeros(a.shape, np.int64)
    for i, row in enumerate(a):
        for k in range(len(row)):
            out[i, k] = best(row[: k + 1])
    return out


case("cumargmax", [ties], running(ties, np.argmax), axis=1)
case("cumargmin", [ties], running(ties, np.argmin), axis=1)
for p in (2.0, 1.0, 0.0, 3.0, inf, -inf, -2.0, 0.5):
    case("vector_norm", [x], np.linalg.norm(x, p, axis=1), p=p, axes=[1])
case("vector_norm", [x], np.sqrt((x * x).sum((0, 2), keepdims=True)), axes=[0, 2], keep_dims=True)
a, b = f64(2, 1, 4), f64(3, 4)
case("cosine_similarity", [a, b], (a * b).sum(2) / (np.linalg.norm(a, axis=2) * np.linalg.norm(b, axis=1)), axis=2)
case("cosine_similarity", [np.zeros(3), b[0, :3]], np.float64(0), axis=0)

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
