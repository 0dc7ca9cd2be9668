"""Writes layers.json: one-node models of layers with inputs and the outputs of onnxruntime, or, where that lacks an operator
or departs from its definition, of the reference evaluator of onnx. Run: python layers.py > layers.json"""
import base64
import itertools
import json
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

f32, f64, f16 = np.float32, np.float64, np.float16
i8, i16, i32, i64, u8, u16 = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16
rng = np.random.default_rng(2)
cases = []


def A(v, d=f32):
    return np.array(v, d)


def R(*shape, d=f32, lo=-2, hi=2):
    if np.issubdtype(d, np.floating):
        return rng.uniform(lo, hi, shape).astype(d)
    info = np.iinfo(d)
    return rng.integers(max(lo, info.min), min(hi, info.max) + 1, shape).astype(d)


def I(*v):
    return np.array(v, i64)


def case(op, opset, inputs, outputs=1, reference=False, domain="", note="", **attrs):
    """inputs: arrays, None for an absent one. outputs: how many, or which of them by position."""
    names, infos, feeds = [], [], {}
    for i, a in enumerate(inputs):
        if a is None:
            names.append("")
            continue
        n, a = f"x{i}", np.asarray(a)
        names.append(n)
        infos.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape))
        feeds[n] = a
    wanted = list(range(outputs)) if isinstance(outputs, int) else outputs
    outs = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, outs, domain=domain, **attrs)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=n) for n in outs if n])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8 if opset < 21 else 10)
    peer, got = "onnxruntime", None
    if not reference:
        try:
            so = ort.SessionOptions()
            so.log_severity_level = 4
            so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            got = ort.InferenceSession(model.SerializeToString(), so, providers=["CPUExecutionProvider"]).run(None, feeds)
        except Exception as e:
            print("not by onnxruntime:", op, opset, attrs, str(e).splitlines()[0][:150], file=sys.stderr)
    if got is None:
        peer, got = "reference", ReferenceEvaluator(model).run(None, feeds)
    enc = lambda a, n: base64.b64encode(
        numpy_helper.from_array(np.ascontiguousarray(a).reshape(np.shape(a)), n).SerializeToString()).decode()
    plain = {k: v for k, v in attrs.items() if not isinstance(v, (onnx.TensorProto, onnx.GraphProto))}
    label = "_".join([op, str(opset)] + ([note] if note else []) + [f"{k}={v}" for k, v in plain.items()])
    cases.append({"name": label, "peer": peer, "model": base64.b64encode(model.SerializeToString()).decode(),
                  "inputs": [enc(a, n) for n, a in feeds.items()],
                  "outputs": [enc(np.asarray(a), n) for n, a in zip([o for o in outs if o], got)]})


# Convolutions.
case("Conv", 11, [R(2, 3, 9), R(4, 3, 3), R(4)], pads=[2, 1], strides=[2], dilations=[2])
case("Conv", 11, [R(1, 4, 6, 7), R(6, 2, 3, 2), R(6)], group=2, strides=[2, 1], pads=[1, 0, 2, 1])
case("Conv", 11, [R(1, 4, 5, 5), R(4, 1, 3, 3)], group=4, auto_pad="SAME_UPPER", strides=[2, 2])
case("Conv", 11, [R(1, 2, 6, 6), R(3, 2, 4, 4)], auto_pad="SAME_LOWER", strides=[1, 1])
case("Conv", 11, [R(1, 2, 7, 6), R(3, 2, 2, 3)], auto_pad="VALID", dilations=[2, 1])
case("Conv", 11, [R(1, 2, 4, 5, 4), R(3, 2, 2, 3, 2), R(3)], pads=[1, 0, 1, 0, 1, 0], strides=[1, 2, 1], dilations=[1, 1, 2])
case("ConvTranspose", 11, [R(1, 2, 5), R(2, 3, 4), R(3)], strides=[3], pads=[1, 2], output_padding=[1])
case("ConvTranspose", 11, [R(1, 4, 3, 4), R(4, 3, 3, 2), R(6)], group=2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 1])
case("ConvTranspose", 11, [R(1, 1, 3, 3), R(1, 2, 3, 3)], strides=[3, 2], output_shape=[10, 8])
case("ConvTranspose", 11, [R(1, 1, 3, 3), R(1, 2, 3, 3)], strides=[3, 2], output_shape=[8, 6])
case("ConvTranspose", 11, [R(1, 1, 3, 3), R(1, 2, 3, 3)], strides=[2, 2], auto_pad="SAME_UPPER")
case("ConvTranspose", 11, [R(1, 1, 3, 3), R(1, 2, 3, 3)], strides=[2, 2], auto_pad="SAME_LOWER")
case("ConvTranspose", 11, [R(1, 2, 3, 3), R(2, 2, 2, 3)], auto_pad="VALID")
case("ConvTranspose", 11, [R(1, 2, 2, 3, 2), R(2, 1, 2, 2, 3)], strides=[2, 1, 2])
for og, mask in [(1, False), (2, True)]:
    case("DeformConv", 19, [R(2, 4, 5, 6), R(4, 2, 2, 3), R(2, og * 12, 6, 4, lo=-1, hi=1), R(4)]
         + ([R(2, og * 6, 6, 4)] if mask else []), group=2, offset_group=og, pads=[1, 0, 1, 0])
case("DeformConv", 19, [R(1, 2, 6, 6), R(2, 2, 2, 2), R(1, 8, 3, 2, lo=-2, hi=2)], dilations=[1, 3], strides=[2, 2], pads=[0, 0, 1, 1])
case("ConvInteger", 10, [R(1, 2, 5, 5, d=u8, hi=255), R(3, 2, 3, 3, d=u8, hi=255), A(7, u8), A([3], u8)], pads=[1, 1, 1, 1])
case("ConvInteger", 10, [R(1, 2, 5, 5, d=u8, hi=255), R(3, 2, 2, 2, d=i8, lo=-128, hi=127), A(7, u8), A(0, i8)], strides=[2, 1])
for wd in (u8, i8):
    case("QLinearConv", 10, [R(1, 2, 5, 5, d=u8, hi=255), A(0.02), A(120, u8), R(4, 1, 3, 3, d=wd, lo=-128, hi=255),
                             A([0.01, 0.02, 0.015, 0.03]), np.zeros(4, wd), A(0.05), A(110, u8), R(4, d=i32, lo=-500, hi=500)],
         group=2, pads=[1, 1, 1, 1], note=np.dtype(wd).name)
case("CausalConvWithState", 27, [R(2, 3, 5), R(3, 1, 4), R(3), R(2, 3, 3)], outputs=2, reference=True, activation="silu")

# Products.
for a, b in [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 1, 2, 3), (4, 3, 5)), ((3,), (2, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]:
    case("MatMul", 13, [R(*a), R(*b)], note=f"{a}{b}")
case("MatMul", 13, [R(2, 3, d=i32, lo=-9, hi=9), R(3, 2, d=i32, lo=-9, hi=9)], note="i32")
case("MatMul", 13, [R(2, 3, d=f64), R(3, 2, d=f64)], note="f64")
case("MatMulInteger", 10, [R(2, 3, 4, d=u8, hi=255), R(4, 5, d=i8, lo=-128, hi=127), A(128, u8), A([1, 2, 3, 4, 5], i8)])
case("MatMulInteger", 10, [R(3, 4, d=i8, lo=-128, hi=127), R(4, 2, d=i8, lo=-128, hi=127), A([[1], [2], [3]], i8)], reference=True)
case("QLinearMatMul", 10, [R(3, 4, d=u8, hi=255), A(0.01), A(100, u8), R(4, 2, d=i8, lo=-128, hi=127), A([0.02, 0.03]), A([0, 0], i8),
                           A(0.02), A(120, u8)])
for attrs, c in [({}, (4,)), ({}, (2, 1)), ({"alpha": 0.5, "beta": 2.0}, (1, 4)), ({"transA": 1, "beta": 0.5}, (2, 4)), ({"transB": 1}, ()),
                 ({"transA": 1, "transB": 1, "alpha": 3.0}, None), ({"beta": 0.0}, (4,))]:
    a = R(3, 2) if attrs.get("transA") else R(2, 3)
    b = R(4, 3) if attrs.get("transB") else R(3, 4)
    case("Gemm", 13, [a, b] + ([] if c is None else [R(*c)]), note=str(c), **attrs)
for eq, shapes in [("ij,jk->ik", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("ij->", [(2, 3)]),
                   ("i,j->ij", [(2,), (3,)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk", [(2, 1, 2, 3), (4, 3, 2)]),
                   ("...ii->...i", [(2, 3, 3)]), ("bhld,bhsd->bhls", [(1, 2, 3, 4), (1, 2, 5, 4)]), ("ijk,kl,lm->ijm", [(2, 3, 4), (4, 2), (2, 3)]),
                   ("ab , bc", [(2, 3), (3, 2)]), ("i...,i...->...", [(3, 2), (3, 2)]), ("iji,j->j", [(2, 3, 2), (3,)]),
                   ("ij,ij->ij", [(2, 3), (2, 3)]), ("b...c,cd->b...d", [(2, 3, 4, 5), (5, 2)]), ("a,b,a->b", [(3,), (2,), (3,)]),
                   ("ij,kl->", [(2, 3), (2, 2)]), ("ijkl->jl", [(2, 3, 2, 3)])]:
    case("Einsum", 12, [R(*s) for s in shapes], equation=eq)
case("Einsum", 12, [R(2, 3, d=i32, lo=-9, hi=9), R(3, 2, d=i32, lo=-9, hi=9)], equation="ij,jk->ik", note="i32")

# Pools.
case("MaxPool", 12, [R(1, 2, 6, 7)], outputs=2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
case("MaxPool", 12, [R(2, 2, 5, 6)], outputs=2, kernel_shape=[2, 3], storage_order=1, strides=[2, 2])
case("MaxPool", 12, [R(1, 2, 4, 3, 4)], outputs=2, kernel_shape=[2, 2, 2], storage_order=1)
case("MaxPool", 12, [R(1, 1, 7, 7, d=i8, lo=-128, hi=127)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1, strides=[2, 2])
case("MaxPool", 12, [R(1, 1, 9)], outputs=2, kernel_shape=[3], dilations=[2], strides=[2], auto_pad="VALID")
case("MaxPool", 12, [R(1, 1, 9, d=f64)], kernel_shape=[2], strides=[3], ceil_mode=1)
for p in (0, 1):
    case("AveragePool", 19, [R(1, 1, 6, 5)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=p)
    case("AveragePool", 11, [R(1, 2, 7)], kernel_shape=[4], strides=[3], auto_pad="SAME_UPPER", count_include_pad=p)
case("AveragePool", 7, [R(1, 2, 3, 4, 5)], kernel_shape=[2, 2, 3], pads=[1, 0, 1, 0, 1, 1])
case("LpPool", 18, [R(1, 2, 6, 5)], kernel_shape=[3, 2], p=1, strides=[2, 1])
case("LpPool", 18, [R(1, 2, 6, 5)], kernel_shape=[2, 2], p=3, pads=[1, 1, 0, 0])
for op in ("GlobalAveragePool", "GlobalMaxPool"):
    case(op, 1 if op == "x" else 7, [R(2, 3, 4, 5)])
    case(op, 7, [R(2, 3, 4)], note="1d")
case("GlobalLpPool", 7, [R(2, 3, 4, 5)], p=2)
case("GlobalLpPool", 7, [R(2, 3, 4)], p=3)
case("MaxUnpool", 11, [A([[[[5, 6], [7, 8]]]]), np.array([[[[5, 7], [13, 15]]]], i64)], kernel_shape=[2, 2], strides=[2, 2])

# Normalisation.
stats = [R(3), R(3), R(3), R(3, lo=0.5, hi=2)]
for opset in (7, 9, 14, 15):
    case("BatchNormalization", opset, [R(2, 3, 4, 5)] + stats, epsilon=1e-2)
case("BatchNormalization", 15, [R(4, 3)] + stats)
case("BatchNormalization", 15, [R(4, 3, 2)] + stats, outputs=3, training_mode=1, momentum=0.7)
case("BatchNormalization", 15, [R(2, 3, 2, d=f16)] + stats, reference=True, note="f16")
case("InstanceNormalization", 6 + 1, [R(2, 3, 4), R(3), R(3)], epsilon=1e-3)
case("GroupNormalization", 18, [R(2, 6, 3, 2), R(3), R(3)], num_groups=3, reference=True)
case("GroupNormalization", 21, [R(2, 6, 3, 2), R(6), R(6)], num_groups=3, reference=True)
case("LayerNormalization", 17, [R(2, 3, 4), R(3, 4), R(3, 4)], outputs=3, axis=1)
case("LayerNormalization", 17, [R(2, 3, 4), R(4)], epsilon=1e-2)
case("LayerNormalization", 17, [R(2, 3, 4), R(4)], outputs=[0, 2])
case("RMSNormalization", 23, [R(2, 3, 4), R(4)], epsilon=1e-2, reference=True)
case("LRN", 13, [R(2, 5, 3, 4)], size=3)
case("LRN", 13, [R(5, 5, 2, 1)], size=4, alpha=0.1, beta=0.5, bias=2.0, reference=True)
for p in (1, 2):
    case("LpNormalization", 7, [R(2, 3, 4)], p=p, axis=1)
case("MeanVarianceNormalization", 13, [R(2, 3, 4, 5)])
case("MeanVarianceNormalization", 13, [R(2, 3, 4)], axes=[0, 2])

# Resampling.
img = R(1, 2, 4, 5)
case("Upsample", 7, [img], scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
case("Upsample", 9, [img, A([1, 1, 1.6, 2.5])], mode="linear")
case("Upsample", 9, [img, A([1, 1, 1.6, 2.5])], mode="nearest")
for mode in ("nearest", "linear"):
    case("Resize", 10, [img, A([1, 1, 0.6, 1.7])], mode=mode)
for trans, mode in itertools.product(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"], ["nearest", "linear", "cubic"]):
    case("Resize", 13, [img, None, None, I(1, 2, 7, 3)], mode=mode, coordinate_transformation_mode=trans)
    case("Resize", 13, [img, None, A([1, 1, 2, 0.6])], mode=mode, coordinate_transformation_mode=trans, reference=True)
case("Resize", 11, [img, A([], f32), A([], f32), I(1, 2, 1, 9)], mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
for near in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    case("Resize", 13, [img, None, A([1, 1, 1.5, 2])], mode="nearest", nearest_mode=near, coordinate_transformation_mode="half_pixel")
case("Resize", 13, [img, None, None, I(1, 2, 7, 8)], mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
case("Resize", 13, [img, A([0, 0, 0.1, -0.2, 1, 1, 0.8, 1.1]), None, I(1, 2, 3, 6)], mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
     extrapolation_value=9.5)
for mode in ("linear", "cubic"):
    case("Resize", 18, [R(1, 1, 9, 11), None, None, I(1, 1, 4, 20)], mode=mode, antialias=1, reference=True)
    case("Resize", 18, [R(1, 1, 9, 11), None, None, I(1, 1, 4, 3)], mode=mode, antialias=1, exclude_outside=1, reference=True)
case("Resize", 18, [img, None, None, I(9, 7)], axes=[3, 2], mode="linear", keep_aspect_ratio_policy="not_smaller", reference=True)
case("Resize", 18, [img, None, None, I(9, 7)], axes=[3, 2], mode="nearest", keep_aspect_ratio_policy="not_larger", reference=True)
case("Resize", 19, [img, None, A([1, 1, 1.3, 0.7])], mode="linear", coordinate_transformation_mode="half_pixel_symmetric", reference=True)
case("Resize", 13, [R(1, 2, 3, 3, d=u8, hi=255), None, A([1, 1, 2, 2])], mode="nearest", coordinate_transformation_mode="asymmetric", note="u8")
for mode, pad, align in itertools.product(["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [0, 1]):
    case("GridSample", 16, [R(2, 2, 4, 5), R(2, 3, 4, 2, lo=-1.7, hi=1.7)], mode=mode, padding_mode=pad, align_corners=align)
for mode, pad in itertools.product(["linear", "nearest"], ["zeros", "border", "reflection"]):
    case("GridSample", 20, [R(1, 2, 3, 4, 3), R(1, 2, 3, 2, 3, lo=-1.5, hi=1.5)], mode=mode, padding_mode=pad, note="3d")
case("GridSample", 22, [R(1, 1, 3, 3, d=f16), R(1, 2, 2, 2, lo=-1, hi=1)], reference=True, note="f16")
for align in (0, 1):
    case("AffineGrid", 20, [R(2, 2, 3), I(2, 3, 3, 4)], align_corners=align)
    case("AffineGrid", 20, [R(1, 3, 4), I(1, 1, 2, 3, 4)], align_corners=align, note="3d")

# Regions.
rois, batch = A([[0, 0, 6, 5], [1.5, 2, 4.2, 4.9], [-3, -2, 3, 3], [3, 3, 3.2, 3.4]]), I(0, 1, 1, 0)
for mode, ratio, opset in itertools.product(["avg", "max"], [0, 2], [10, 16]):
    case("RoiAlign", opset, [R(2, 2, 6, 7), rois, batch], mode=mode, sampling_ratio=ratio, output_height=2, output_width=3, spatial_scale=0.9)
case("MaxRoiPool", 7, [R(2, 2, 6, 7), A([[0, 0, 0, 6, 5], [1, 1, 2, 4, 4], [1, 3, 3, 3, 3], [0, 5, 4, 9, 9]])], pooled_shape=[2, 3],
     spatial_scale=0.8)
boxes = A([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11, 0, 10], [0, 100, 1, 101]]])
case("NonMaxSuppression", 11, [boxes, A([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.2, 0.9, 0.9, 0.8, 0.7]]]), I(3), A([0.5]), A([0.25])])
case("NonMaxSuppression", 10, [boxes, A([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]]), I(2)])
case("NonMaxSuppression", 11, [boxes, A([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]])])

# Recurrence.
T, B, N, H = 3, 2, 4, 3
for op, g in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    def weights(d):
        return [R(d, g * H, N, lo=-1, hi=1), R(d, g * H, H, lo=-1, hi=1)]
    acts = {"LSTM": ["HardSigmoid", "Softsign", "LeakyRelu"], "GRU": ["HardSigmoid", "Elu"], "RNN": ["ScaledTanh"]}[op]
    y = 3 if op == "LSTM" else 2
    lens = A([2, 3], i32)
    for direction, d in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        state = [R(d, B, H)] * (y - 1)
        case(op, 14, [R(T, B, N)] + weights(d), outputs=y, hidden_size=H, direction=direction)
        case(op, 14, [R(T, B, N)] + weights(d) + [R(d, 2 * g * H), None] + state, outputs=y, hidden_size=H, direction=direction, note="state")
        case(op, 14, [R(T, B, N)] + weights(d) + [R(d, 2 * g * H), lens] + state, outputs=y, hidden_size=H, direction=direction, note="lengths")
        case(op, 14, [R(T, B, N)] + weights(d) + [R(d, 2 * g * H)], outputs=y, hidden_size=H, direction=direction, activations=acts * d,
             activation_alpha={"LSTM": [0.3, 0.05], "GRU": [0.3, 0.7], "RNN": [1.5]}[op] * d,
             activation_beta={"LSTM": [0.4], "GRU": [0.4], "RNN": [0.6]}[op] * d)
    case(op, 14, [R(T, B, N)] + weights(1) + [R(1, 2 * g * H)], outputs=y, hidden_size=H, clip=0.4)
    case(op, 14, [R(T, B, N)] + weights(1), outputs=[1], hidden_size=H, note="last")
case("LSTM", 14, [R(T, B, N), R(2, 4 * H, N), R(2, 4 * H, H), R(2, 8 * H), A([3, 1], i32), R(2, B, H), R(2, B, H), R(2, 3 * H)], outputs=3,
     hidden_size=H, direction="bidirectional", note="peepholes")
case("LSTM", 14, [R(T, B, N), R(1, 4 * H, N), R(1, 4 * H, H)], outputs=3, hidden_size=H, input_forget=1)
for before in (0, 1):
    case("GRU", 14, [R(T, B, N), R(1, 3 * H, N), R(1, 3 * H, H), R(1, 6 * H)], outputs=2, hidden_size=H, linear_before_reset=before, note="reset")
case("GRU", 14, [R(T, B, N), R(1, 3 * H, N), R(1, 3 * H, H), R(1, 6 * H), A([3, 2], i32)], outputs=2, hidden_size=H, linear_before_reset=1, note="reset")

# Attention.
q, k, v = R(2, 4, 3, 5), R(2, 2, 6, 5), R(2, 2, 6, 3)
case("Attention", 24, [q, k, v], is_causal=1, reference=True)
case("Attention", 24, [q, k, v, R(3, 4) > 0, None, None, I(4, 2)], is_causal=1, outputs=[0, 3], qk_matmul_output_mode=3, reference=True, note="filled")
case("Attention", 25, [q, k, v], left_window_size=1, right_window_size=1, reference=True)
case("Attention", 25, [q, k, v, R(3, 6), R(2, 2, 2, 5), R(2, 2, 2, 3)], outputs=3, left_window_size=2, is_causal=1, reference=True)
case("Attention", 23, [R(1, 3, 8), R(1, 4, 4), R(1, 4, 6)], q_num_heads=4, kv_num_heads=2, softcap=1.5, scale=0.7, reference=True)
for inter in (0, 1):
    case("RotaryEmbedding", 23, [R(2, 3, 4, 6), R(9, 3), R(9, 3), np.array([[0, 2, 4, 1], [8, 7, 6, 5]], i64)], interleaved=inter)
    case("RotaryEmbedding", 23, [R(2, 4, 12), R(2, 4, 2), R(2, 4, 2)], interleaved=inter, num_heads=2, rotary_embedding_dim=4)
case("RotaryEmbedding", 23, [R(2, 3, 4, 6), R(2, 4, 3), R(2, 4, 3)])
for rule in ("linear", "gated", "delta", "gated_delta"):
    case("LinearAttention", 27, [R(2, 3, 8), R(2, 3, 4), R(2, 3, 6), R(2, 2, 2, 3), R(2, 3, 2 if rule == "gated" else 4, hi=0) if "gated" in rule else None,
                                 R(2, 3, 2, lo=0, hi=1) if "delta" in rule else None], outputs=2, q_num_heads=4, kv_num_heads=2,
         update_rule=rule, reference=True)
half = helper.make_graph([helper.make_node("Tanh", ["s"], ["t"])], "m", [helper.make_tensor_value_info("s", 1, None)],
                         [helper.make_tensor_value_info("t", 1, None)])
case("FlexAttention", 25, [q, k, v], domain="ai.onnx.preview", reference=True)
case("FlexAttention", 25, [q, k, v], domain="ai.onnx.preview", reference=True, scale=0.3, score_mod=half, note="score")
case("FlexAttention", 25, [q, k, v], domain="ai.onnx.preview", reference=True, prob_mod=half, note="prob")

# Losses.
for red, w, ign in itertools.product(["none", "sum", "mean"], [False, True], [None, 1, -5]):
    target = np.array([[0, 2, 1], [1, 1, 2]], i64 if w else i32)
    if ign == -5:
        target[0, 1] = -5
    extra = {} if ign is None else {"ignore_index": ign}
    case("SoftmaxCrossEntropyLoss", 13, [R(2, 3, 3), target] + ([R(3, lo=0.1)] if w else []), outputs=2, reduction=red, note=str(w), **extra)
    case("NegativeLogLikelihoodLoss", 13, [R(2, 3, 3), target] + ([R(3, lo=0.1)] if w else []), reduction=red, note=str(w), **extra)

# Quantization.
x = R(2, 3, 4, lo=-40, hi=40)
for d in (u8, i8, u16, i16):
    case("QuantizeLinear", 21, [x, A(0.13), A(3, d)], note=np.dtype(d).name)
    case("QuantizeLinear", 21, [x, A([0.1, 0.2, 0.3]), A([0, 1, 2], d)], axis=1, note=np.dtype(d).name)
    case("DequantizeLinear", 21, [R(2, 3, 4, d=d, lo=-99, hi=99), A([0.1, 0.2, 0.3, 0.4]), A([1, 2, 3, 4], d)], axis=-1, note=np.dtype(d).name)
case("QuantizeLinear", 10, [A([-1e9, 1e9, 0.5, 1.5, 2.5, -0.5]), A(1.0)])
case("QuantizeLinear", 21, [R(4, 5, lo=-9, hi=9), R(2, 5, lo=0.1, hi=1), np.full((2, 5), 4, i8)], axis=0, block_size=2)
case("DequantizeLinear", 21, [R(3, 7, d=u8, hi=255), R(3, 3, lo=0.1, hi=1), np.full((3, 3), 9, u8)], axis=1, block_size=3, reference=True)
case("DequantizeLinear", 13, [R(2, 3, d=i32, lo=-999, hi=999), A(0.25)])
case("DynamicQuantizeLinear", 11, [R(3, 4)], outputs=3)
case("DynamicQuantizeLinear", 11, [R(3, 4, lo=1, hi=3)], outputs=3, note="positive")
case("DynamicQuantizeLinear", 11, [np.zeros((2, 2), f32)], outputs=3, note="zero")

# Signals.
for inv, one, part in ((0, 0, 1), (0, 1, 1), (0, 0, 2), (1, 0, 2)):
    case("DFT", 17, [R(2, 6, part)], axis=1, inverse=inv, onesided=one, note=str(part), reference=True)
    case("DFT", 20, [R(2, 5, 3, part), I(7).reshape(()), I(-3).reshape(())], inverse=inv, onesided=one, note=str(part), reference=True)
case("DFT", 20, [R(1, 96, 1)], onesided=1, note="96", reference=True)
case("DFT", 20, [R(1, 90, 2)], inverse=1, note="90", reference=True)
case("DFT", 20, [R(1, 67, 2)], note="67", reference=True)
for n in (6, 7):
    case("DFT", 20, [R(2, n // 2 + 1, 2), I(n).reshape(())], inverse=1, onesided=1, note=f"back{n}", reference=True)
for one in (0, 1):
    case("STFT", 17, [R(2, 20, 1), I(4).reshape(()), R(8)], onesided=one, reference=True)
    case("STFT", 17, [R(1, 16, 1), I(3).reshape(()), None, I(6).reshape(())], onesided=one, reference=True)
for op, per in itertools.product(["HannWindow", "HammingWindow", "BlackmanWindow"], [0, 1]):
    case(op, 17, [I(9).reshape(())], periodic=per)
case("HannWindow", 17, [I(4).reshape(())], output_datatype=11)
case("MelWeightMatrix", 17, [I(8).reshape(()), I(32).reshape(()), I(8192).reshape(()), A(10.0), A(4096.0)], reference=True)

# The rest.
case("Det", 11, [R(2, 3, 4, 4)])
case("Det", 11, [A([[0, 2], [3, 0]])])
case("Col2Im", 18, [R(2, 12, 16), I(5, 6), I(2, 3)], reference=True)
case("Col2Im", 18, [R(1, 8, 6), I(5, 6), I(2, 2)], strides=[2, 2], pads=[0, 0, 0, 1], dilations=[1, 2], note="options", reference=True)
case("CenterCropPad", 18, [R(4, 5, 6), I(7, 2, 6)], reference=True)
case("CenterCropPad", 18, [R(4, 5, 6), I(9, 3)], axes=[-1, 1], reference=True)

json.dump({"cases": cases}, sys.stdout, indent=0, sort_keys=True)
print(len(cases), "cases", file=sys.stderr)
