"""Writes golden_torch.json: losses, linear algebra, spectra, grids and resampling by PyTorch, in the corners where definitions differ.

Run with torch installed:  python gen_torch.py > golden_torch.json
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool"}
cases = []


def number(v):
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, float):
        return v if math.isfinite(v) else "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    return v


def tensor(a):
    if a.is_complex():
        a = torch.view_as_real(a)
    return {"dtype": NAMES[a.dtype], "shape": list(a.shape), "data": [number(v) for v in a.flatten().tolist()]}


def case(op, ins, outs, **attrs):
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    cases.append({"op": op, "attrs": attrs, "inputs": [tensor(a) for a in ins], "outputs": [tensor(a) for a in outs]})


def single(op, ins, outs, **attrs):
    """A case computed in f64 on f32 operands: zeros need not be exact."""
    case(op, [a.float() for a in ins], outs.float(), **attrs)


x, t = torch.randn(4, 5, 3), torch.randint(0, 5, (4, 3))
w = torch.rand(5) + 0.1
t[0, 0] = t[2, 1] = 2
for r in "mean", "sum", "none":
    case("nll_loss", [x, t, w], F.nll_loss(x, t, w, ignore_index=2, reduction=r), ignore_index=2, reduction=r)
    for e in 0.0, 0.3:
        case("cross_entropy_loss", [x, t, w], F.cross_entropy(x, t, w, ignore_index=2, label_smoothing=e, reduction=r),
             ignore_index=2, label_smoothing=e, reduction=r)
    case("cross_entropy_loss", [x, t], F.cross_entropy(x, t, label_smoothing=0.2, reduction=r), label_smoothing=0.2, reduction=r)
none = torch.full((4, 3), -100)
case("nll_loss", [x, none], F.nll_loss(x, none))  # nothing counts: NaN
case("nll_loss", [x, none], F.nll_loss(x, none, reduction="sum"), reduction="sum")

a, b, c = torch.randn(4, 6), torch.randn(4, 6), torch.randn(4, 6)
unit = torch.rand(4, 6)
signs = torch.where(torch.randn(4, 6) > 0, 1.0, -1.0)
for r in "mean", "none":
    case("huber_loss", [a, b], F.huber_loss(a, b, delta=0.7, reduction=r), delta=0.7, reduction=r)
    case("smooth_l1_loss", [a, b], F.smooth_l1_loss(a, b, beta=0.7, reduction=r), beta=0.7, reduction=r)
    case("bce_loss", [unit, unit.round()], F.binary_cross_entropy(unit, unit.round(), reduction=r), reduction=r)
    case("bce_with_logits_loss", [100 * a, unit, w[:1]], F.binary_cross_entropy_with_logits(100 * a, unit, pos_weight=w[:1], reduction=r), reduction=r)
    case("kl_div_loss", [a, unit.round()], F.kl_div(a, unit.round(), reduction=r), reduction=r)
    case("kl_div_loss", [a, b], F.kl_div(a, b, reduction=r, log_target=True), reduction=r, log_target=True)
    case("poisson_nll_loss", [a, 3 * unit], F.poisson_nll_loss(a, 3 * unit, full=True, reduction=r), full=True, reduction=r)
    case("poisson_nll_loss", [unit, 3 * unit], F.poisson_nll_loss(unit, 3 * unit, log_input=False, reduction=r), log_input=False, reduction=r)
    case("cosine_embedding_loss", [a, b, signs[:, 0]], F.cosine_embedding_loss(a, b, signs[:, 0], margin=0.1, reduction=r), margin=0.1, reduction=r)
    case("hinge_embedding_loss", [a, signs], F.hinge_embedding_loss(a, signs, margin=0.8, reduction=r), margin=0.8, reduction=r)
    case("margin_ranking_loss", [a, b, signs], F.margin_ranking_loss(a, b, signs, margin=0.2, reduction=r), margin=0.2, reduction=r)
    for p in 1.0, 2.0, 3.0:
        case("triplet_margin_loss", [a, b, c], F.triplet_margin_loss(a, b, c, margin=0.5, p=p, swap=p > 2, reduction=r),
             margin=0.5, p=p, swap=p > 2, reduction=r)
logs = torch.randn(7, 3, 5).log_softmax(2)
targets, lengths, wanted = torch.tensor([[1, 1, 3, 4], [2, 3, 0, 0], [1, 1, 1, 1]]), torch.tensor([7, 5, 4]), torch.tensor([4, 2, 4])
for r in "mean", "sum", "none":  # the last one has no alignment
    for zero in False, True:
        case("ctc_loss", [logs, targets, lengths, wanted], F.ctc_loss(logs, targets, lengths, wanted, reduction=r, zero_infinity=zero),
             reduction=r, zero_infinity=zero)

m = torch.randn(2, 4, 4)
singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
for s in m, -m, singular, torch.zeros(2, 2):
    case("slogdet", [s], list(torch.linalg.slogdet(s)))
case("det", [m], torch.linalg.det(m))
tall = torch.randn(5, 3)
case("pinv", [tall], torch.linalg.pinv(tall))
case("pinv", [tall.T.contiguous()], torch.linalg.pinv(tall.T.contiguous()))
case("pinv", [singular], torch.linalg.pinv(singular))
case("pinv", [torch.zeros(2, 3)], torch.linalg.pinv(torch.zeros(2, 3)))
for o in "fro", "nuc", "2", "-2", "1", "-1", "inf", "-inf":
    case("matrix_norm", [tall], torch.linalg.matrix_norm(tall, o if o in ("fro", "nuc") else float(o)), ord=o)
case("cholesky", [m[0] @ m[0].T + 4 * torch.eye(4)], torch.linalg.cholesky(m[0] @ m[0].T + 4 * torch.eye(4)))

signal, window = torch.randn(2, 40).float().double(), torch.hann_window(10).float().double()
for center in True, False:
    for onesided in True, False:
        single("stft", [signal, window], torch.view_as_real(torch.stft(signal, 16, 5, win_length=10, window=window, center=center, onesided=onesided, return_complex=True)
             .transpose(1, 2).contiguous()), n_fft=16, hop=5, center=center, onesided=onesided)
for periodic in True, False:
    for name, f in dict(hann_window=torch.hann_window, hamming_window=torch.hamming_window, blackman_window=torch.blackman_window).items():
        single(name, [], f(9, periodic=periodic), size=9, periodic=periodic)
    case("kaiser_window", [], torch.kaiser_window(9, periodic=periodic, beta=8.0), size=9, periodic=periodic, beta=8.0, dtype="f64")

image, theta = torch.randn(2, 2, 4, 5), torch.randn(2, 2, 3)
for align in True, False:
    grid = F.affine_grid(theta, [2, 2, 3, 1], align_corners=align)
    case("affine_grid", [theta], grid, size=[3, 1], align_corners=align)
    grid = 1.5 * torch.randn(2, 3, 3, 2)
    for mode, theirs in dict(linear="bilinear", nearest="nearest", cubic="bicubic").items():
        for padding in "zeros", "border", "reflection":
            case("grid_sample", [image, grid], F.grid_sample(image, grid, theirs, padding, align), mode=mode, padding=padding, align_corners=align)
flat = torch.randn(5, 9)
case("covariance", [flat], torch.cov(flat))
case("corrcoef", [flat], torch.corrcoef(flat))
case("cosine_similarity", [a, b], F.cosine_similarity(a, b, 1), axis=1)
case("cosine_similarity", [a, 0 * b], F.cosine_similarity(a, 0 * b, 1), axis=1)
case("local_response_norm", [image], F.local_response_norm(image, 3, 0.5, 0.6, 1.5), size=3, alpha=0.5, beta=0.6, bias=1.5)
for mode in "linear", "lower", "higher", "midpoint", "nearest":
    q = [0.0, 0.1, 0.5, 0.77, 1.0]
    case("quantile", [flat], torch.quantile(flat, torch.tensor(q), 1, interpolation=mode), q=q, axes=[1], interpolation=mode)


def attention_gradient(q, k, v, mask=None, window=0, past=0, scale=0.0, softcap=0.0, causal=False):
    """Of attention by its definition, with gradients by autograd."""
    q, k, v = (a.requires_grad_() for a in (q, k, v))
    share = q.shape[1] // k.shape[1]
    s = q @ k.repeat_interleave(share, 1).mT * (scale or q.shape[3] ** -0.5)
    s = torch.tanh(s / softcap) * softcap if softcap else s
    ahead = torch.arange(k.shape[2]) - torch.arange(q.shape[2])[:, None] - past
    seen = torch.ones(s.shape, dtype=torch.bool)
    seen = seen & (ahead <= 0) if causal else seen
    seen = seen & (ahead.abs() < window) if window else seen
    if mask is not None and mask.dtype == torch.bool:
        seen = seen & mask
    elif mask is not None:
        s = s + mask
    some = seen.any(-1, keepdim=True)  # where there is none the result is 0
    y = s.masked_fill(~seen & some, -math.inf).softmax(-1) * some @ v.repeat_interleave(share, 1)
    dy = torch.randn(y.shape)
    grads = torch.autograd.grad(y, (q, k, v), dy)
    attrs = {n: a for n, a in dict(window=window, past=past, scale=scale, softcap=softcap, causal=causal).items() if a}
    ins = [a.detach() for a in (q, k, v, y, dy)] + ([] if mask is None else [mask])
    case("attention_gradient", ins, list(grads), **attrs)


def heads(share=1):
    return [torch.randn(2, 2 * share, 3, 6), torch.randn(2, 2, 5, 6), torch.randn(2, 2, 5, 4)]


attention_gradient(*heads())
attention_gradient(*heads(2), causal=True, past=1, scale=0.7)
attention_gradient(*heads(), softcap=1.5, mask=torch.randn(2, 3, 5))
attention_gradient(*heads(2), window=2, past=1, mask=torch.rand(3, 5) < 0.7)
attention_gradient(*heads(), causal=True, past=-1)  # the first query sees no key

json.dump(cases, sys.stdout, separators=(",", ":"))
