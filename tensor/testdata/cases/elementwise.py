"""Cases of functions of single elements: of one tensor, of two, and of a tensor and a number."""

import torch
import torch.nn.functional as F

from .base import case, far, i64, inf, m, n, nan, odd, pos, rnd, unit, x, y

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
