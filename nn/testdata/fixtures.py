"""Writes fixtures.json: layers and losses with their parameters, inputs, results and gradients, computed by PyTorch in float64.

    python fixtures.py > fixtures.json

Version: PyTorch 2.15.0. A case is named by the layer, with "/" and a variant if there are several; the table of layers is in
../fixture_*_test.go. Parameters have the names of PyTorch's state dict. Gradients are those of sum(result · seed) over the results,
with random seeds. What PyTorch lacks is written out here from its definition.
"""
import json, math, sys, warnings
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)
torch.manual_seed(20261122)
NAMES = {torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}
cases, values = [], {}


def enc(t):
    t = t.detach().contiguous()
    data = [float(f"{v:.11g}") if isinstance(v, float) and math.isfinite(v) else str(v) if isinstance(v, float) else v for v in t.flatten().tolist()]
    return values.setdefault(json.dumps({"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": data}, separators=(",", ":")), len(values))


def short(t):
    """Rounded, so that what is written is what is computed with."""
    return torch.tensor([float(f"{v:.6g}") for v in t.flatten().tolist()]).reshape(t.shape) if t.is_floating_point() else t


def rnd(*s):
    return short(torch.randn(s))


def uni(lo, hi, *s):
    return short(lo + (hi - lo) * torch.rand(*s))


def ints(hi, *s):
    return torch.randint(0, hi, s)


def case(name, f, *ins, params=None, const=()):
    """f maps the inputs to a tensor or several; const are the indices of inputs without a gradient."""
    if isinstance(f, nn.Module):
        params = f
    with torch.no_grad():
        for p in params.parameters() if params else []:
            if p.dim() == 1:
                p.uniform_(-0.5, 0.5)
                p.add_(0.1)
            p.copy_(short(p))
    c = {"name": name, "params": {k: enc(v) for k, v in params.state_dict().items() if "num_batches" not in k} if params else {}}
    ins = [i.clone().requires_grad_(k not in const) if i.is_floating_point() else i for k, i in enumerate(ins)]
    out = f(*ins)
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    seeds = [rnd(*o.shape) for o in outs]
    leaves = [i for i in ins if i.requires_grad] + [p for _, p in (params.named_parameters() if params else [])]
    grads = torch.autograd.grad(sum((o * s).sum() for o, s in zip(outs, seeds)), leaves, allow_unused=True)
    by = {id(l): g for l, g in zip(leaves, grads)}
    c["in"], c["out"], c["seed"] = [enc(i) for i in ins], [enc(o) for o in outs], [enc(s) for s in seeds]
    c["grad"] = [enc(by[id(i)]) if by.get(id(i)) is not None else -1 for i in ins]
    if params:
        c["grads"] = {n: enc(by[id(p)]) for n, p in params.named_parameters() if by.get(id(p)) is not None}
        c["after"] = {n: enc(b) for n, b in params.named_buffers() if "num_batches" not in n}
    cases.append(c)


def torch_cases():
    case("Linear", nn.Linear(4, 3), rnd(2, 5, 4))
    case("Linear/nobias", nn.Linear(4, 3, bias=False), rnd(4))
    case("Embedding", nn.Embedding(6, 3), ints(6, 2, 4))
    case("Embedding/padding", nn.Embedding(6, 3, padding_idx=2), torch.tensor([[1, 2, 2], [0, 5, 1]]))
    case("Conv1d", nn.Conv1d(2, 3, 3, stride=2, padding=1), rnd(2, 2, 7))
    case("Conv2d", nn.Conv2d(2, 3, (3, 2), padding=(1, 0)), rnd(2, 2, 5, 4))
    case("Conv2d/groups", nn.Conv2d(4, 6, 3, stride=(2, 1), padding=2, dilation=2, groups=2, bias=False), rnd(1, 4, 6, 5))
    case("Conv2d/same", nn.Conv2d(2, 3, (2, 3), padding="same"), rnd(1, 2, 4, 5))
    case("Conv2d/depthwise", nn.Conv2d(3, 3, 3, padding=1, groups=3), rnd(2, 3, 4, 5))
    m = nn.Conv2d(2, 2, (3, 2))
    case("Conv2d/asymmetric", lambda x: m(F.pad(x, (1, 0, 0, 2))), rnd(1, 2, 4, 4), params=m)
    case("Conv3d", nn.Conv3d(1, 2, (2, 2, 3), stride=(1, 2, 1), padding=(0, 1, 1)), rnd(1, 1, 3, 4, 3))
    case("ConvTranspose1d", nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1), rnd(2, 2, 4))
    case("ConvTranspose2d", nn.ConvTranspose2d(4, 2, (3, 2), stride=(2, 3), padding=(1, 0), groups=2, dilation=(1, 2)), rnd(1, 4, 3, 3))
    case("ConvTranspose3d", nn.ConvTranspose3d(1, 2, 2, stride=(1, 2, 1)), rnd(1, 1, 2, 3, 2))
    for d, s in ((1, (2, 2, 7)), (2, (1, 2, 6, 7)), (3, (1, 1, 4, 5, 4))):
        x = rnd(*s)
        case(f"MaxPool{d}d", getattr(nn, f"MaxPool{d}d")(2), x)
        case(f"MaxPool{d}d/ceil", getattr(nn, f"MaxPool{d}d")(3, stride=2, padding=1, ceil_mode=True), x)
        case(f"AvgPool{d}d", getattr(nn, f"AvgPool{d}d")(2), x)
        case(f"AvgPool{d}d/ceil", getattr(nn, f"AvgPool{d}d")(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), x)
        case(f"LpPool{d}d", getattr(nn, f"LPPool{d}d")(3, 2), uni(0.1, 2, *s))
        case(f"AdaptiveAvgPool{d}d", getattr(nn, f"AdaptiveAvgPool{d}d")(3), x)
        case(f"AdaptiveAvgPool{d}d/one", getattr(nn, f"AdaptiveAvgPool{d}d")(1), x)
        case(f"AdaptiveMaxPool{d}d", getattr(nn, f"AdaptiveMaxPool{d}d")(3), x)
    case("MaxPool2d/dilation", nn.MaxPool2d((2, 3), stride=(1, 2), padding=(1, 0), dilation=(2, 1)), rnd(1, 2, 6, 7))
    case("AdaptiveAvgPool2d/even", nn.AdaptiveAvgPool2d((2, None)), rnd(1, 2, 6, 5))
    case("AdaptiveMaxPool2d/even", nn.AdaptiveMaxPool2d((2, 3)), rnd(1, 2, 6, 6))
    for name, m, s in (("", nn.BatchNorm1d(3), (4, 3)), ("/1d", nn.BatchNorm1d(2, momentum=0.3), (3, 2, 4)), ("/2d", nn.BatchNorm2d(2, eps=1e-3), (2, 2, 3, 4)),
                       ("/3d", nn.BatchNorm3d(2, affine=False), (2, 2, 2, 3, 2))):
        m.running_mean.copy_(rnd(s[1])), m.running_var.copy_(uni(0.5, 2, s[1]))
        x = rnd(*s)
        case("BatchNorm" + name + "/eval", m.eval(), x)
        case("BatchNorm" + name, m.train(), x)
    case("LayerNorm", nn.LayerNorm(5), rnd(2, 3, 5))
    case("LayerNorm/two", nn.LayerNorm((3, 4), eps=1e-3), rnd(2, 3, 4))
    case("LayerNorm/plain", nn.LayerNorm(4, elementwise_affine=False), rnd(3, 4))
    case("GroupNorm", nn.GroupNorm(2, 4), rnd(2, 4, 3, 2))
    case("InstanceNorm", nn.InstanceNorm2d(3, affine=True), rnd(2, 3, 3, 2))
    case("InstanceNorm/plain", nn.InstanceNorm1d(3), rnd(2, 3, 5))
    case("RMSNorm", nn.RMSNorm(5, eps=1e-5), rnd(2, 3, 5))
    case("LocalResponseNorm", nn.LocalResponseNorm(3), rnd(2, 5, 3) * 10)
    case("LocalResponseNorm/even", nn.LocalResponseNorm(2), rnd(1, 4, 2, 2) * 10)
    for name, c in (("Rnn", nn.RNN), ("Gru", nn.GRU), ("Lstm", nn.LSTM)):
        def flat(m):
            def f(x, *state):
                y, h = m(x, state if len(state) > 1 else state[0] if state else None)
                return [y, *h] if isinstance(h, tuple) else [y, h]
            return f
        state = lambda n: [rnd(n, 2, 3) for _ in range(2 if name == "Lstm" else 1)]
        m = c(4, 3, batch_first=True)
        case(name, flat(m), rnd(2, 5, 4), params=m)
        m = c(4, 3, num_layers=2, bidirectional=True)
        case(name + "/deep", flat(m), rnd(3, 2, 4), *state(4), params=m)
        m = c(2, 3, bias=False, batch_first=True, bidirectional=True)
        case(name + "/nobias", flat(m), rnd(2, 3, 2), params=m)
    m = nn.RNN(4, 3, nonlinearity="relu", batch_first=True)
    case("Rnn/relu", lambda x: list(m(x)), rnd(2, 4, 4), params=m)


def attention_cases():
    m = nn.MultiheadAttention(6, 2, batch_first=True)
    x, y = rnd(2, 4, 6), rnd(2, 3, 6)
    real = torch.tensor([[True, True, True, False], [True, True, False, False]])
    later = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    case("MultiHeadAttention", lambda x: m(x, x, x, need_weights=False)[0], x, params=m)
    case("MultiHeadAttention/cross", lambda q, k, v: list(m(q, k, v, average_attn_weights=False))[:1], y, x, rnd(2, 4, 6), params=m)
    case("MultiHeadAttention/memory", lambda q, k: m(q, k, k)[0], y, x, params=m)
    case("MultiHeadAttention/weights", lambda q, k: m(q, k, k, average_attn_weights=False)[1], y, x, params=m)
    case("MultiHeadAttention/keys", lambda x, k: m(x, x, x, key_padding_mask=~k)[0], x, real, params=m)
    case("MultiHeadAttention/causal", lambda x: m(x, x, x, attn_mask=later)[0], x, params=m)
    case("MultiHeadAttention/bias", lambda x, b: m(x, x, x, attn_mask=b)[0], x, rnd(4, 4), params=m)
    n = nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
    case("MultiHeadAttention/nobias", lambda x: n(x, x, x)[0], rnd(1, 3, 4), params=n)

    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.output = nn.Linear(4, 8), nn.Linear(5, 4), nn.Linear(5, 4), nn.Linear(8, 4)

        def forward(self, x, c):
            split = lambda t, h: t.unflatten(-1, (h, 2)).transpose(1, 2)
            y = F.scaled_dot_product_attention(split(self.query(x), 4), split(self.key(c), 2), split(self.value(c), 2), enable_gqa=True)
            return self.output(y.transpose(1, 2).flatten(2))

    case("CrossAttention", Cross(), rnd(2, 3, 4), rnd(2, 5, 5))
    e = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)
    case("TransformerEncoderLayer", e, rnd(2, 3, 4))
    e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation="gelu", batch_first=True, norm_first=True), 2,
                              norm=nn.LayerNorm(4), enable_nested_tensor=False)
    case("TransformerEncoder", lambda x: e(x, mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)), rnd(2, 3, 4), params=e)
    case("TransformerEncoder/keys", lambda x, k: e(x, src_key_padding_mask=~k), rnd(2, 4, 4), real, params=e)
    d = nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, batch_first=True)
    case("TransformerDecoderLayer", d, rnd(2, 3, 4), rnd(2, 4, 4))
    d = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, batch_first=True, norm_first=True), 2)
    case("TransformerDecoder", lambda x, c, k: d(x, c, tgt_mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), 1), memory_key_padding_mask=~k),
         rnd(2, 3, 4), rnd(2, 4, 4), real, params=d)


def other_cases():
    x1, x2 = rnd(1, 2, 5), rnd(1, 2, 3, 4)
    case("Interpolate1d", lambda x: F.interpolate(x, size=8), x1)
    case("Interpolate1d/linear", lambda x: F.interpolate(x, scale_factor=1.7, mode="linear"), x1)
    case("Interpolate2d", lambda x: F.interpolate(x, scale_factor=2), x2)
    case("Interpolate2d/linear", lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", align_corners=True), x2)
    case("Interpolate2d/cubic", lambda x: F.interpolate(x, scale_factor=(1.5, 2.0), mode="bicubic"), x2)
    case("PixelShuffle", nn.PixelShuffle(2), rnd(1, 8, 2, 3))
    case("PixelUnshuffle", nn.PixelUnshuffle(2), rnd(1, 2, 4, 6))
    case("Unfold4d", nn.Unfold((2, 3), stride=(1, 2), padding=1), rnd(1, 2, 4, 5))
    case("Fold4d", nn.Fold((4, 5), (2, 3), stride=(1, 2), padding=1), rnd(1, 12, 15))

    class Deform(nn.Module):
        """Deformable convolution v2 by bilinear samples of each tap (Zhu and others 2019)."""

        def __init__(self):
            super().__init__()
            self.weight, self.bias = nn.Parameter(rnd(3, 2, 2, 3)), nn.Parameter(rnd(3))

        def forward(self, x, offset, mask):
            stride, pad = 2, 1
            n, c, h, w = x.shape
            _, _, kh, kw = self.weight.shape
            oh, ow = offset.shape[2:]
            cols = []
            for g in range(2):
                for k in range(kh * kw):
                    dy, dx = offset[:, 2 * (g * kh * kw + k)], offset[:, 2 * (g * kh * kw + k) + 1]
                    y = torch.arange(oh).view(1, -1, 1) * stride - pad + k // kw + dy
                    z = torch.arange(ow).view(1, 1, -1) * stride - pad + k % kw + dx
                    at = torch.stack([2 * z / (w - 1) - 1, 2 * y / (h - 1) - 1], -1)
                    s = F.grid_sample(x[:, g * c // 2:(g + 1) * c // 2], at, align_corners=True)
                    cols.append(s * mask[:, g * kh * kw + k].unsqueeze(1))
            col = torch.stack(cols, 2).view(n, c // 2, 2, kh * kw, oh, ow).transpose(1, 2).reshape(n, c, kh, kw, oh, ow)
            return torch.einsum("nckloi,fckl->nfoi", col, self.weight) + self.bias.view(1, -1, 1, 1)

    case("DeformConv2d", Deform(), rnd(1, 2, 5, 6), rnd(1, 24, 3, 3) * 0.7, uni(0, 1, 1, 12, 3, 3))


def activation_cases():
    x = rnd(2, 4, 3) * 2
    for name, f in {
        "Relu": F.relu, "Relu6": lambda x: F.relu6(3 * x), "LeakyRelu": F.leaky_relu, "Elu": F.elu, "Celu": F.celu, "Selu": F.selu, "Gelu": F.gelu,
        "Gelu/tanh": lambda x: F.gelu(x, approximate="tanh"), "Silu": F.silu, "Mish": F.mish, "Sigmoid": torch.sigmoid, "LogSigmoid": F.logsigmoid,
        "HardSigmoid": F.hardsigmoid, "HardSwish": F.hardswish, "Tanh": torch.tanh, "HardTanh": F.hardtanh, "TanhShrink": F.tanhshrink,
        "Softplus": F.softplus, "Softsign": F.softsign, "HardShrink": F.hardshrink, "SoftShrink": F.softshrink,
        "Shrink": lambda x: torch.where(x < -0.5, x, torch.where(x > 0.5, x, torch.zeros(()))),
        "Threshold": lambda x: F.threshold(x, 0.1, 2.0), "ThresholdedRelu": lambda x: F.threshold(x, 1.0, 0.0), "RRelu/eval": lambda x: F.rrelu(x),
        "Softmax": lambda x: F.softmax(x, -1), "LogSoftmax": lambda x: F.log_softmax(x, 1),
    }.items():
        case(name, f, x)
    case("GLU", F.glu, rnd(3, 6))
    case("PRelu", nn.PReLU(), x)
    case("PRelu/channels", nn.PReLU(4), x)

    class SwiGLU(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(3, 5, bias=False), nn.Linear(3, 5, bias=False)

        def forward(self, x):
            return F.silu(self.inner(x)) * self.outer(x)

    case("SwiGLU", SwiGLU(), rnd(2, 3))


def rnnt(x, targets, t_len, u_len):
    """The lattice of the transducer, cell by cell (Graves 2012, equation 16), blank 0."""
    logp, out = F.log_softmax(x, -1), []
    for b in range(x.shape[0]):
        alpha = {(0, 0): torch.zeros(())}
        for t in range(t_len[b]):
            for u in range(u_len[b] + 1):
                ways = [alpha[t - 1, u] + logp[b, t - 1, u, 0]] if t else []
                ways += [alpha[t, u - 1] + logp[b, t, u - 1, targets[b, u - 1]]] if u else []
                if ways:
                    alpha[t, u] = torch.logsumexp(torch.stack(ways), 0)
        t, u = t_len[b] - 1, u_len[b]
        out.append(-(alpha[t.item(), u.item()] + logp[b, t, u, 0]))
    return torch.stack(out)


def loss_cases():
    a, b = rnd(3, 4), rnd(3, 4)
    sign, bits = torch.tensor([[1.0, -1, 1, -1], [-1, -1, 1, 1], [1, 1, -1, 1]]), torch.tensor([[1.0, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 1]])
    w4, label, map_label = uni(0.5, 2, 4), torch.tensor([2, 0, 3]), torch.tensor([[1, 3], [-100, 0], [2, 2]])
    for r in ("mean", "sum", "none"):
        end = "" if r == "mean" else "/" + r
        case("MSELoss" + end, lambda x, t: F.mse_loss(x, t, reduction=r), a, b)
        case("L1Loss" + end, lambda x, t: F.l1_loss(x, t, reduction=r), a, b)
        case("CrossEntropyLoss" + end, lambda x, t: F.cross_entropy(x, t, reduction=r), a, label)
        case("GaussianNLLLoss" + end, lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=r == "sum", reduction=r), a, b, uni(0.2, 2, 3, 4))
        case("MultiMarginLoss" + end, lambda x, t, w: F.multi_margin_loss(x, t, p=2 if r == "sum" else 1, weight=w if r == "none" else None, reduction=r), a, label, w4,
             const=(2,))
        case("SoftMarginLoss" + end, lambda x, t: F.soft_margin_loss(x, t, reduction=r), a, sign, const=(1,))
        case("LpLoss" + end, lambda x, t: {"mean": torch.mean, "sum": torch.sum, "none": lambda v: v}[r]((x - t).abs() ** 3), a, b)
        case("RNNTLoss" + end, lambda x, t, n, m: {"mean": torch.mean, "sum": torch.sum, "none": lambda v: v}[r](rnnt(x, t, n, m)),
             rnd(3, 4, 3, 5), torch.tensor([[1, 3], [2, 2], [4, 1]]), torch.tensor([4, 2, 3]), torch.tensor([2, 2, 1]))
    case("CrossEntropyLoss/options", lambda x, t, w: F.cross_entropy(x, t, weight=w, label_smoothing=0.2), rnd(3, 4, 2), map_label, w4, const=(2,))
    case("CrossEntropyLoss/soft", lambda x, t, w: F.cross_entropy(x, t, weight=w, label_smoothing=0.1), a, F.softmax(b, 1), w4, const=(1, 2))
    case("CrossEntropyLoss/probabilities", lambda x, t: F.nll_loss(x.log(), t), F.softmax(a, 1), label)
    case("NLLLoss", lambda x, t, w: F.nll_loss(x, t, weight=w, ignore_index=3), F.log_softmax(a, 1), label, w4, const=(2,))
    case("HuberLoss", lambda x, t: F.huber_loss(x, t, delta=0.7), a, b)
    case("SmoothL1Loss", lambda x, t: F.smooth_l1_loss(x, t, beta=0.7), a, b)
    case("BCELoss", lambda x, t, w: F.binary_cross_entropy(x, t, weight=w), uni(0.05, 0.95, 3, 4), bits, w4, const=(1, 2))
    case("BCELoss/logits", lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w), a, bits, w4, const=(1, 2))
    case("BCELoss/smooth", lambda x, t: F.binary_cross_entropy_with_logits(x, t * 0.8 + 0.1), a, bits, const=(1,))
    case("KLDivLoss", lambda x, t: F.kl_div(x, t), F.log_softmax(a, 1), F.softmax(b, 1), const=(1,))
    case("KLDivLoss/batchmean", lambda x, t: F.kl_div(x, t, reduction="batchmean", log_target=True), F.log_softmax(a, 1), F.log_softmax(b, 1), const=(1,))
    case("PoissonNLLLoss", lambda x, t: F.poisson_nll_loss(x, t), a, b.abs() * 3, const=(1,))
    case("PoissonNLLLoss/full", lambda x, t: F.poisson_nll_loss(x, t, log_input=False, full=True), a.abs() + 0.1, b.abs() * 3, const=(1,))
    case("HingeLoss", lambda x, t: (1 - x * t).clamp(min=0).mean(), a, sign, const=(1,))
    case("HingeEmbeddingLoss", lambda x, t: F.hinge_embedding_loss(x, t), a, sign, const=(1,))
    case("CosineEmbeddingLoss", lambda x, y, t: F.cosine_embedding_loss(x, y, t, margin=-0.2), a, b, torch.tensor([1.0, -1, -1]), const=(2,))
    case("MarginRankingLoss", lambda x, y, t: F.margin_ranking_loss(x, y, t, margin=0.3), a, b, sign, const=(2,))
    case("TripletMarginLoss", lambda x, y, z: F.triplet_margin_loss(x, y, z), a, b, rnd(3, 4))
    case("TripletMarginLoss/swap", lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=0.5, p=1, swap=True), a, b, rnd(3, 4))
    case("CTCLoss", lambda x, t, n, m: F.ctc_loss(F.log_softmax(x, 2), t, n, m), rnd(6, 2, 4), torch.tensor([[1, 2, 2], [3, 1, 1]]), torch.tensor([6, 5]),
         torch.tensor([3, 2]))

    def gram(x, y):
        g = lambda f: torch.einsum("nchw,ndhw->ncd", f, f) / f[0].numel()
        return ((g(x) - g(y)) ** 2).mean()

    case("GramMatrixLoss", lambda x, y, v, w: gram(x, v) + 0.5 * gram(y, w), rnd(2, 3, 2, 2), rnd(1, 2, 3, 2), rnd(2, 3, 2, 2), rnd(1, 2, 3, 2))


torch_cases()
attention_cases()
other_cases()
activation_cases()
loss_cases()
sys.stdout.write('{"cases":[\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + '\n],"values":[\n' + ",\n".join(values) + "\n]}\n")
