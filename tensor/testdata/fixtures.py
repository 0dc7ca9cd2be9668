"""Writes fixtures.json: inputs and results of tensor functions, computed by PyTorch and NumPy in float64.

    python fixtures.py > fixtures.json

Versions: PyTorch 2.15.0, NumPy 2.4.6. A case is named by the Go method, with "/" and a variant if there are several; the
table of calls is in ../fixture_*_test.go.
"""
import json, math, sys
import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
gen = torch.Generator().manual_seed(20240607)
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool", torch.uint8: "u8"}
cases = []
values = {}  # tensors that cases share are written once


def num(v):
    if isinstance(v, bool):
        return v
    if isinstance(v, float):
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
    return v


def enc(t):
    if isinstance(t, np.ndarray) or np.isscalar(t):
        t = torch.from_numpy(np.array(t))
    t = t.detach().contiguous()
    v = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": [num(v) for v in t.flatten().tolist()]}
    return values.setdefault(json.dumps(v, separators=(",", ":")), len(values))


def case(name, out, *ins):
    outs = out if isinstance(out, (list, tuple)) else [out]
    cases.append({"name": name, "in": [enc(i) for i in ins], "out": [enc(o) for o in outs]})


def rnd(*s):
    return torch.randn(*s, generator=gen)


def uni(lo, hi, *s):
    return lo + (hi - lo) * torch.rand(*s, generator=gen)


def ints(lo, hi, *s):
    return torch.randint(lo, hi, s, generator=gen)


def i64(*v):
    return torch.tensor(v if len(v) != 1 or not isinstance(v[0], list) else v[0], dtype=torch.int64)


inf, nan = math.inf, math.nan
x, y = rnd(2, 3), rnd(2, 3)
odd = torch.tensor([-inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, inf, nan])
pos = uni(0.1, 4, 2, 3)
unit = uni(-0.9, 0.9, 2, 3)
far = uni(1.1, 9, 2, 3)
n, m = ints(-20, 20, 3, 4), ints(1, 9, 3, 4)

# unary
for name, f, v in [
    ("Neg", torch.neg, x), ("Abs", torch.abs, x), ("Sign", torch.sign, x), ("Exp", torch.exp, x), ("Exp2", torch.exp2, x),
    ("Expm1", torch.expm1, x), ("Log", torch.log, pos), ("Log1p", torch.log1p, unit), ("Log2", torch.log2, pos), ("Log10", torch.log10, pos),
    ("Sqrt", torch.sqrt, pos), ("Rsqrt", torch.rsqrt, pos), ("Square", torch.square, x), ("Reciprocal", torch.reciprocal, pos),
    ("Sin", torch.sin, x), ("Cos", torch.cos, x), ("Tan", torch.tan, unit), ("Asin", torch.asin, unit), ("Acos", torch.acos, unit),
    ("Atan", torch.atan, x), ("Sinh", torch.sinh, x), ("Cosh", torch.cosh, x), ("Tanh", torch.tanh, x), ("Asinh", torch.asinh, x),
    ("Acosh", torch.acosh, far), ("Atanh", torch.atanh, unit), ("Deg2Rad", torch.deg2rad, x), ("Rad2Deg", torch.rad2deg, x),
    ("Erf", torch.erf, x), ("Erfc", torch.erfc, x), ("Floor", torch.floor, odd), ("Ceil", torch.ceil, odd), ("Round", torch.round, odd),
    ("Trunc", torch.trunc, odd), ("Frac", torch.frac, x), ("IsNaN", torch.isnan, odd), ("IsInf", torch.isinf, odd),
    ("IsFinite", torch.isfinite, odd), ("Not", torch.logical_not, x > 0), ("Not/int", torch.bitwise_not, n), ("Neg/int", torch.neg, n),
    ("Abs/int", torch.abs, n), ("Sign/int", torch.sign, n), ("Trunc/int", torch.trunc, n),
    # activations
    ("Relu", F.relu, x), ("Relu6", F.relu6, 5 * x), ("LeakyRelu", lambda v: F.leaky_relu(v, 0.2), x), ("Elu", lambda v: F.elu(v, 1.5), x),
    ("Selu", F.selu, x), ("Celu", lambda v: F.celu(v, 1.5), x), ("Sigmoid", torch.sigmoid, x), ("LogSigmoid", F.logsigmoid, x),
    ("HardSigmoid", F.hardsigmoid, 4 * x), ("HardSwish", F.hardswish, 4 * x), ("HardTanh", lambda v: F.hardtanh(v, -0.5, 0.7), x),
    ("Gelu", F.gelu, x), ("GeluTanh", lambda v: F.gelu(v, approximate="tanh"), x), ("QuickGelu", lambda v: v * torch.sigmoid(1.702 * v), x),
    ("Silu", F.silu, x), ("Mish", F.mish, x), ("Softplus", lambda v: F.softplus(v, 2), x), ("Softplus/one", F.softplus, x),
    ("Softsign", F.softsign, x), ("HardShrink", lambda v: F.hardshrink(v, 0.4), x), ("SoftShrink", lambda v: F.softshrink(v, 0.4), x),
    ("Shrink", lambda v: torch.where(v > 0.4, v - 0.1, torch.where(v < -0.4, v + 0.1, torch.zeros_like(v))), x), ("TanhShrink", F.tanhshrink, x),
    ("Threshold", lambda v: F.threshold(v, 0.3, 9.0), x), ("ThresholdedRelu", lambda v: torch.where(v > 0.3, v, torch.zeros_like(v)), x),
    ("Softmax", lambda v: torch.softmax(v, 1), x), ("Softmax/axis", lambda v: torch.softmax(v, 0), x), ("LogSoftmax", lambda v: torch.log_softmax(v, 1), x),
    ("Softmin", lambda v: F.softmin(v, 1), x), ("Hardmax", lambda v: F.one_hot(v.argmax(1), 3).double(), x),
    ("QuietSoftmax", lambda v: torch.exp(v) / (1 + torch.exp(v).sum(1, keepdim=True)), 3 * x),
]:
    case(name, f(v), v)
away = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4, -0.6])
case("RoundAway", torch.sign(away) * torch.floor(torch.abs(away) + 0.5), away)
case("BitCount", i64([bin(v).count("1") for v in (0, 1, 5, 255, 1 << 40)]), i64(0, 1, 5, 255, 1 << 40))
case("ContainsNaN", torch.tensor(True), odd)
case("ContainsNaN/none", torch.tensor(False), x)
case("Clamp", torch.clamp(odd, -1, 2), odd)
case("Clamp/int", torch.clamp(n, -3, 4), n)
case("ClampMin", torch.clamp_min(odd, -1), odd)
case("ClampMax", torch.clamp_max(odd, 1), odd)
case("Cast", odd[1:-2].to(torch.int64), odd[1:-2])
slope = torch.tensor([0.1, 0.2, 0.3])
img = rnd(2, 3, 5, 4)
case("PRelu", F.prelu(img, slope), img, slope)
case("PRelu/one", F.prelu(img, slope[:1]), img, slope[:1])
even = rnd(2, 6)
a, b = even.chunk(2, 1)
case("GLU", F.glu(even, 1), even)
case("SwiGLU", F.silu(a) * b, even)
case("GeGLU", a * F.gelu(b), even)

# binary, with broadcasting
row = rnd(3)
for name, f, u, v in [
    ("Add", torch.add, x, row), ("Sub", torch.sub, x, row), ("Mul", torch.mul, x, row), ("Div", torch.div, x, row), ("Rem", torch.fmod, 5 * x, row),
    ("Rem/int", torch.fmod, n, m), ("FloorMod", torch.remainder, 5 * x, row), ("FloorMod/int", torch.remainder, n, m),
    ("FloorDiv", torch.floor_divide, 5 * x, row), ("FloorDiv/int", torch.floor_divide, n, m), ("TruncDiv", lambda u, v: torch.div(u, v, rounding_mode="trunc"), 5 * x, row),
    ("TruncDiv/int", lambda u, v: torch.div(u, v, rounding_mode="trunc"), n, m), ("Pow", torch.pow, pos, row), ("Pow/int", torch.pow, n, m % 4),
    ("Maximum", torch.maximum, x, row), ("Minimum", torch.minimum, x, row), ("Atan2", torch.atan2, x, row), ("LogAddExp", torch.logaddexp, x, row),
    ("Hypot", torch.hypot, torch.tensor([3.0, 1e200, 0.0, inf, -5.0, 1e-200]), torch.tensor([4.0, 1e200, 0.0, nan, 12.0, 1e-200])),
    ("Equal", torch.eq, n, m), ("NotEqual", torch.ne, n, m), ("Less", torch.lt, odd, odd.flip(0)), ("LessEqual", torch.le, odd, odd.flip(0)),
    ("Greater", torch.gt, odd, odd.flip(0)), ("GreaterEqual", torch.ge, odd, odd.flip(0)), ("And", torch.bitwise_and, n, m), ("Or", torch.bitwise_or, n, m),
    ("Xor", torch.bitwise_xor, n, m), ("And/bool", torch.logical_and, n > 0, m > 4), ("Or/bool", torch.logical_or, n > 0, m > 4),
    ("Xor/bool", torch.logical_xor, n > 0, m > 4), ("Shl", torch.bitwise_left_shift, n, m), ("Shr", torch.bitwise_right_shift, n, m),
]:
    case(name, f(u, v), u, v)
case("Lerp", torch.lerp(x, y, row), x, y, row)
close = torch.tensor([1.0, 1.00001, 1.1, inf, -inf, nan, 0.0]), torch.tensor([1.0, 1.0, 1.0, inf, inf, nan, 1e-9])
case("IsClose", torch.isclose(*close, rtol=1e-5, atol=1e-8), *close)
case("IsClose/int", torch.isclose(n, m, rtol=0.0, atol=2.0), n, m)
case("Where", torch.where(x > 0, x, row), x > 0, x, row)
case("MaskWhere", torch.where(x > 0, row, x), x, x > 0, row)
case("MaskFill", x.masked_fill(x > 0, 7.0), x, x > 0)

# scalars
for name, out, v in [
    ("AddScalar", x + 2.5, x), ("SubScalar", x - 2.5, x), ("MulScalar", x * 2.5, x), ("DivScalar", x / 2.5, x), ("RSubScalar", 2.5 - x, x),
    ("RDivScalar", 2.5 / x, x), ("RemScalar", torch.fmod(n, 3), n), ("FloorModScalar", torch.remainder(n, 3), n), ("FloorDivScalar", n // 3, n),
    ("PowScalar", x ** 3, x), ("PowScalar/two", x ** 2, x), ("PowScalar/one", x, x), ("PowScalar/half", pos ** 0.5, pos), ("MaximumScalar", torch.clamp_min(x, 0.1), x),
    ("MinimumScalar", torch.clamp_max(x, 0.1), x), ("EqualScalar", n == 3, n), ("NotEqualScalar", n != 3, n), ("LessScalar", n < 3, n), ("LessEqualScalar", n <= 3, n),
    ("GreaterScalar", n > 3, n), ("GreaterEqualScalar", n >= 3, n), ("AndScalar", n & 6, n), ("OrScalar", n | 6, n), ("XorScalar", n ^ 6, n), ("ShlScalar", n << 2, n),
    ("ShrScalar", n >> 2, n),
]:
    case(name, out, v)

# movement
r3 = torch.arange(24).reshape(2, 3, 4)
for name, out in [
    ("Reshape", r3.reshape(4, -1)), ("Flatten", r3.flatten()), ("FlattenFrom", r3.flatten(1, 2)), ("Permute", r3.permute(2, 0, 1)), ("Transpose", r3.transpose(0, 2)),
    ("T", r3.mT), ("MoveAxis", r3.movedim([0, 2], [2, 1])), ("MoveAxis/one", r3.movedim(0, -1)), ("Unsqueeze", r3.unsqueeze(1)), ("UnsqueezeAll", r3[None, :, None]), ("UnsqueezeTo", r3[None, None]),
    ("Roll", r3.roll([1, -2], [0, 2])), ("Flip", r3.flip(0, 2)), ("Narrow", r3.narrow(2, 1, 2)), ("Slice", r3[:, :, 1:4:2]), ("SliceRanges", r3[1:, 0:2, 1::2]),
    ("SliceRanges/reverse", r3[:, :2].flip(2)), ("SliceRanges/negative", r3[:, -2:, :-1]), ("SliceRanges/back", torch.from_numpy(r3.numpy()[:, :, 3:0:-2].copy())), ("Select", r3[:, -1]),
    ("SliceFill", torch.from_numpy(np.where(np.isin(r3.numpy(), r3[:, 1:, ::2].numpy()), -1, r3.numpy()))), ("SliceFill/all", torch.full_like(r3, -1)),
    ("Split", r3.split(3, 2)), ("SplitSizes", r3.split([1, 2], 1)), ("Chunk", r3.chunk(3, 2)), ("Unbind", r3.unbind(1)), ("Unfold", r3.unfold(2, 2, 2)), ("Unfold/middle", r3.unfold(1, 2, 1)),
    ("Tile", r3.tile(2, 1, 3)), ("TileAxis", r3.repeat(1, 2, 1)), ("RepeatInterleave", r3.repeat_interleave(2, 1)),
    ("Pad", F.pad(r3, (0, 0, 1, 2), value=7)), ("PadAll", F.pad(r3, (1, -1, 0, 2, 0, 1), value=7)), ("Tril", r3.tril(1)), ("Triu", r3.triu(1)), ("Diagonal", r3.diagonal(1, -2, -1)),
    ("Diag", torch.diag_embed(r3, 1)), ("Trace", r3.diagonal(0, -2, -1).sum(-1)), ("FullLike", torch.full_like(r3, 7)), ("ZerosLike", torch.zeros_like(r3)), ("OnesLike", torch.ones_like(r3)),
]:
    case(name, out, r3)
for mode, np_mode in [("edge", "edge"), ("reflect", "reflect"), ("symmetric", "symmetric"), ("wrap", "wrap")]:
    case("ExtendAll/" + mode, np.pad(r3.numpy(), [(0, 0), (1, 2), (2, 1)], mode=np_mode), r3)
case("Extend", np.pad(r3.numpy(), [(0, 0), (0, 0), (2, 1)], mode="reflect"), r3)
case("Expand", torch.arange(3).reshape(3, 1).expand(2, 3, 4), torch.arange(3).reshape(3, 1))
thin = torch.arange(6).reshape(1, 2, 1, 3)
case("Squeeze", thin.squeeze(0), thin)
case("SqueezeAll", thin.squeeze(), thin)
case("SqueezeAll/one", thin.squeeze(2), thin)
val = ints(50, 90, 2, 1, 2)
asg = r3.clone()
asg[:, 1:, ::2] = val
case("SliceAssign", asg, r3, val)
asg = r3.clone().numpy()
asg[1, :, 3:0:-2] = val[0, 0].numpy()
case("SliceAssign/back", asg, r3, val[0, 0])
case("Concat", torch.cat([r3, r3[:, :1]], 1), r3, r3[:, :1])
case("Stack", torch.stack([x, y], -1), x, y)
shuf = torch.arange(2 * 12 * 2 * 3).reshape(2, 12, 2, 3)
case("PixelShuffle", F.pixel_shuffle(shuf.double(), 2), shuf.double())
case("PixelUnshuffle", F.pixel_unshuffle(F.pixel_shuffle(shuf.double(), 2), 2), F.pixel_shuffle(shuf.double(), 2))
case("ChannelShuffle", F.channel_shuffle(shuf.double(), 3), shuf.double())

# creation
case("Arange", torch.arange(2, 11, 3))
case("Arange/down", torch.arange(5.0, 0.0, -1.25))
case("Arange/none", torch.arange(3, 3))
case("LinSpace", torch.linspace(-1, 2, 7))
case("Eye", torch.eye(2, 3))
case("TrilMask", torch.ones(3, 4).tril(1).bool())
case("TriuMask", torch.ones(3, 4).triu(1).bool())
case("DiagMask", torch.eye(3, 4).bool())
case("HannWindow", torch.hann_window(7))
case("HannWindow/symmetric", torch.hann_window(7, periodic=False))
case("HammingWindow", torch.hamming_window(7))
case("BlackmanWindow", torch.blackman_window(7))
case("KaiserWindow", torch.kaiser_window(7, True, 12.0))
case("CartesianGrid", torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), -1))

# indexing
idx = i64([[2, 0], [1, 1]])
case("Gather", torch.from_numpy(np.take(r3.numpy(), idx.numpy(), 1)), r3, idx)
dup, upd = i64(1, 0, 1), ints(1, 9, 2, 3, 4)
for mode, red in [("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax")]:
    full = dup[None, :, None].expand(2, 3, 4)
    case("Scatter/" + mode, r3.scatter_reduce(1, full, upd, red), r3, dup, upd)
    along = ints(0, 3, 2, 2, 3)
    case("ScatterAlong/" + mode, r3.scatter_reduce(1, along, upd[:, :2, :3].contiguous(), red), r3, along, upd[:, :2, :3])
case("Scatter/assign", r3.index_copy(1, i64(2, 0), upd[:, :2]), r3, i64(2, 0), upd[:, :2])
along = torch.stack([torch.randperm(3, generator=gen)[:2] for _ in range(8)], 1).reshape(2, 2, 4).contiguous()
case("ScatterAlong/assign", r3.scatter(1, along, upd[:, :2]), r3, along, upd[:, :2])
case("TakeAlong", r3.gather(1, along), r3, along)
nd = i64([[1, 2], [0, 1]])
case("GatherND", r3[nd[:, 0], nd[:, 1]], r3, nd)
vals = ints(50, 90, 2, 4)
case("ScatterND", r3.index_put((nd[:, 0], nd[:, 1]), vals), r3, nd, vals)
case("ScatterND/add", r3.index_put((nd[:, 0], nd[:, 1]), vals, accumulate=True), r3, nd, vals)
case("OneHot", F.one_hot(idx, 4).double(), idx)
case("OneHot/axis", F.one_hot(idx, 4).permute(2, 0, 1).double(), idx)
case("OneHotFill", torch.where(F.one_hot(idx, 4).bool(), 5, -1), idx)

# reductions
for name, out in [
    ("Sum", img.sum((1, 3))), ("Sum/all", img.sum()), ("SumKeep", img.sum((1, 3), keepdim=True)), ("Prod", img.prod(2)), ("ProdKeep", img.prod(2, keepdim=True)),
    ("Max", img.amax((0, 3))), ("MaxKeep", img.amax((0, 3), keepdim=True)), ("Min", img.amin((0, 3))), ("MinKeep", img.amin((0, 3), keepdim=True)),
    ("MaxAbs", img.abs().amax((0, 3))), ("MaxAbsKeep", img.abs().amax((0, 3), keepdim=True)), ("Mean", img.mean((1, 2))), ("MeanKeep", img.mean((1, 2), keepdim=True)),
    ("LogSumExp", img.logsumexp((1, 2))), ("LogSumExpKeep", img.logsumexp((1, 2), keepdim=True)), ("ArgMax", img.argmax(2)), ("ArgMin", img.argmin(2)),
    ("MaxWithIndices", list(img.max(2))), ("MinWithIndices", list(img.min(2))), ("CumSum", img.cumsum(2)), ("CumSum/reverse", img.flip(2).cumsum(2).flip(2)),
    ("CumSum/exclusive", img.cumsum(2) - img), ("CumProd", img.cumprod(2)), ("CumMax", img.cummax(2).values), ("CumMin", img.cummin(2).values), ("LogCumSumExp", img.logcumsumexp(2)),
    ("CumArgMax", img.cummax(2).indices), ("CumArgMin", img.cummin(2).indices), ("Variance", img.var((1, 3), correction=1)), ("Variance/biased", img.var((1, 3), correction=0)),
    ("VarianceKeep", img.var((1, 3), correction=1, keepdim=True)), ("VarMean", list(torch.var_mean(img, (1, 3), correction=1))), ("Std", img.std((1, 3), correction=1)),
    ("StdKeep", img.std((1, 3), correction=1, keepdim=True)), ("Median", torch.from_numpy(np.median(img.numpy(), (2, 3)))), ("MedianKeep", torch.from_numpy(np.median(img.numpy(), (2, 3), keepdims=True))),
    ("MedianWithIndices", list(img.median(3))), ("Quantile", torch.from_numpy(np.quantile(img.numpy(), [0.1, 0.5, 1], (1, 2)))),
    ("QuantileBy", torch.from_numpy(np.quantile(img.numpy(), [0.3], 3, method="midpoint"))), ("VectorNorm", torch.linalg.vector_norm(img, 3, (1, 2))),
    ("VectorNorm/inf", torch.linalg.vector_norm(img, inf, 1)), ("VectorNorm/least", torch.linalg.vector_norm(img, -inf, 1)), ("VectorNorm/zero", torch.linalg.vector_norm(img, 0, 1)),
    ("VectorNormKeep", torch.linalg.vector_norm(img, 1, 1, keepdim=True)), ("Sort", list(img.sort(3))), ("Sort/descending", list(img.sort(3, descending=True))), ("ArgSort", img.argsort(3)),
    ("TopK", list(img.topk(2, 3))), ("BottomK", list(img.topk(2, 3, largest=False))), ("Normalize", F.normalize(img, 2.0, 1)), ("Covariance", torch.cov(img[0, 0])), ("CorrCoef", torch.corrcoef(img[0, 0])),
]:
    case(name, out, img[0, 0] if name in ("Covariance", "CorrCoef") else img)
flags = torch.tensor([[True, False, False], [True, True, True]])
case("Any", flags.any(0), flags)
case("AnyKeep", flags.any(1, keepdim=True), flags)
case("All", flags.all(1), flags)
case("AllKeep", flags.all(0, keepdim=True), flags)
case("All/numbers", (n != 0).all(), n)
case("Any/empty", torch.zeros(2, 0).bool().any(1), torch.zeros(2, 0).bool())
case("All/empty", torch.zeros(2, 0).bool().all(1), torch.zeros(2, 0).bool())
case("CountNonZero", torch.count_nonzero(n % 2, 1), n % 2)
case("Sum/int", n.sum(), n)
edges = torch.tensor([-1.0, 0.0, 0.5, 2.0])
case("Histogram", torch.from_numpy(np.histogram(img.numpy(), edges.numpy())[0]), img, edges)
srt = torch.tensor([1.0, 2.0, 2.0, 5.0])
case("SearchSorted", torch.searchsorted(srt, torch.tensor([0.0, 2.0, 9.0])), srt, torch.tensor([0.0, 2.0, 9.0]))
case("SearchSorted/right", torch.searchsorted(srt, torch.tensor([0.0, 2.0, 9.0]), right=True), srt, torch.tensor([0.0, 2.0, 9.0]))
case("CosineSimilarity", F.cosine_similarity(x, y, 1), x, y)

# products and linear algebra
ma, mb = rnd(2, 3, 4), rnd(2, 4, 5)
sq = rnd(2, 3, 3)
spd = sq @ sq.mT + 3 * torch.eye(3)
case("MatMul", ma @ mb, ma, mb)
case("MatMul/int", torch.from_numpy(n.numpy() @ m.numpy().T), n, m.T)
case("MatMulT", ma.mT.contiguous().mT @ mb, ma.mT, mb.mT)
case("MatVec", (ma @ mb[:, :, :1]).squeeze(-1), ma, mb[:, :, 0])
case("Dot", row @ slope, row, slope)
case("Outer", torch.einsum("bm,bn->bmn", x, even), x, even)
case("Kron", torch.kron(x, y), x, y)
case("Cross", torch.linalg.cross(x, y), x, y)
case("Einsum", torch.einsum("bij,bjk->bki", ma, mb), ma, mb)
case("Einsum/ellipsis", torch.einsum("...ij->...ji", ma), ma)
case("Cholesky", torch.linalg.cholesky(spd), spd)
case("Cholesky/upper", torch.linalg.cholesky(spd, upper=True), spd)
case("TriangularSolve", torch.linalg.solve_triangular(sq.tril(), ma, upper=False), sq, ma)
case("TriangularSolve/options", torch.linalg.solve_triangular(sq.triu(1).mT + torch.eye(3), ma, upper=False), sq, ma)
p, l, u = torch.linalg.lu(ma)
case("LUDecomposition", [p, l, u], ma)
LU, piv = torch.linalg.lu_factor(ma)
case("LU", [LU, (piv - 1).long(), p.argmax(-2)], ma)
case("Det", torch.linalg.det(sq), sq)
case("SlogDet", list(torch.linalg.slogdet(sq)), sq)
case("Inverse", torch.linalg.inv(sq), sq)
case("PInv", torch.linalg.pinv(ma), ma)
case("Solve", torch.linalg.solve(sq, ma), sq, ma)
case("LstSq", torch.linalg.pinv(mb) @ torch.ones(2, 4, 1), mb, torch.ones(2, 4, 1))
case("MatrixPower", torch.linalg.matrix_power(sq, -3), sq)
q, r = torch.linalg.qr(ma)
s = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1))
case("QR", [q * s[:, None, :], r * s[:, :, None]], ma)
w, v = torch.linalg.eigh(spd)
s = torch.sign(v.gather(-2, v.abs().argmax(-2, keepdim=True)))
case("Eigh", [w, v * s], spd)
u, sv, vt = torch.linalg.svd(ma, full_matrices=False)
s = torch.sign(u.gather(-2, u.abs().argmax(-2, keepdim=True)))
case("SVD", [u * s, sv, vt * s.mT], ma)
for o in ["fro", "nuc", 2, -2, 1, -1, inf, -inf]:
    case("MatrixNorm/%s" % o, torch.linalg.matrix_norm(ma, o), ma)

# layers
k1, k2, k3 = rnd(4, 3, 3), rnd(6, 1, 3, 2), rnd(2, 2, 2, 1, 2)
v1, v3 = rnd(2, 3, 9), rnd(1, 2, 4, 3, 4)
b4, b6, b2 = rnd(4), rnd(6), rnd(2)
case("Conv", F.conv2d(img, k2, stride=2, padding=1, groups=3), img, k2)
case("Conv1d", F.conv1d(v1, k1, b4, padding=1, dilation=2), v1, k1, b4)
case("Conv2d", F.conv2d(img, k2, b6, stride=(2, 1), padding=(1, 0), groups=3), img, k2, b6)
case("Conv2d/asymmetric", F.conv2d(F.pad(img, (1, 0, 0, 2)), k2, None, groups=3), img, k2)
case("Conv3d", F.conv3d(v3, k3, b2, stride=(1, 2, 1)), v3, k3, b2)
t1, t2, t3 = rnd(3, 2, 3), rnd(3, 2, 3, 2), rnd(2, 3, 2, 1, 2)
b3 = rnd(3)
case("ConvTranspose", F.conv_transpose2d(img, t2, stride=2), img, t2)
case("ConvTranspose1d", F.conv_transpose1d(v1, t1, b2, stride=2, padding=1, output_padding=1), v1, t1, b2)
case("ConvTranspose2d", F.conv_transpose2d(img, t2, b6, stride=(2, 1), groups=3, dilation=(1, 2)), img, t2, b6)
case("ConvTranspose3d", F.conv_transpose3d(v3, t3, b3), v3, t3, b3)


def deform(x, w, off, mask, stride, pad):
    """Deformable convolution of one offset group by its definition (Dai and others 2017; Zhu and others 2018)."""
    N, C, H, W = x.shape
    O, _, kh, kw = w.shape
    oh, ow = off.shape[2:]
    out = torch.zeros(N, O, oh, ow)
    at = lambda n, c, i, j: x[n, c, i, j] if 0 <= i < H and 0 <= j < W else torch.zeros(())
    for n_ in range(N):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh * kw):
                    py = i * stride - pad + k // kw + off[n_, 2 * k, i, j].item()
                    px = j * stride - pad + k % kw + off[n_, 2 * k + 1, i, j].item()
                    y0, x0 = math.floor(py), math.floor(px)
                    for c_ in range(C):
                        v = sum(at(n_, c_, y0 + dy, x0 + dx) * (1 - abs(py - y0 - dy)) * (1 - abs(px - x0 - dx)) for dy in (0, 1) for dx in (0, 1))
                        out[n_, :, i, j] += w[:, c_, k // kw, k % kw] * v * mask[n_, k, i, j]
    return out


dw, doff, dmask = rnd(2, 3, 2, 2), 0.7 * rnd(2, 8, 3, 3), uni(0, 1, 2, 4, 3, 3)
case("DeformConv2d", deform(img, dw, doff, dmask, 2, 1) + b2[:, None, None], img, dw, doff, dmask, b2)
case("Im2Col", F.unfold(img, (3, 2), padding=1, stride=(2, 1)), img)
case("Col2Im", F.fold(F.unfold(img, (3, 2), padding=1, stride=(2, 1)), (5, 4), (3, 2), padding=1, stride=(2, 1)), F.unfold(img, (3, 2), padding=1, stride=(2, 1)))
case("MaxPool", F.max_pool2d(img, (3, 2), 2, 1), img)
case("MaxPool/ceil", F.max_pool2d(img, 2, 2, ceil_mode=True), img)
case("MaxPool/ceilpad", F.max_pool1d(v1, 2, 3, 1, ceil_mode=True), v1)
case("MaxPool/3d", F.max_pool3d(v3, 2), v3)
mp, mi = F.max_pool2d(img, 2, 2, return_indices=True)
case("MaxPoolWithIndices", [mp, mi], img)
case("MaxUnpool", F.max_unpool2d(mp, mi, 2, output_size=(5, 4)), mp, mi)
case("AvgPool", F.avg_pool2d(img, 3, 2, 1), img)
case("AvgPool/exclude", F.avg_pool2d(img, 3, 2, 1, count_include_pad=False), img)
case("AvgPool/ceil", F.avg_pool2d(img, 2, 2, 1, ceil_mode=True), img)
case("AvgPool/1d", F.avg_pool1d(v1, 4, 3), v1)
case("LpPool", F.lp_pool2d(img.abs(), 3, 2), img.abs())
case("AdaptiveAvgPool", F.adaptive_avg_pool2d(img, (3, 2)), img)
case("AdaptiveAvgPool/1d", F.adaptive_avg_pool1d(v1, 4), v1)
case("AdaptiveMaxPool", F.adaptive_max_pool2d(img, (3, 2)), img)
case("AdaptiveMaxPoolWithIndices", list(F.adaptive_max_pool2d(img, (3, 2), return_indices=True)), img)
g3, c3, rm, rv = rnd(3), rnd(3), rnd(3), uni(0.5, 2, 3)
case("LayerNorm", F.layer_norm(img, (5, 4), torch.full((5, 4), 2.0), None, 1e-5), img, torch.full((5, 4), 2.0))
case("RMSNorm", F.rms_norm(img, (4,), b4, 1e-5), img, b4)
case("GroupNorm", F.group_norm(img[:, :2], 2, b2, b2, 1e-5), img[:, :2], b2)
case("GroupNorm/plain", F.group_norm(img, 1, None, None, 1e-5), img)
case("InstanceNorm", F.instance_norm(img, None, None, g3, c3, True, 0.1, 1e-5), img, g3, c3)
case("BatchNorm", F.batch_norm(img, rm, rv, g3, c3, False, 0.1, 1e-5), img, g3, c3, rm, rv)
case("BatchNormTrain", [F.batch_norm(img, None, None, g3, c3, True, 0.1, 1e-5), img.mean((0, 2, 3)), img.var((0, 2, 3), correction=0)], img, g3, c3)
case("LocalResponseNorm", F.local_response_norm(img, 2, 0.5, 0.75, 2.0), img)
case("LocalResponseNorm/odd", F.local_response_norm(img, 3, 0.5, 0.75, 2.0), img)
lw, lb = rnd(4, 3), rnd(4)
case("Linear", F.linear(x, lw, lb), x, lw.T, lb)
case("LinearT", F.linear(x, lw, lb), x, lw, lb)
tbl = rnd(5, 3)
case("Embedding", F.embedding(idx, tbl), tbl, idx)
pt = tbl.clone()
pt[1] = 0
case("EmbeddingPadded", F.embedding(idx, pt), tbl, idx)
aq, ak, av = rnd(2, 4, 3, 5), rnd(2, 2, 6, 5), rnd(2, 2, 6, 7)
case("Attention", F.scaled_dot_product_attention(aq, ak, av, enable_gqa=True), aq, ak, av)
am = torch.rand(3, 6, generator=gen) > 0.3
am[:, 0] = True
case("Attention/mask", F.scaled_dot_product_attention(aq, ak, av, attn_mask=am, enable_gqa=True, scale=0.3), aq, ak, av, am)
case("Attention/causal", F.scaled_dot_product_attention(aq[:, :2], ak[:, :, :3], av[:, :, :3], is_causal=True), aq[:, :2], ak[:, :, :3], av[:, :, :3])
rc, rs_ = torch.cos(rnd(3, 2)), torch.sin(rnd(3, 2))
rx = rnd(2, 3, 5)
case("RotaryEmbedding", torch.cat([rx[..., :2] * rc - rx[..., 2:4] * rs_, rx[..., :2] * rs_ + rx[..., 2:4] * rc, rx[..., 4:]], -1), rx, rc, rs_)
cache = torch.zeros(2, 4, 3)
cache[:, 1:3] = ma[:, :2, :3]
case("CacheWrite", cache, torch.zeros(2, 4, 3), i64([1]).reshape(()), ma[:, :2, :3])

T, B, I, H = 4, 2, 3, 2
seq = rnd(T, B, I)


def order(t, gates):  # PyTorch stacks gates in another order
    parts = t.chunk(len(gates), 0)
    return torch.cat([parts[g] for g in gates], 0)


for kind, gates, cls in [("RNN", [0], torch.nn.RNN), ("GRU", [1, 0, 2], torch.nn.GRU), ("LSTM", [0, 3, 1, 2], torch.nn.LSTM)]:
    net = cls(I, H, bidirectional=True)
    for p_ in net.parameters():
        p_.data.copy_(0.5 * rnd(*p_.shape))
    h0 = rnd(2, B, H)
    c0 = rnd(2, B, H)
    par = dict(net.named_parameters())
    both = lambda nm: torch.stack([order(par[nm], gates), order(par[nm + "_reverse"], gates)])
    W, R, bw, br = both("weight_ih_l0"), both("weight_hh_l0"), both("bias_ih_l0"), both("bias_hh_l0")
    if kind == "LSTM":
        yy, (hh, cc) = net(seq, (h0, c0))
    else:
        yy, hh = net(seq, h0)
    yy = yy.reshape(T, B, 2, H).permute(0, 2, 1, 3)
    if kind == "LSTM":
        case(kind, [yy, hh, cc], seq, W, R, bw + br, h0, c0)
    elif kind == "GRU":
        case(kind, [yy, hh], seq, W, R, bw, br, h0)
    else:
        case(kind, [yy, hh], seq, W, R, bw + br, h0)

# losses
lp, tg = torch.log_softmax(rnd(4, 3), 1), i64(0, 2, 1, 2)
wt = torch.tensor([1.0, 2.0, 0.5])
case("NLLLoss", F.nll_loss(lp, tg, wt, ignore_index=1), lp, tg, wt)
case("CrossEntropyLoss", F.cross_entropy(3 * lp, tg, wt, label_smoothing=0.1, reduction="sum"), 3 * lp, tg, wt)
case("CrossEntropyLoss/plain", F.cross_entropy(3 * lp, tg), 3 * lp, tg)
pr = torch.softmax(rnd(4, 3), 1)
case("CrossEntropyWithProbabilities", F.cross_entropy(3 * lp, pr), 3 * lp, pr)
for red, name in [("mean", ""), ("sum", "/sum"), ("none", "/each")]:
    case("MSELoss" + name, F.mse_loss(x, y, reduction=red), x, y)
case("L1Loss", F.l1_loss(x, y), x, y)
case("HuberLoss", F.huber_loss(x, y, delta=0.7), x, y)
case("SmoothL1Loss", F.smooth_l1_loss(x, y, beta=0.7), x, y)
p01, t01 = uni(0.05, 0.95, 2, 3), (uni(0, 1, 2, 3) > 0.5).double()
case("BCELoss", F.binary_cross_entropy(p01, t01), p01, t01)
case("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits(x, t01, pos_weight=pos[0]), x, t01, pos[0])
case("KLDivLoss", F.kl_div(lp, pr), lp, pr)
case("KLDivLoss/log", F.kl_div(lp, pr.log(), log_target=True, reduction="sum"), lp, pr.log())
case("PoissonNLLLoss", F.poisson_nll_loss(x, 2 * pos, full=True), x, 2 * pos)
case("PoissonNLLLoss/plain", F.poisson_nll_loss(pos, 2 * pos, log_input=False), pos, 2 * pos)
pm = torch.tensor([1.0, -1.0])
case("CosineEmbeddingLoss", F.cosine_embedding_loss(x, y, pm, margin=0.2), x, y, pm)
pmx = 2 * t01 - 1
case("HingeLoss", torch.clamp_min(1 - x * pmx, 0).mean(), x, pmx)
case("HingeEmbeddingLoss", F.hinge_embedding_loss(x, pmx, margin=0.9), x, pmx)
case("MarginRankingLoss", F.margin_ranking_loss(x, y, pmx, margin=0.3), x, y, pmx)
zz = rnd(2, 3)
case("TripletMarginLoss", F.triplet_margin_loss(x, y, zz), x, y, zz)
case("TripletMarginLoss/swap", F.triplet_margin_loss(x, y, zz, margin=2.0, p=1.0, swap=True, reduction="sum"), x, y, zz)
cl = torch.log_softmax(rnd(6, 2, 4), 2)
ct, il, tl = i64([[1, 2, 2], [3, 1, 0]]), i64(6, 5), i64(3, 2)
case("CTCLoss", F.ctc_loss(cl, ct, il, tl), cl, ct, il, tl)

# signal
ri = lambda z: torch.view_as_real(z.resolve_conj().contiguous())
sig = rnd(2, 7)
cx = rnd(2, 6, 2)
cplx = torch.view_as_complex(cx)
case("Complex", torch.stack([x, y], -1), x, y)
case("Real", cx[..., 0], cx)
case("Imag", cx[..., 1], cx)
case("FFT", ri(torch.fft.fft(cplx)), cx)
case("FFT/first", ri(torch.fft.fft(cplx, dim=0, norm="ortho")), cx)
case("IFFT", ri(torch.fft.ifft(cplx)), cx)
case("RFFT", ri(torch.fft.rfft(sig)), sig)
case("RFFT/n", ri(torch.fft.rfft(sig, n=10)), sig)
case("IRFFT", torch.fft.irfft(cplx), cx)
case("IRFFT/odd", torch.fft.irfft(cplx, n=11), cx)
case("FFTShift", torch.fft.fftshift(sig), sig)
case("IFFTShift", torch.fft.ifftshift(sig), sig)
wave, win = rnd(2, 40), torch.hann_window(8)
st = torch.stft(wave, 8, 2, 8, win, return_complex=True).mT
case("STFT", ri(st), wave, win)
case("STFT/plain", ri(torch.stft(wave, 8, 4, 8, torch.ones(8), center=False, onesided=False, return_complex=True).mT), wave)
case("ISTFT", torch.istft(st.mT, 8, 2, 8, win, length=40), ri(st), win)

# grids
case("MeshGrid", list(torch.meshgrid(row, b4, indexing="ij")), row, b4)
case("MeshGridXY", list(torch.meshgrid(row, b4, indexing="xy")), row, b4)
case("MeshGridStack", torch.cartesian_prod(row, b4).reshape(3, 4, 2), row, b4)
th2, th3 = rnd(2, 2, 3), rnd(1, 3, 4)
case("AffineGrid", F.affine_grid(th2, (2, 3, 4, 3), align_corners=False), th2)
case("AffineGrid/3d", F.affine_grid(th3, (1, 2, 2, 3, 4), align_corners=True), th3)
gr = uni(-1.3, 1.3, 2, 3, 2, 2)
case("GridSample", F.grid_sample(img, gr, align_corners=False), img, gr)
case("GridSample/nearest", F.grid_sample(img, gr, "nearest", "border", align_corners=True), img, gr)
case("GridSample/cubic", F.grid_sample(img, gr, "bicubic", "reflection", align_corners=False), img, gr)
gr3 = uni(-1.2, 1.2, 1, 2, 2, 2, 3)
case("GridSample/3d", F.grid_sample(v3, gr3, align_corners=False), v3, gr3)
case("Interpolate", F.interpolate(img, (7, 3)), img)
case("Interpolate/exact", F.interpolate(img, (7, 3), mode="nearest-exact"), img)
case("Interpolate/linear", F.interpolate(img, (7, 3), mode="bilinear"), img)
case("Interpolate/corners", F.interpolate(img, (7, 3), mode="bilinear", align_corners=True), img)
case("Interpolate/cubic", F.interpolate(img, (7, 6), mode="bicubic"), img)
case("Interpolate/antialias", F.interpolate(img, (3, 2), mode="bilinear", antialias=True), img)
case("Interpolate/3d", F.interpolate(v3, (3, 5, 6), mode="trilinear"), v3)
case("Interpolate/1d", F.interpolate(v1, 5, mode="linear"), v1)

# data-dependent shapes
case("ArgWhere", torch.argwhere(n > 5), n > 5)
case("NonZero", list(torch.nonzero(n > 5, as_tuple=True)), n > 5)
case("MaskSelect", torch.masked_select(x, row > 0), x, row > 0)
case("Compress", img[:, [True, False, True]], img, torch.tensor([True, False, True]))
rep = i64([[3, 1, 3], [2, 1, 3]])
uv, ux, un_, uc = np.unique(rep.numpy(), return_index=True, return_inverse=True, return_counts=True)
case("Unique", [uv, ux, uc, un_.reshape(2, 3)], rep)

# quantization
sc, zp = torch.tensor(0.1), torch.tensor(3, dtype=torch.int32)
qx = torch.quantize_per_tensor(x.float(), 0.1, 3, torch.quint8)
case("Quantize", qx.int_repr(), x.float(), sc.float(), zp.to(torch.uint8))
case("Dequantize", qx.dequantize(), qx.int_repr(), sc.float(), zp.to(torch.uint8))
case("FakeQuantize", torch.fake_quantize_per_tensor_affine(x.float(), 0.1, 3, 0, 255), x.float(), sc.float(), zp.to(torch.uint8))
case("FakeQuantize/axis", torch.fake_quantize_per_channel_affine(x.float(), torch.tensor([0.1, 0.2, 0.3], dtype=torch.float32), torch.tensor([3, 4, 5], dtype=torch.int32), 1, 0, 255), x.float(), torch.tensor([0.1, 0.2, 0.3], dtype=torch.float32), torch.tensor([3, 4, 5], dtype=torch.uint8))

lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
sys.stdout.write('{"torch":"%s","numpy":"%s","cases":[\n%s\n],"values":[\n%s\n]}\n' % (torch.__version__, np.__version__, lines, ",\n".join(values)))
