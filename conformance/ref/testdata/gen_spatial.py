"""Writes golden_spatial.json: pooling, interpolation, grids, patches and quantized arithmetic by ONNX Runtime, the ONNX
reference evaluator, NumPy and Pillow.

Run with numpy, onnx, onnxruntime and pillow installed:  python gen_spatial.py > golden_spatial.json
"""
import itertools
import json
import math
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
from PIL import Image

rng = np.random.default_rng(23)
NAMES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}
cases = []


def number(v):
    return float(v) if isinstance(v, (float, np.floating)) else int(v)


def tensor(a):
    a = np.asarray(a)
    return {"dtype": NAMES[a.dtype.name], "shape": list(a.shape), "data": [number(v) for v in a.ravel()]}


def case(op, ins, outs, **attrs):
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    cases.append({"op": op, "attrs": attrs, "inputs": [tensor(a) for a in ins], "outputs": [tensor(a) for a in outs]})


def model(kind, ins, outs, opset, attrs):
    names = ["" if a is None else f"i{k}" for k, a in enumerate(ins)]
    node = helper.make_node(kind, names, [f"o{k}" for k in range(outs)], **attrs)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, ins) if n]
    graph = helper.make_graph([node], "g", info, [onnx.ValueInfoProto(name=f"o{k}") for k in range(outs)])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return m, {n: a for n, a in zip(names, ins) if n}


def ort(kind, ins, outs=1, opset=20, **attrs):
    """Runs one ONNX operator; None leaves an input out."""
    m, feed = model(kind, ins, outs, opset, attrs)
    return onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def evaluated(kind, ins, opset=20, **attrs):
    node = helper.make_node(kind, [f"i{k}" for k in range(len(ins))], ["o0"], **attrs)
    info = [helper.make_tensor_value_info(f"i{k}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for k, a in enumerate(ins)]
    out = [helper.make_tensor_value_info("o0", info[0].type.tensor_type.elem_type, None)]
    m = helper.make_model(helper.make_graph([node], "g", info, out), opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return ReferenceEvaluator(m).run(None, {f"i{k}": a for k, a in enumerate(ins)})


def f32(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape).astype(np.float32)


def i64(*v):
    return np.array(v, np.int64)


def eight(t, *shape):
    return rng.integers(np.iinfo(t).min, np.iinfo(t).max, shape, dtype=t, endpoint=True)


# pooling
x = f32(1, 2, 6, 5)
geo = dict(window=[3, 2], strides=[2, 2], pad_lo=[1, 0], pad_hi=[1, 1], dilation=[1, 2])
onx = dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], dilations=[1, 2])
y, i = ort("MaxPool", [x], 2, **onx)
case("max_pool", [x], [y, i % 30], overhang=[0, 0], indices=True, **geo)
x = f32(1, 1, 7)
y = ort("MaxPool", [x], kernel_shape=[3], strides=[3], ceil_mode=1)
case("max_pool", [x], y, overhang=[2], window=[3], strides=[3], pad_lo=[0], pad_hi=[0], dilation=[1])
x = f32(1, 2, 6, 5)
for p in (1, 2, 3):
    y = ort("LpPool", [x], p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    case("lp_pool", [x], y, p=float(p), window=[3, 2], strides=[2, 1], pad_lo=[1, 0], pad_hi=[1, 1], dilation=[1, 1], overhang=[0, 0])


def adaptive(x, size):
    """The cells of PyTorch's adaptive pooling: from floor(i·n/m) to ceil((i+1)·n/m)."""
    dims = x.shape[-len(size):]
    for idx in itertools.product(*(range(m) for m in size)):
        lo = [i * n // m for i, n, m in zip(idx, dims, size)]
        hi = [-(-(i + 1) * n // m) for i, n, m in zip(idx, dims, size)]
        yield idx, lo, x[(...,) + tuple(slice(a, b) for a, b in zip(lo, hi))]


for s, size in (((2, 7, 5), (3, 2)), ((3, 6), (4,)), ((2, 4, 3, 5), (2, 3, 3))):
    x = f32(*s).astype(np.float64)
    mean, most = np.zeros(s[:1] + size), np.zeros(s[:1] + size)
    where = np.zeros(s[:1] + size, np.int64)
    for idx, lo, cell in adaptive(x, size):
        flat = cell.reshape(s[0], -1)
        mean[(slice(None),) + idx], most[(slice(None),) + idx] = flat.mean(1), flat.max(1)
        for k in range(s[0]):
            inner = np.unravel_index(flat[k].argmax(), cell.shape[1:])
            where[(k,) + idx] = np.ravel_multi_index([a + b for a, b in zip(lo, inner)], s[1:])
    case("adaptive_avg_pool", [x], mean, size=list(size))
    case("adaptive_max_pool", [x], [most, where], size=list(size), indices=True)
x = f32(1, 1, 6, 6)
y, i = ort("MaxPool", [x], 2, kernel_shape=[2, 2], strides=[2, 2])
case("max_unpool", [y, i], ort("MaxUnpool", [y, i], kernel_shape=[2, 2], strides=[2, 2]), size=[6, 6])


# interpolation
def resize(x, size, scales=None, **attrs):
    extra = [1.0] * (x.ndim - len(size))
    if scales:
        return ort("Resize", [x, None, np.array(extra + scales, np.float32)], opset=19, **attrs)
    return ort("Resize", [x, None, None, i64(*x.shape[:-len(size)], *size)], opset=19, **attrs)


def interpolate(x, size, mode, coordinates="half_pixel", scales=None, **more):
    onx = dict(mode=mode, coordinate_transformation_mode=coordinates)
    own = dict(mode=mode, coordinates=coordinates, size=size, **more)
    if mode == "nearest":
        onx["nearest_mode"] = more.get("rounding", "round_prefer_floor")
    if "cubic_a" in more:
        onx["cubic_coeff_a"] = more["cubic_a"]
    if more.get("exclude_outside"):
        onx["exclude_outside"] = 1
    if more.get("antialias"):
        onx["antialias"] = 1
    if scales:
        own["scales"] = [float(np.float32(s)) for s in scales]
    case("interpolate", [x], resize(x, size, scales, **onx), **own)


x = f32(1, 2, 5, 4)
for mode in ("nearest", "linear", "cubic"):
    for to in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        interpolate(x, [8, 3], mode, to)
        interpolate(x, [3, 9], mode, to)
for r in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    interpolate(x, [10, 2], "nearest", rounding=r)
    interpolate(x, [3, 8], "nearest", "asymmetric", rounding=r)
interpolate(f32(1, 1, 6), [9], "linear", scales=[1.6])
interpolate(f32(1, 1, 6, 5), [9, 3], "cubic", scales=[1.5, 0.75], cubic_a=-0.5)
interpolate(f32(1, 1, 6, 5), [9, 3], "cubic", exclude_outside=True)
interpolate(f32(1, 1, 3, 4, 2), [5, 3, 4], "linear")
for mode in ("linear", "cubic"):  # antialiasing there leaves out what is outside
    interpolate(f32(1, 1, 9, 8), [4, 3], mode, antialias=True, exclude_outside=True)
plane = f32(9, 8)
for size in ([4, 3], [13, 5]):
    for mode, how in (("lanczos", Image.LANCZOS), ("cubic", Image.BICUBIC), ("linear", Image.BILINEAR)):
        y = np.asarray(Image.fromarray(plane).resize(size[::-1], how))
        case("interpolate", [plane], y, mode=mode, size=size, antialias=True, exclude_outside=True, cubic_a=-0.5)

# grids
for size in ((3, 4), (2, 3, 4)):
    theta = f32(2, len(size), len(size) + 1)
    for align in (0, 1):
        y = ort("AffineGrid", [theta, i64(2, 1, *size)], align_corners=align)
        case("affine_grid", [theta], y, size=list(size), align_corners=bool(align))
for s, out in (((2, 2, 5, 4), (3, 4)), ((1, 2, 3, 4, 2), (2, 3, 2))):
    x, g = f32(*s), f32(s[0], *out, len(out), lo=-1.5, hi=1.5)
    for mode in ("nearest", "linear", "cubic") if len(out) == 2 else ("nearest", "linear"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                y = ort("GridSample", [x, g], mode=mode, padding_mode=padding, align_corners=align)
                case("grid_sample", [x, g], y, mode=mode, padding=padding, align_corners=bool(align))
x, batch = f32(2, 3, 6, 5), i64(0, 1, 1)
corner = f32(3, 2, lo=0, hi=3)
rois = np.concatenate([corner, corner + f32(3, 2, lo=0.5, hi=4)], 1)
for reduce in ("mean", "max"):
    for half in (True, False):
        y = ort("RoiAlign", [x, rois, batch], mode="avg" if reduce == "mean" else "max", output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.9,
                coordinate_transformation_mode="half_pixel" if half else "output_half_pixel", opset=16)
        case("roi_align", [x, batch, rois], y, size=[3, 2], samples=2, scale=float(np.float32(0.9)), reduce=reduce, half_pixel=half)
x, w, offset, mask = f32(1, 4, 5, 5), f32(2, 2, 2, 2), f32(1, 16, 4, 5), f32(1, 8, 4, 5)
y = evaluated("DeformConv", [x, w, offset, np.zeros(2, np.float32), mask], opset=19, group=2, offset_group=2, pads=[1, 0, 0, 1], strides=[1, 1], kernel_shape=[2, 2],
              dilations=[2, 1])
case("deform_conv", [x, w, offset, mask], y, strides=[1, 1], pad_lo=[1, 0], pad_hi=[0, 1], dilation=[2, 1], groups=2, offset_groups=2)

# patches
columns = f32(1, 12, 15)
y = ort("Col2Im", [columns, i64(5, 6), i64(2, 3)], dilations=[1, 2], pads=[0, 1, 1, 0], strides=[1, 1])
case("col2im", [columns], y, size=[5, 6], window=[2, 3], strides=[1, 1], pad_lo=[0, 1], pad_hi=[1, 0], dilation=[1, 2])
x = f32(2, 3, 5, 4)
padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2, ::1]  # N C OH OW KH KW
case("im2col", [x], windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, -1), window=[3, 2], strides=[2, 1], pad_lo=[1, 0], pad_hi=[0, 2], dilation=[1, 1])
x = f32(2, 12, 3, 2)
for mode in ("DCR", "CRD"):
    case("depth_to_space", [x], ort("DepthToSpace", [x], blocksize=2, mode=mode), block=[2, 2], mode=mode.lower())
x = f32(2, 3, 4, 6)
case("space_to_depth", [x], ort("SpaceToDepth", [x], blocksize=2), block=[2, 2])
case("space_to_depth", [x], x.reshape(2, 3, 2, 2, 2, 3).transpose(0, 1, 3, 5, 2, 4).reshape(2, 18, 2, 2), block=[2, 3], mode="crd")
x = f32(2, 6, 3)
case("channel_shuffle", [x], x.reshape(2, 3, 2, 3).swapaxes(1, 2).reshape(2, 6, 3), groups=3)
x, w = f32(1, 4, 3, 4), f32(4, 3, 3, 2)
y = ort("ConvTranspose", [x, w], group=2, strides=[2, 3], pads=[1, 0, 0, 1], dilations=[1, 2], output_padding=[1, 0])
case("conv_transpose", [x, w], y, groups=2, strides=[2, 3], pad_lo=[1, 0], pad_hi=[0, 1], dilation=[1, 2], output_padding=[1, 0])

# quantization
for x in (f32(3, 5), f32(4, lo=1, hi=9), f32(6, lo=-7, hi=-1)):
    case("dynamic_quantize", [x], ort("DynamicQuantizeLinear", [x], 3))
x, scale, zero = f32(3, 7, lo=-30, hi=30), f32(3, 3, lo=0.05, hi=0.5), eight(np.int8, 3, 3) // 8
y = ort("QuantizeLinear", [x, scale, zero], opset=21, axis=1, block_size=3)[0]
case("quantize", [x, scale, zero], y, axis=1, block=3)
z = ort("DequantizeLinear", [y, scale, zero], opset=21, axis=1, block_size=3)
case("dequantize", [y, scale, zero], z, axis=1, block=3)
case("fake_quantize", [x, scale, zero], z, axis=1, block=3)
q = np.clip(np.round(x / np.float32(0.5)) + 1, -8, 7)
case("quantize", [x, np.float32(0.5), np.int8(1)], q.astype(np.int8), bits=4)
case("fake_quantize", [x, np.float32(0.5), np.int8(1)], ((q - 1) * 0.5).astype(np.float32), bits=4)
sums, steps = rng.integers(-40000, 40000, (3, 4)).astype(np.int32), f32(4, lo=0.001, hi=0.01)
y = np.clip(np.round(sums.astype(np.float32) * steps) + 10, 0, 255).astype(np.uint8)
case("requantize", [sums, steps, np.full(4, 10, np.uint8)], y, axis=1)
a, b = eight(np.uint8, 3, 5), eight(np.int8, 5, 4)
az, bz = np.uint8(12), np.int8(-3)
case("matmul_integer", [a, b, az, bz], ort("MatMulInteger", [a, b, np.array(az), np.array(bz)]))
case("matmul_integer", [a, b], ort("MatMulInteger", [a, b]))
columns = eight(np.int8, 4)
case("matmul_integer", [a, b, az, columns], ort("MatMulInteger", [a, b, np.array(az), columns]))
s = lambda v: np.array(v, np.float32)
y = ort("QLinearMatMul", [a, s(0.05), np.array(az), b, s(0.02), np.array(bz), s(0.4), np.array(np.uint8(100))])
case("qlinear_matmul", [a, s(0.05), az, b, s(0.02), bz, s(0.4), np.uint8(100)], y)
x, w = eight(np.uint8, 1, 4, 5, 5), eight(np.uint8, 6, 2, 3, 3)
geo = dict(strides=[2, 1], pad_lo=[1, 0], pad_hi=[1, 2], kernel_dilation=[1, 1], input_dilation=[1, 1], groups=2)
onx = dict(strides=[2, 1], pads=[1, 0, 1, 2], group=2)
case("conv_integer", [x, w, np.uint8(7), np.uint8(130)], ort("ConvInteger", [x, w, np.array(np.uint8(7)), np.array(np.uint8(130))], **onx), **geo)
w = eight(np.int8, 6, 2, 3, 3)
steps, bias = f32(6, lo=0.01, hi=0.05), rng.integers(-9000, 9000, 6).astype(np.int32)
args = [x, s(0.03), np.uint8(7), w, steps, np.zeros(6, np.int8), s(0.2), np.uint8(128), bias]
case("qlinear_conv", args, ort("QLinearConv", [np.array(v) for v in args], **onx), **geo)

sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
