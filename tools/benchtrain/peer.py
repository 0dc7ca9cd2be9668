"""PyTorch as a contestant of tools/benchtrain: one JSON request a line on stdin, one JSON answer a line on stdout.

Started as: peer.py THREADS. The first line is {"version": ...}.

open: {"do": "open", "name": case, "params": {name: .npy}, "x": .npy, "y": .npy, "out": folder}
      -> {"loss": value, "grads": {name: .npy}}: loss and gradients with dropout off; then the case is current.
turn: {"do": "turn", "seconds": s} -> {"samples": [nanoseconds of one step, ...]}: training steps for about s.
Faults are {"error": text}.
"""

import json
import os
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F


class CNN(nn.Module):
    """The network of the Burn Book's guide."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.linear1, self.linear2 = nn.Linear(16 * 8 * 8, 512), nn.Linear(512, 10)
        self.dropout = nn.Dropout(0.5)

    def loss(self, x, y):
        x = self.dropout(self.conv1(x))
        x = F.relu(self.dropout(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, 8).flatten(1)
        x = F.relu(self.dropout(self.linear1(x)))
        return F.cross_entropy(self.linear2(x), y)


class Transformer(nn.Module):
    """A language model of characters, without dropout."""

    def __init__(self, pieces=65, size=256, layers=6, heads=8):
        super().__init__()
        self.embed = nn.Embedding(pieces, size)
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, dropout=0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(size), enable_nested_tensor=False)
        self.head = nn.Linear(size, pieces)

    def loss(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = self.encoder(self.embed(x), mask=mask, is_causal=True)
        return F.cross_entropy(self.head(x).flatten(0, 1), y.flatten())


def load(path):
    return torch.from_numpy(numpy.load(path))


class Contestant:
    def open(self, req):
        model = {"mnist_cnn": CNN, "transformer": Transformer}[req["name"]]()
        model.load_state_dict({k: load(p) for k, p in req["params"].items()})
        x, y = load(req["x"]), load(req["y"])
        model.eval()
        loss = model.loss(x, y)
        loss.backward()
        grads = {}
        for name, p in model.named_parameters():
            grads[name] = os.path.join(req["out"], name + ".npy")
            numpy.save(grads[name], p.grad.numpy())
        model.train()
        opt = torch.optim.Adam(model.parameters(), lr=1e-4)

        def step():
            opt.zero_grad()
            loss = model.loss(x, y)
            loss.backward()
            opt.step()
            return loss.item()

        self.step = step
        for _ in range(3):
            step()
        return {"loss": loss.item(), "grads": grads}

    def turn(self, req):
        samples, end = [], time.perf_counter() + req["seconds"]
        while True:
            start = time.perf_counter_ns()
            self.step()
            samples.append(time.perf_counter_ns() - start)
            if time.perf_counter() >= end:
                return {"samples": samples}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.set_num_interop_threads(1)
    print(json.dumps({"version": torch.__version__}), flush=True)
    c = Contestant()
    for line in sys.stdin:
        try:
            req = json.loads(line)
            answer = c.open(req) if req["do"] == "open" else c.turn(req)
        except Exception as e:  # the other side reports it
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
