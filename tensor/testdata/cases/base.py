"""What the lists of cases share: how a case is written down, the generator of random numbers, and common operands."""

import json
import math
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
gen = torch.Generator().manual_seed(20240607)
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool", torch.uint8: "u8"}
cases = []
values = {}  # tensors that cases share are written once


def num(v):
    if isinstance(v, bool):
        return v
    if isinstance(v, float):
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
    return v


def enc(t):
    if isinstance(t, np.ndarray) or np.isscalar(t):
        t = torch.from_numpy(np.array(t))
    t = t.detach().contiguous()
    v = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": [num(v) for v in t.flatten().tolist()]}
    return values.setdefault(json.dumps(v, separators=(",", ":")), len(values))


def case(name, out, *ins):
    outs = out if isinstance(out, (list, tuple)) else [out]
    cases.append({"name": name, "in": [enc(i) for i in ins], "out": [enc(o) for o in outs]})


def rnd(*s):
    return torch.randn(*s, generator=gen)


def uni(lo, hi, *s):
    return lo + (hi - lo) * torch.rand(*s, generator=gen)


def ints(lo, hi, *s):
    return torch.randint(lo, hi, s, generator=gen)


def i64(*v):
    return torch.tensor(v if len(v) != 1 or not isinstance(v[0], list) else v[0], dtype=torch.int64)


inf, nan = math.inf, math.nan
x, y = rnd(2, 3), rnd(2, 3)
odd = torch.tensor([-inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, inf, nan])
pos = uni(0.1, 4, 2, 3)
unit = uni(-0.9, 0.9, 2, 3)
far = uni(1.1, 9, 2, 3)
n, m = ints(-20, 20, 3, 4), ints(1, 9, 3, 4)
