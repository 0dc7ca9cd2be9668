"""PyTorch as a contestant of tools/benchtrain: one JSON request a line on stdin, one JSON answer a line on stdout.

Started as: peer.py THREADS DEVICE MODE, where MODE is eager, or default or reduce-overhead of torch.compile. The first line is
{"version": ...}.

open:  {"do": "open", "name": "chain", "size": n} -> {}: ten elementwise ops over n elements; or
       {"do": "open", "name": case, "params": {name: .npy}, "x": .npy, "y": .npy, "out": folder, "precision": "f32" or "bf16"}
       -> {"loss": value, "grads": {name: .npy}}: loss and gradients with dropout off, in f32 without TF32; then the case is current.
       With "gpt2": sizes, the parameters come from a counter; of more than 20 million, there are no gradients in the answer.
turn:  {"do": "turn", "seconds": s} -> {"samples": [nanoseconds of one step, ...], "processor": nanoseconds of processor time}: training
       steps for about s, each with a wait.
many:  {"do": "many", "steps": n} -> {"seconds": a step, "reserved": bytes, "allocated": bytes}: n steps with one wait.
curve: {"do": "curve", "tokens": .npy, "warmup": steps} -> {"losses": [...]}: a step on each batch, from the first weights; the rate rises
to that of open in the first steps.
Faults are {"error": text}.
"""

import contextlib
import json
import math
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

    def forward(self, x, y):
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

    def forward(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        x = self.encoder(self.embed(x), mask=mask, is_causal=True)
        return F.cross_entropy(self.head(x).flatten(0, 1), y.flatten())


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight, self.in_proj_bias = nn.Parameter(torch.zeros(3 * size, size)), nn.Parameter(torch.zeros(3 * size))
        self.out_proj = nn.Linear(size, size)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.heads, d // self.heads).transpose(1, 2) for t in F.linear(x, self.in_proj_weight, self.in_proj_bias).split(d, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(b, s, d))


class Layer(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.self_attn = Attention(size, heads)
        self.linear1, self.linear2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x)), approximate="tanh"))


class Encoder(nn.Module):
    def __init__(self, layers, size, heads):
        super().__init__()
        self.layers = nn.ModuleList(Layer(size, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class GPT2(nn.Module):
    """GPT-2 with the parameter names of burn's nn/gpt2; the output shares the weights of the embedding."""

    def __init__(self, layers, heads, size, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, size), nn.Embedding(context, size)
        self.encoder = Encoder(layers, size, heads)
        self.depth = layers

    def forward(self, x, y):
        h = self.tokens(x) + self.positions.weight[: x.shape[1]]
        scores = F.linear(self.encoder(h), self.tokens.weight)
        return F.cross_entropy(scores.flatten(0, 1), y.flatten())

    @torch.no_grad()
    def count(self):
        """Sets the parameters as newGPT2 of model.go does."""
        for name, p in self.named_parameters():
            if p.dim() < 2:
                p.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
                continue
            scale = 0.02 * math.sqrt(3)
            if name.endswith(("out_proj.weight", "linear2.weight")):
                scale /= math.sqrt(2 * self.depth)
            p.copy_(torch.from_numpy(counted(name, p.numel(), scale).reshape(p.shape)))


def counted(name, n, scale):
    h = 0x811C9DC5  # FNV-1a
    for c in name.encode():
        h = (h ^ c) * 0x01000193 & 0xFFFFFFFF
    out = numpy.empty(n, numpy.float32)
    step = 1 << 22
    for at in range(0, n, step):
        m = min(step, n - at)
        u = numpy.arange(at, at + m, dtype=numpy.uint64) + h
        u = u.astype(numpy.uint32)
        u ^= u >> 16
        u *= numpy.uint32(0x85EBCA6B)
        u ^= u >> 13
        u *= numpy.uint32(0xC2B2AE35)
        u ^= u >> 16
        out[at : at + m] = numpy.float32(scale) * ((u >> 8).astype(numpy.float32) * numpy.float32(1 / (1 << 23)) - numpy.float32(1))
    return out


def load(path):
    return torch.from_numpy(numpy.load(path)).to(device)


class Contestant:
    def make(self, req):
        if "gpt2" in req:
            model = GPT2(**req["gpt2"])
            model.count()
        else:
            model = Transformer() if req["name"] == "transformer" else CNN()
            model.load_state_dict({k: torch.from_numpy(numpy.load(p)) for k, p in req["params"].items()})
        return model.to(device)

    def gradients(self, req):
        """Loss and gradients with dropout off, in f32 proper."""
        model = self.make(req)
        if sum(p.numel() for p in model.parameters()) > 20_000_000:
            return {"loss": 0.0}
        model.eval()
        was = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = False
        loss = model(self.x, self.y)
        loss.backward()
        torch.backends.cudnn.allow_tf32 = was
        grads = {}
        for name, p in model.named_parameters():
            grads[name] = os.path.join(req["out"], name + ".npy")
            numpy.save(grads[name], p.grad.cpu().numpy())
        return {"loss": loss.item(), "grads": grads}

    def open(self, req):
        if req["name"] == "chain":
            return self.chain(req["size"])
        self.x, self.y, self.req = load(req["x"]), load(req["y"]), req
        answer = self.gradients(req)
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        self.start()
        return answer

    def chain(self, size):
        """Ten elementwise ops in a row."""
        x = torch.rand(size)

        def step(*_):
            return (torch.relu(-torch.sqrt(torch.abs(x * 2 + 1))) + 3).mul(0.5).square().sub(1)[:1]

        self.x, self.y, self.step, self.warm = x, x, step, 0
        return {}

    def start(self):
        """The model with its first weights, and a step that gives the loss as a tensor."""
        req, model = self.req, self.make(self.req)
        model.train()
        run = model if mode == "eager" else torch.compile(model, mode=None if mode == "default" else mode)
        fused = {"fused": True} if device.type == "cuda" else {}
        if "decay" in req:
            opt = torch.optim.AdamW(model.parameters(), lr=req["lr"], betas=(0.9, 0.95), weight_decay=req["decay"], **fused)
        else:
            opt = torch.optim.Adam(model.parameters(), lr=1e-4, **fused)

        def cast():
            return torch.autocast(device.type, torch.bfloat16) if req["precision"] == "bf16" else contextlib.nullcontext()

        def step(x, y):
            opt.zero_grad(set_to_none=True)
            with cast():
                loss = run(x, y)
            loss.backward()
            opt.step()
            return loss

        self.step, self.warm, self.opt = step, 0, opt

    def warmed(self):
        while self.warm < 5:
            self.step(self.x, self.y).item()
            self.warm += 1

    def turn(self, req):
        self.warmed()
        samples, end, before = [], time.perf_counter() + req["seconds"], time.process_time_ns()
        while True:
            start = time.perf_counter_ns()
            self.step(self.x, self.y).item()
            samples.append(time.perf_counter_ns() - start)
            if time.perf_counter() >= end:
                return {"samples": samples, "processor": time.process_time_ns() - before}

    def many(self, req):
        self.warmed()
        wait()
        start = time.perf_counter()
        for _ in range(req["steps"]):
            self.step(self.x, self.y)
        wait()
        answer = {"seconds": (time.perf_counter() - start) / req["steps"], "reserved": 0, "allocated": 0}
        if device.type == "cuda":
            answer["reserved"], answer["allocated"] = torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()
        return answer

    def curve(self, req):
        tokens = numpy.load(req["tokens"])
        losses, rate = [], self.opt.param_groups[0]["lr"]
        for i in range(0, len(tokens), 2):
            self.opt.param_groups[0]["lr"] = rate * min(1, (i // 2 + 1) / max(1, req["warmup"]))
            x, y = (torch.from_numpy(t.astype(numpy.int64)).to(device) for t in tokens[i : i + 2])
            losses.append(self.step(x, y).detach().clone())
        self.opt.param_groups[0]["lr"] = rate
        return {"losses": [v.item() for v in losses]}


def wait():
    if device.type == "cuda":
        torch.cuda.synchronize()


def main():
    global device, mode
    device, mode = torch.device(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(int(sys.argv[1]))
    torch.set_num_interop_threads(1)
    print(json.dumps({"version": torch.__version__}), flush=True)
    c = Contestant()
    for line in sys.stdin:
        try:
            req = json.loads(line)
            answer = getattr(c, {"open": "open", "turn": "turn", "many": "many", "curve": "curve"}[req["do"]])(req)
        except Exception as e:  # the other side reports it
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
