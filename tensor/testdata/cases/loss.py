"""Cases of losses."""

import torch
import torch.nn.functional as F

from .base import case, i64, pos, rnd, uni, x, y

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
