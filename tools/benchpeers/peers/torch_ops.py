"""The ops of the benchmark in PyTorch: for each name, a function of the attributes that gives a function of the operands."""

import torch
import torch.nn.functional as F

types = {"f16": torch.float16, "f32": torch.float32, "f64": torch.float64}


def plain(f):
    return lambda attrs: f


def matmul(attrs):
    ta, tb = attrs.get("transpose_a", False), attrs.get("transpose_b", False)
    return lambda a, b: torch.matmul(a.mT if ta else a, b.mT if tb else b)


def conv(attrs):
    f = F.conv2d if len(attrs["strides"]) == 2 else F.conv1d
    strides, pad, dilation, groups = attrs["strides"], attrs["pad_lo"], attrs["kernel_dilation"], attrs.get("groups", 1)
    return lambda x, w: f(x, w, None, strides, pad, dilation, groups)


def conv_transpose(attrs):
    strides, pad = attrs["strides"], attrs["pad_lo"]
    return lambda x, w: F.conv_transpose2d(x, w, None, strides, pad)


def max_pool(attrs):
    return lambda x: F.max_pool2d(x, attrs["window"], attrs["strides"], attrs["pad_lo"])


def avg_pool(attrs):
    count = attrs.get("count_pad", False)
    return lambda x: F.avg_pool2d(x, attrs["window"], attrs["strides"], attrs["pad_lo"], count_include_pad=count)


def layer_norm(attrs):
    axis, eps = attrs["axis"], attrs["epsilon"]
    return lambda x, w, b: F.layer_norm(x, x.shape[axis:], w, b, eps)


def rms_norm(attrs):
    axis, eps = attrs["axis"], attrs["epsilon"]
    return lambda x, w: F.rms_norm(x, x.shape[axis:], w, eps)


def batch_norm(attrs):
    eps = attrs["epsilon"]
    return lambda x, scale, bias, mean, var: F.batch_norm(x, mean, var, scale, bias, False, 0.0, eps)


def attention(attrs):
    causal = attrs.get("causal", False)
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def topk(attrs):
    return lambda x: tuple(torch.topk(x, attrs["k"], attrs["axis"]))


def sort(attrs):
    return lambda x: tuple(torch.sort(x, dim=attrs["axis"], stable=True))


table = {
    "matmul": matmul,
    "linear": plain(F.linear),
    "attention": attention,
    "copy": plain(torch.clone),
    "relu": plain(torch.relu),
    "sqrt": plain(torch.sqrt),
    "exp": plain(torch.exp),
    "log": plain(torch.log),
    "tanh": plain(torch.tanh),
    "sigmoid": plain(torch.sigmoid),
    "erf": plain(torch.erf),
    "gelu": plain(F.gelu),
    "sin": plain(torch.sin),
    "cast": lambda attrs: lambda x, d=types[attrs["dtype"]]: x.to(d),
    "add": plain(torch.add),
    "mul": plain(torch.mul),
    "sum": lambda attrs: lambda x: torch.sum(x, attrs["axes"]),
    "reduce_max": lambda attrs: lambda x: torch.amax(x, attrs["axes"]),
    "argmax": lambda attrs: lambda x: torch.argmax(x, attrs["axis"]),
    "softmax": lambda attrs: lambda x: torch.softmax(x, attrs["axis"]),
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
    "permute": lambda attrs: lambda x: x.permute(attrs["axes"]),
    "concat": lambda attrs: lambda *xs: torch.cat(xs, attrs["axis"]),
    "gather": lambda attrs: lambda x, i: torch.index_select(x, attrs["axis"], i),
    "conv": conv,
    "conv_transpose": conv_transpose,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "where": plain(torch.where),
    "cumsum": lambda attrs: lambda x: torch.cumsum(x, attrs["axis"]),
    "sort": sort,
    "topk": topk,
}
