"""Writes trajectories.json: parameters after each of 50 steps of optimisers, and sequences of schedulers, in float64.

    python trajectories.py > trajectories.json

Versions: PyTorch 2.15.0, NumPy 2.4.6. Optimisers that PyTorch lacks are transcribed from the papers in NumPy: Lion from
algorithm 2 of arXiv 2302.06675, Adan from algorithm 1 of arXiv 2208.06677 with the bias corrections of the authors' code.
PyTorch's Muon iterates in bfloat16; its source runs here with that word replaced by float64.

Gradients are not those of a model but g(p, t) = sin(3 p + 0.37 t) * a + 0.3 p with fixed arrays a, so that
a test in any language can compute them.
"""
import inspect, json, sys
import numpy as np
import torch
from torch.optim import _muon

torch.set_default_dtype(torch.float64)
source = inspect.getsource(_muon._zeropower_via_newtonschulz).replace("torch.bfloat16", "torch.float64")
exec(source, _muon.__dict__)

STEPS = 50
SHAPES = {"matrix": (4, 3), "wide": (2, 5), "vector": (6,)}
rng = np.random.default_rng(7)
START = {n: rng.normal(size=s).round(3) for n, s in SHAPES.items()}
SCALE = {n: rng.uniform(0.2, 2, size=s).round(3) for n, s in SHAPES.items()}


def grad(p, a, t):
    return np.sin(3 * p + 0.37 * t) * a + 0.3 * p


def run_torch(make, names):
    ps = {n: torch.nn.Parameter(torch.tensor(START[n])) for n in names}
    opt = make(list(ps.values()))
    out = []
    for t in range(STEPS):
        for n, p in ps.items():
            p.grad = torch.tensor(grad(p.detach().numpy(), SCALE[n], t))
        opt.step()
        if t in KEEP:
            out.append({n: p.detach().numpy().ravel().tolist() for n, p in ps.items()})
    return out


def run_numpy(make, names):
    out = [dict() for _ in KEEP]
    for n in names:
        p, update = START[n].copy(), make()
        for t in range(STEPS):
            p = update(p, grad(p, SCALE[n], t), t + 1)
            if t in KEEP:
                out[KEEP.index(t)][n] = p.ravel().tolist()
    return out


KEEP = [0, 1, 2, 4, 9, 19, 34, 49]


def lion(lr, b1, b2, wd):
    m = 0.0

    def update(p, g, t):
        nonlocal m
        c = b1 * m + (1 - b1) * g
        m = b2 * m + (1 - b2) * g
        return p - lr * (np.sign(c) + wd * p)

    return update


def adan(lr, b1, b2, b3, eps, wd, decoupled):
    m = v = n = 0.0
    before = None

    def update(p, g, t):
        nonlocal m, v, n, before
        d = np.zeros_like(g) if before is None else g - before
        before = g
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * d
        n = b3 * n + (1 - b3) * (g + b2 * d) ** 2
        root = np.sqrt(n / (1 - b3**t)) + eps
        step = lr * (m / (1 - b1**t) + b2 * v / (1 - b2**t)) / root
        return p * (1 - lr * wd) - step if decoupled else (p - step) / (1 + lr * wd)

    return update


ALL, O = list(SHAPES), torch.optim
MATRICES = ["matrix", "wide"]
trajectories = {
    "sgd": run_torch(lambda p: O.SGD(p, lr=0.05), ALL),
    "sgd_momentum": run_torch(lambda p: O.SGD(p, lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.01), ALL),
    "sgd_nesterov": run_torch(lambda p: O.SGD(p, lr=0.05, momentum=0.8, nesterov=True), ALL),
    "adam": run_torch(lambda p: O.Adam(p, lr=0.02, weight_decay=0.03), ALL),
    "adam_amsgrad": run_torch(lambda p: O.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6, amsgrad=True), ALL),
    "adamw": run_torch(lambda p: O.AdamW(p, lr=0.02, weight_decay=0.1), ALL),
    "adagrad": run_torch(lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.02, weight_decay=0.01, initial_accumulator_value=0.1), ALL),
    "rmsprop": run_torch(lambda p: O.RMSprop(p, lr=0.01, weight_decay=0.01), ALL),
    "rmsprop_centered": run_torch(lambda p: O.RMSprop(p, lr=0.01, alpha=0.9, momentum=0.7, centered=True, eps=1e-4), ALL),
    "adafactor": run_torch(lambda p: O.Adafactor(p, lr=0.05, weight_decay=0.02), ALL),
    "muon": run_torch(lambda p: O.Muon(p, lr=0.02, weight_decay=0.1), MATRICES),
    "muon_match": run_torch(lambda p: O.Muon(p, lr=0.01, weight_decay=0, nesterov=False, momentum=0.9, adjust_lr_fn="match_rms_adamw"), MATRICES),
    "lion": run_numpy(lambda: lion(0.01, 0.9, 0.99, 0.1), ALL),
    "adan": run_numpy(lambda: adan(0.02, 0.98, 0.92, 0.99, 1e-8, 0.05, False), ALL),
    "adan_decoupled": run_numpy(lambda: adan(0.02, 0.9, 0.8, 0.95, 1e-6, 0.05, True), ALL),
}


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def wavy(x):
    """Has many minima, so that line searches have to narrow down."""
    return (0.05 * x**2 + torch.sin(5 * x) + (x**2 + 0.001).sqrt()).sum() + 0.1 * x.sum() ** 2


def lbfgs(steps, f=rosenbrock, **options):
    """f of 4 numbers, in two parameters."""
    a, b = torch.nn.Parameter(torch.tensor([-1.2, 1.0])), torch.nn.Parameter(torch.tensor([0.7, -0.4]))
    opt = O.LBFGS([a, b], **options)

    def closure():
        opt.zero_grad()
        x = torch.cat([a, b])
        loss = f(x)
        loss.backward()
        return loss

    out = []
    for _ in range(steps):
        loss = opt.step(closure)
        out.append({"loss": float(loss), "x": torch.cat([a, b]).tolist()})
    return out


S = O.lr_scheduler


def rates(make, n=40, lr=0.5):
    opt = O.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    s = make(opt)
    out = []
    for _ in range(n):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        s.step()
    return out


METRIC = [1, 0.9, 0.8, 0.81, 0.82, 0.79995, 0.83, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]


def plateau(**options):
    opt = O.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    s = S.ReduceLROnPlateau(opt, **options)
    out = []
    for m in METRIC:
        s.step(m if options.get("mode", "min") == "min" else -m + 2)
        out.append(opt.param_groups[0]["lr"])
    return out


def noam(t, factor=2.0, size=64, warmup=10):
    return factor * size**-0.5 * min(t**-0.5, t * warmup**-1.5)


def chain(o):
    return S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 8), S.ExponentialLR(o, 0.9)], milestones=[8])


schedules = {
    "constant": rates(lambda o: S.LambdaLR(o, lambda t: 1)),
    "linear": rates(lambda o: S.LinearLR(o, 0.25, 0.75, 10)),
    "exponential": rates(lambda o: S.ExponentialLR(o, 0.9)),
    "step": rates(lambda o: S.StepLR(o, 7, 0.3)),
    "multi_step": rates(lambda o: S.MultiStepLR(o, [3, 9, 9, 30], 0.5)),
    "cosine": rates(lambda o: S.CosineAnnealingLR(o, 15, 0.05)),
    "restarts": rates(lambda o: S.CosineAnnealingWarmRestarts(o, 5, 2, 0.05)),
    "restarts_equal": rates(lambda o: S.CosineAnnealingWarmRestarts(o, 6)),
    "one_cycle": rates(lambda o: S.OneCycleLR(o, 0.5, total_steps=41)),
    "one_cycle_three": rates(lambda o: S.OneCycleLR(o, 0.5, total_steps=41, three_phase=True, anneal_strategy="linear", pct_start=0.4, div_factor=10, final_div_factor=100)),
    "noam": [noam(t + 1) for t in range(40)],
    "product": rates(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, 6), S.ExponentialLR(o, 0.9)])),
    "sequence": rates(chain),
    "plateau": plateau(patience=2),
    "plateau_max": plateau(mode="max", patience=1, threshold=0.02, threshold_mode="abs", cooldown=3, factor=0.5, min_lr=0.1),
}

json.dump({"shapes": SHAPES, "start": {n: v.ravel().tolist() for n, v in START.items()}, "scale": {n: v.ravel().tolist() for n, v in SCALE.items()},
           "keep": KEEP, "trajectories": trajectories, "schedules": schedules, "metric": METRIC,
           "lbfgs": {"wolfe": lbfgs(6, line_search_fn="strong_wolfe", max_iter=8, history_size=5), "fixed": lbfgs(4, lr=0.01, max_iter=12),
                     "far": lbfgs(5, lr=40, line_search_fn="strong_wolfe", max_iter=12, history_size=4),
                     **{f"wavy_{lr}": lbfgs(4, wavy, lr=lr, line_search_fn="strong_wolfe", max_iter=10, max_eval=40, history_size=4) for lr in (1, 7, 30)}}},
          sys.stdout)
