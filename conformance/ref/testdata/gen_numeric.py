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
    case(op, [narrow(a) for a in ins], [narrow(np.asarray(a)) for a in outs], **attrs)


def f64(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape)


def f32(*shape, lo=-2.0, hi=2.0):
    return f64(*shape, lo=lo, hi=hi).astype(np.float32)


def single(*shape, lo=-2.0, hi=2.0):
    """Numbers that f32 holds, to compute with in f64."""
    return f32(*shape, lo=lo, hi=hi).astype(np.float64)


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

# random distributions
def philox(counter, key):
    x, key = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF]
    for _ in range(10):
        p, q = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(q >> 32) ^ x[1] ^ key[0], q & 0xFFFFFFFF, (p >> 32) ^ x[3] ^ key[1], p & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x


def words(n, seed, counter=0):
    return np.array([philox(counter + i // 4, seed)[i % 4] for i in range(n)], np.uint64)


w = words(30, 42, 5)
u = (w[:15] >> np.uint64(8)).astype(np.float64) / 2**24
case("random_uniform", [], (u * 3 - 1).astype(np.float32).reshape(3, 5), seed=42, counter=5, shape=[3, 5], low=-1.0, high=2.0)
mantissa = (w[0::2] >> np.uint64(5)) * np.uint64(2**26) + (w[1::2] >> np.uint64(6))
case("random_uniform", [], mantissa.astype(np.float64) / 2**53, seed=42, counter=5, shape=[15], dtype="f64")
frac = (w >> np.uint64(8)).astype(np.float64) / 2**24
normal = np.sqrt(-2 * np.log(frac[0::2] + 2.0**-24)) * np.cos(2 * np.pi * frac[1::2])
case("random_normal", [], (2 + 0.5 * normal).astype(np.float32), seed=42, counter=5, shape=[15], mean=2.0, std=0.5)
full = w.astype(np.float64)
normal = np.sqrt(-2 * np.log((full[0::2] + 1) / 2**32)) * np.cos(2 * np.pi * full[1::2] / 2**32)
case("random_normal", [], normal, seed=42, counter=5, shape=[15], dtype="f64")
p = f64(15, lo=0, hi=1)
case("bernoulli", [p], (u < p).astype(np.int64), seed=42, counter=5, dtype="i64")
weights = np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
sums = weights.cumsum(1)
want = np.stack([np.searchsorted(sums[r], u[5 * r : 5 * r + 5] * sums[r, -1], side="right") for r in range(2)])
case("multinomial", [weights], want, count=5, seed=42, counter=5)

# einsum
for equation, shapes in (("ij,jk", [(3, 4), (4, 2)]), ("zb,ba", [(2, 3), (3, 4)]), ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]), ("iij->j", [(3, 3, 2)]),
                         ("...ii->...i", [(2, 4, 4)]), ("i...j,j->...i", [(2, 3, 4), (4,)]), ("ea,fb,abcd,gc,hd->hgfe", [(2, 3), (2, 3), (3, 3, 2, 2), (2, 2), (3, 2)]),
                         ("bi,oij,bj->bo", [(2, 3), (4, 3, 5), (2, 5)]), ("Ba,aC", [(2, 3), (3, 4)]), ("ij,ij->", [(3, 4), (3, 4)])):
    xs = [f64(*s) for s in shapes]
    case("einsum", xs, np.einsum(equation, *xs), equation=equation)
ia, ib = rng.integers(-9, 9, (2, 3)), rng.integers(-9, 9, (3, 3))
case("einsum", [ia, ib], np.einsum("ij,jj->i", ia, ib), equation="ij,jj->i")

# Fourier transforms
def pair(z):
    return np.stack([z.real, z.imag], -1)


for n in (1, 2, 7, 12, 30, 97):
    z = single(3, n) + 1j * single(3, n)
    x = single(n, 2)
    rounded("fft", [pair(z)], pair(np.fft.fft(z, axis=1)), axis=1)
    rounded("fft", [pair(z)], pair(np.fft.ifft(z, axis=1)), axis=1, inverse=True)
    rounded("rfft", [x], pair(np.fft.rfft(x, axis=0)), axis=0)
    rounded("irfft", [pair(z)], np.fft.irfft(z, n=n, axis=1), axis=1, n=n)
z, x = single(4, 6) + 1j * single(4, 6), single(4, 6)
for norm in ("ortho", "forward"):
    rounded("fft", [pair(z)], pair(np.fft.fft(z, axis=0, norm=norm)), axis=0, norm=norm)
    rounded("fft", [pair(z)], pair(np.fft.ifft(z, axis=0, norm=norm)), axis=0, norm=norm, inverse=True)
    rounded("rfft", [x], pair(np.fft.rfft(x, n=9, axis=1, norm=norm)), axis=1, n=9, norm=norm)
    rounded("irfft", [pair(z)], np.fft.irfft(z, n=7, axis=1, norm=norm), axis=1, n=7, norm=norm)
rounded("rfft", [x], pair(np.fft.rfft(x, n=4, axis=1)), axis=1, n=4)
rounded("irfft", [pair(z)], np.fft.irfft(z, n=16, axis=1), axis=1, n=16)
m = rng.integers(0, 99, (5, 4))
case("fftshift", [m], np.fft.fftshift(m, (0, 1)), axes=[0, 1])
case("fftshift", [m], np.fft.ifftshift(m, (0,)), axes=[0], inverse=True)
x, win = single(2, 37), np.hanning(9)[1:]
centred = np.pad(x, ((0, 0), (4, 4)), mode="reflect")
frames = np.stack([centred[:, k : k + 8] for k in range(0, 38, 3)], 1)
spec = np.fft.rfft(frames * win)
rounded("stft", [x, win], pair(spec), n_fft=8, hop=3)
rounded("istft", [pair(spec), win], x[:, :36], n_fft=8, hop=3)  # inverts: the signal comes back
rounded("istft", [pair(spec), win], x[:, :20], n_fft=8, hop=3, length=20)
frames = np.stack([x[:, k : k + 8] for k in range(0, 30, 4)], 1)
rounded("stft", [x, win[1:7]], pair(np.fft.fft(frames * np.pad(win[1:7], 1))), n_fft=8, hop=4, center=False, onesided=False)
uncovered = x[:, :36].copy()
uncovered[:, 35] = 0  # the last element of the window is 0
rounded("istft", [pair(np.fft.fft(frames * win)), win], uncovered, n_fft=8, hop=4, center=False, onesided=False)
for n in (1, 2, 9, 16):
    for name, f in (("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman)):
        case(name + "_window", [], f(n).astype(np.float32), size=n, periodic=False)
        case(name + "_window", [], (f(n + 1)[:-1] if n > 1 else f(1)).astype(np.float32), size=n)
    for beta in (0.0, 8.6, 14.0):
        case("kaiser_window", [], np.kaiser(n, beta).astype(np.float32), size=n, beta=beta, periodic=False)
        case("kaiser_window", [], (np.kaiser(n + 1, beta)[:-1] if n > 1 else np.ones(1)).astype(np.float32), size=n, beta=beta)

# linear algebra
m = rng.integers(-9, 9, (2, 3, 4))
for k in (0, 1, -1, 5):
    case("tril", [m], np.tril(m, k), offset=k)
    case("triu", [m], np.triu(m, k), offset=k)
    case("trace", [m], np.trace(m, k, 1, 2), offset=k)
    if k < 5:
        case("diagonal", [m], np.diagonal(m, k, 1, 2), offset=k)
        case("diag", [m[0, 0]], np.diag(m[0, 0], k), offset=k)
case("outer", [m[0, 0], m[1, 1, :3]], np.outer(m[0, 0], m[1, 1, :3]))
case("kron", [m[0], m[1, :2]], np.kron(m[0], m[1, :2]))
a, b = single(4, 3), single(2, 1, 3)
rounded("cross", [a, b], np.cross(a, b), axis=2)


def full(m, n):
    """Well conditioned matrices that f32 holds."""
    u, v = np.linalg.qr(single(m, m))[0], np.linalg.qr(single(n, n))[0]
    d = np.zeros((m, n))
    np.fill_diagonal(d, np.linspace(0.8, 3, min(m, n)))
    return (u @ d @ v).astype(np.float32).astype(np.float64)


g = full(4, 4)
spd = (g @ g.T).astype(np.float32).astype(np.float64)
rounded("cholesky", [spd], np.linalg.cholesky(spd))
rounded("cholesky", [np.triu(spd)], np.linalg.cholesky(spd).T, upper=True)
rhs, t = single(4, 2), np.tril(single(4, 4)) + 3 * np.eye(4)
t = t.astype(np.float32).astype(np.float64)
rounded("triangular_solve", [t, rhs], np.linalg.solve(t, rhs))
rounded("triangular_solve", [t, rhs], np.linalg.solve(t.T, rhs), transpose=True)
rounded("triangular_solve", [t.T + np.tril(g, -1), rhs], np.linalg.solve(t.T, rhs), upper=True)
small = np.tril(t, -1) / 4
rounded("triangular_solve", [small + 7 * np.eye(4), rhs], np.linalg.solve(small + np.eye(4), rhs), unit=True)
rounded("det", [g], np.linalg.det(g))
rounded("slogdet", [np.stack([g, -g[[1, 0, 2, 3]]])], np.linalg.slogdet(np.stack([g, -g[[1, 0, 2, 3]]])))
rounded("det", [np.ones((3, 3))], np.float64(0))
rounded("slogdet", [np.zeros((2, 2))], np.linalg.slogdet(np.zeros((2, 2))))
rounded("inverse", [g], np.linalg.inv(g))
rounded("solve", [g, rhs], np.linalg.solve(g, rhs))
for n in (0, 1, 5, -3):
    rounded("matrix_power", [g], np.linalg.matrix_power(g, n), n=n)
# By hand: rows 1 and 0 swap, then rows 2 and 1.
hand = np.array([[1.0, 2, 4], [2, 1, 3], [-1, 4, 0.5]])
rounded("lu", [hand], [np.array([[2, 1, 3], [-0.5, 4.5, 2], [0.5, 1 / 3, 2.5 - 2 / 3]]), np.array([1, 2, 2]), np.array([1, 2, 0])])

def signed(u):
    return np.where(u[np.abs(u).argmax(0), np.arange(u.shape[1])] < 0, -1.0, 1.0)


for m, n in ((4, 4), (6, 3), (3, 5), (1, 1)):
    x = full(m, n)
    q, r = np.linalg.qr(x)
    s = np.where(np.diag(r) < 0, -1.0, 1.0)
    rounded("qr", [x], [q * s, r * s[:, None]])
    u, sv, vt = np.linalg.svd(x, full_matrices=False)
    rounded("svd", [x], [u * signed(u), sv, vt * signed(u)[:, None]])
    rounded("pinv", [x], np.linalg.pinv(x))
    y = single(m, 2)
    rounded("lstsq", [x, y], np.linalg.lstsq(x, y)[0])
    for ord in ("fro", "nuc", 2, -2, 1, -1, "inf", "-inf"):
        rounded("matrix_norm", [x], np.linalg.norm(x, float(ord) if "inf" in str(ord) else ord), ord=str(ord))
rounded("pinv", [np.diag([2.0, 1.0, 0.01])], np.diag([0.5, 1.0, 0.0]), rcond=0.1)
x = full(4, 2)
q, r = np.linalg.qr(x, mode="complete")  # Householder's reflections too, LAPACK's signs
s = np.append(np.where(np.diag(r) < 0, -1.0, 1.0), [1.0, 1.0])
rounded("qr", [x], [q * s, r * s[:, None]], complete=True)
for n in (1, 2, 5, 8):
    q = np.linalg.qr(single(n, n))[0]
    d = np.linspace(1, 3, n) * np.where(np.arange(n) % 2, -1, 1)
    x = ((q * d) @ q.T).astype(np.float32).astype(np.float64)
    x = np.tril(x) + np.tril(x, -1).T
    values, vectors = np.linalg.eigh(x)
    rounded("eigh", [x + np.triu(single(n, n), 1)], [values, vectors * signed(vectors)])

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
