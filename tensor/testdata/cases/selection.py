"""Cases of functions whose results have shapes that depend on the data."""

import numpy as np
import torch

from .base import case, i64, n, x
from .elementwise import img, row

# data-dependent shapes
case("ArgWhere", torch.argwhere(n > 5), n > 5)
case("NonZero", list(torch.nonzero(n > 5, as_tuple=True)), n > 5)
case("MaskSelect", torch.masked_select(x, row > 0), x, row > 0)
case("Compress", img[:, [True, False, True]], img, torch.tensor([True, False, True]))
rep = i64([[3, 1, 3], [2, 1, 3]])
uv, ux, un_, uc = np.unique(rep.numpy(), return_index=True, return_inverse=True, return_counts=True)
case("Unique", [uv, ux, uc, un_.reshape(2, 3)], rep)
