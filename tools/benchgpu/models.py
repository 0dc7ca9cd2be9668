"""PyTorch's side of `burn bench model` for light_resnet50: the same network with random weights, which cost the same time.

    models.py --device cuda --batches 1,64 [--json FILE]

A run is from inputs on the device until the result is in host memory, as burn counts it. f32 is PyTorch's default, with TF32 in convolutions;
f32-exact is without; bf16 is the model cast to bf16, autocast is torch.autocast."""

import argparse
import contextlib
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, cin, mid, stride):
        super().__init__()
        out = 4 * mid
        self.c1, self.b1 = nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.c2, self.b2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.c3, self.b3 = nn.Conv2d(mid, out, 1, bias=False), nn.BatchNorm2d(out)
        self.short = nn.Sequential(nn.Conv2d(cin, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride > 1 or cin != out else None

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        y = F.relu(self.b2(self.c2(y)))
        y = self.b3(self.c3(y))
        return F.relu(y + (x if self.short is None else self.short(x)))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, cin = [], 64
        for mid, n, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(n):
                blocks.append(Block(cin, mid, stride if i == 0 else 1))
                cin = 4 * mid
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(2048, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return torch.softmax(self.head(self.blocks(x).mean((2, 3))), 1)


def measure(run, seconds):
    for _ in range(5):
        run()
    samples, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples) < 5:
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e3)
    samples.sort()
    return samples[len(samples) // 2], samples[0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cuda")
    p.add_argument("--batches", default="1,64")
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--types", default="f32,bf16,autocast,f32-exact")
    p.add_argument("--modes", default="eager,default,reduce-overhead")
    p.add_argument("--size", type=int, default=224)
    p.add_argument("--json")
    a = p.parse_args()
    device = torch.device(a.device)
    torch.manual_seed(0)
    out = open(a.json, "w") if a.json else None
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if device.type == 'cuda' else 'cpu'}")
    print("| batch | type | mode | median, ms | best, ms |\n|---:|---|---|---:|---:|", flush=True)
    for batch in map(int, a.batches.split(",")):
        for kind in a.types.split(","):
            torch.backends.cudnn.allow_tf32 = kind != "f32-exact"
            model = ResNet50().eval().to(device, memory_format=torch.channels_last)
            x = torch.rand(batch, 3, a.size, a.size, device=device).to(memory_format=torch.channels_last)
            if kind == "bf16":
                model, x = model.bfloat16(), x.bfloat16()
            for mode in a.modes.split(","):
                row = {"batch": batch, "type": kind, "mode": mode}
                try:
                    f = model if mode == "eager" else torch.compile(model, mode=None if mode == "default" else mode)
                    cast = (lambda: torch.autocast(device.type, torch.bfloat16)) if kind == "autocast" else contextlib.nullcontext

                    def run():
                        with torch.inference_mode(), cast():
                            return f(x).float().cpu()

                    row["ms"], row["best_ms"] = measure(run, a.seconds)
                    print(f"| {batch} | {kind} | {mode} | {row['ms']:.3f} | {row['best_ms']:.3f} |", flush=True)
                except Exception as e:
                    row["error"] = f"{type(e).__name__}: {e}"[:300]
                    print(f"| {batch} | {kind} | {mode} | failed: {row['error'][:80]} | |", flush=True)
                if out:
                    print(json.dumps(row), file=out, flush=True)
                torch.compiler.reset()


main()
