"""Cases of the layers of networks: convolution, pooling, normalization, attention and recurrent ones."""

import math
import torch
import torch.nn.functional as F

from .base import case, gen, i64, rnd, uni, x
from .elementwise import img
from .movement import idx
from .linear import ma

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
