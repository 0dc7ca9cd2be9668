"""PyTorch's side of benchgpu ops: the cases as JSON on stdin, a line of JSON for each figure on stdout.

Times are those of CUDA events around many calls, eager and by torch.compile; copies are timed by the host, from pageable memory (eager) and
from pinned memory (compiled, for want of a better column)."""

import json
import sys
import time

import torch
from torch.nn import functional as F

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64}


def gelu_chain(x):
    return x * 0.5 * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))


def tiny_products(chain):
    def run(x, y):
        for _ in range(chain):
            x = torch.softmax(x @ y, 1)
        return x

    return run


def dispatches(chain):
    def run(x):
        for i in range(5 * chain):
            x = torch.cummax(x, i % 2)[0]
        return x

    return run


CHAINS = {"tiny_products": tiny_products, "dispatches": dispatches}
KINDS = {
    "matmul": torch.matmul,
    "softmax": lambda x: torch.softmax(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "gelu_chain": gelu_chain,
    "sum": torch.sum,
    "attention": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "transpose": lambda x: torch.neg(x.t()).contiguous(),
    "column_sum": lambda x: x.sum(0),
    "row_sum": lambda x: x.sum(1),
    "row_max": lambda x: x.amax(1),
    "negate": torch.neg,
    "add": torch.add,
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(stable=True)[0],
    "gather_rows": lambda x, i: F.embedding(i, x),
}


def wait():
    if device.type == "cuda":
        torch.cuda.synchronize()


def clock(run, n):
    """Milliseconds a call."""
    if device.type != "cuda":
        start = time.perf_counter()
        for _ in range(n):
            run()
        return (time.perf_counter() - start) * 1e3 / n
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(n):
        run()
    b.record()
    b.synchronize()
    return a.elapsed_time(b) / n


def host_clock(run, n):
    start = time.perf_counter()
    for _ in range(n):
        run()
    wait()
    return (time.perf_counter() - start) * 1e3 / n


def sample(run, clock=clock):
    end = time.perf_counter() + limit
    for _ in range(5):
        run()
    wait()
    n = 1
    while True:
        took = clock(run, n) * n
        if took >= atleast * 500 or n >= 4096:
            n = max(1, min(4096, int(n * atleast * 1e3 / max(took, 1e-6))))
            break
        n *= 4
    samples = []
    for _ in range(repeats):
        samples.append(clock(run, n))
        if time.perf_counter() > end:
            break
    samples.sort()
    return samples[len(samples) // 2], samples[0]


def report(name, side, measure):
    out = {"name": name, "side": side}
    try:
        out["ms"], out["best_ms"] = measure()
    except Exception as e:  # the table says it
        out["error"] = f"{type(e).__name__}: {e}"[:300]
    print(json.dumps(out), flush=True)


def inputs(c):
    sets = []
    for _ in range(3):
        xs = []
        for s, t in zip(c["shapes"], c["types"]):
            if t == "i64":
                xs.append(torch.randint(0, c["shapes"][0][0], s, device=device))
            else:
                xs.append((torch.rand(s, device=device) * 2 - 1).to(TYPES[t]))
        sets.append(xs)
    return sets


def program(c):
    f = CHAINS[c["kind"]](c["chain"]) if c["kind"] in CHAINS else KINDS[c["kind"]]
    torch.backends.cuda.matmul.allow_tf32 = c["tf32"]
    sets, at = inputs(c), [0]

    def turning(g):
        def run():
            at[0] += 1
            return g(*sets[at[0] % 3])

        return run

    report(c["name"], "eager", lambda: sample(turning(f)))
    report(c["name"], "compiled", lambda: sample(turning(torch.compile(f, mode="reduce-overhead" if c["kind"] in CHAINS else None))))
    torch.backends.cuda.matmul.allow_tf32 = False


def plain(c):
    n = c["shapes"][0][0]
    if c["kind"] in ("copy_up", "copy_down"):
        for side, pin in (("eager", False), ("compiled", True)):
            try:
                x = torch.ones(n, pin_memory=pin and device.type == "cuda")
                y = torch.ones(n, device=device)
            except Exception as e:
                print(json.dumps({"name": c["name"], "side": side, "error": str(e)[:300]}), flush=True)
                continue
            run = (lambda: x.to(device, non_blocking=True)) if c["kind"] == "copy_up" else (lambda: x.copy_(y))
            report(c["name"], side, lambda: sample(run, host_clock))
        return
    x, y = torch.full((1024,), 0.5, device=device), torch.ones(1024, device=device)
    if c["kind"] == "host_run":

        def launches():
            samples = []
            for _ in range(repeats + 3):
                start = time.perf_counter()
                for _ in range(200):
                    g(x)
                samples.append((time.perf_counter() - start) * 1e3 / 200)
                wait()
            samples = sorted(samples[3:])
            return samples[len(samples) // 2], samples[0]

        g = gelu_chain
        report(c["name"], "eager", launches)
        g = torch.compile(gelu_chain)
        report(c["name"], "compiled", launches)
    elif c["kind"] == "round_trip":
        report(c["name"], "eager", lambda: sample(lambda: gelu_chain(x).cpu(), host_clock))
        h = torch.compile(gelu_chain)
        report(c["name"], "compiled", lambda: sample(lambda: h(x).cpu(), host_clock))
    else:

        def many():
            z = x
            for _ in range(n):
                z = z * y
            return z

        report(c["name"], "eager", lambda: sample(many, host_clock))


def main():
    global device, repeats, atleast, limit
    req = json.load(sys.stdin)
    device, repeats, atleast, limit = torch.device(req["device"]), req["repeats"], req["sample"], req["limit"]
    for c in req["cases"]:
        try:
            (program if c["kind"] in KINDS or c["kind"] in CHAINS else plain)(c)
            if device.type == "cuda":
                torch.cuda.empty_cache()
            torch.compiler.reset()
        except Exception as e:  # the other cases go on
            print(json.dumps({"name": c["name"], "side": "eager", "error": f"{type(e).__name__}: {e}"[:300]}), flush=True)


main()
