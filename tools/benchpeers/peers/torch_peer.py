"""PyTorch as a contestant: {"op": name, "attrs": {...}, "copied": bool, "inputs": [paths of .npy]}, or {"model": name,
"inputs": {name: path}}. Eager, in inference mode."""

import numpy
import torch

import peer
import torch_models
import torch_ops

version = torch.__version__


class Torch(peer.Peer):
    def prepare(self, req):
        if req.get("model"):
            m = torch_models.build(req["model"])
            args = [torch.from_numpy(numpy.load(p)) for p in req["inputs"].values()]
            return lambda: m(*args)
        f = torch_ops.table[req["op"]](req["attrs"])
        args = [torch.from_numpy(numpy.load(p)) for p in req["inputs"]]
        if req.get("copied"):
            return lambda: f(*args).contiguous()
        return lambda: f(*args)

    def arrays(self, result):
        return [t.numpy() for t in (result if isinstance(result, (tuple, list)) else [result])]


def make(threads, out):
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(threads)
    p = Torch(out)
    p.mode = torch.inference_mode()  # for as long as the process lives
    p.mode.__enter__()
    return p
