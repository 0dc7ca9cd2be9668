"""The shortest script that answers with PyTorch: cold_torch.py NAME INPUT.npy STATE."""

import sys

import numpy
import torch

import torch_models

m = torch_models.table[sys.argv[1]]()
m.load_state_dict(torch.load(sys.argv[3], weights_only=True))
m.eval()
with torch.inference_mode():
    print(m(torch.from_numpy(numpy.load(sys.argv[2]))).ravel()[:8], flush=True)
