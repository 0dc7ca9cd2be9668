"""Writes scaler.json: training of a small network under torch.amp.GradScaler, step for step.

    python scaler.py > scaler.json

Version: PyTorch 2.15.0, on the processor. Batches and starting weights are sines of their indices, so that a test in any
language can compute them; targets of the steps in PLANTED are multiplied by 1e36 (f32) or 60000 (f16), so that gradients
overflow.
"""
import json, math
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
STEPS, INTERVAL, PLANTED = 40, 5, [6, 13, 14, 27]


def wave(*shape, a, b):
    n = math.prod(shape)
    return torch.sin(torch.arange(n, dtype=torch.float64) * a + b).to(torch.float32).reshape(shape)


def run(precision, optimizer, clip, initial):
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(0.5 * wave(*p.shape, a=1.7, b=i))
    opt = (torch.optim.AdamW(net.parameters(), lr=0.03, weight_decay=0.1) if optimizer == "adamw"
           else torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9))
    scaler = torch.amp.GradScaler("cpu", init_scale=initial, growth_interval=INTERVAL)
    steps = []
    for t in range(STEPS):
        x, y = wave(16, 4, a=0.9, b=t), wave(16, 1, a=1.3, b=2 * t)
        if t in PLANTED:
            y = y * (1e36 if precision == "f32" else 60000)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=precision == "f16"):
            out = net(x)
        loss = torch.nn.functional.mse_loss(out.float(), y)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        before = net[0].weight.detach().clone()
        scaler.step(opt)
        scaler.update()
        steps.append({"scale": scaler.get_scale(), "good": scaler._get_growth_tracker(),
                      "skipped": bool(torch.equal(before, net[0].weight.detach())),
                      "params": [[round(v, 6) for v in p.detach().flatten().tolist()] for p in net.parameters()]})
    return steps


print(json.dumps({"steps": STEPS, "interval": INTERVAL, "planted": PLANTED, "runs": [
    {"precision": p, "optimizer": o, "clip": c, "initial": i, "steps": run(p, o, c, i)}
    for p, o, c, i in [("f32", "adamw", 0, 65536.0), ("f32", "sgd", 0.5, 65536.0), ("f16", "adamw", 0, 2.0**22), ("f16", "sgd", 0.5, 2.0**22)]]}))
