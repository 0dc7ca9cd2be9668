"""Cases of functions that reduce, scan, sort and search."""

import numpy as np
import torch
import torch.nn.functional as F

from .base import case, inf, n, x, y
from .elementwise import img

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
