"""What a plugin's speed is compared with: PyTorch's copy on the card, a sum of rows, and its f32 products, by events of the device."""

import torch


def best(run, tries=20, calls=10):
    for _ in range(5):
        run()
    times = []
    for _ in range(tries):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(calls):
            run()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) / calls)
    return sorted(times)[len(times) // 2]


torch.backends.cuda.matmul.allow_tf32 = False
x = torch.rand(16384, 4096, device="cuda")
y = torch.empty_like(x)
size = x.numel() * 4
for name, run, count in (("copy", lambda: y.copy_(x), 2 * size), ("row_sum", lambda: torch.sum(x, 1), size), ("sum", lambda: torch.sum(x), size)):
    ms = best(run)
    print(f"torch {name}: {ms:.4f} ms, {count / ms / 1e6:.0f} GB/s")
for n in (2048, 4096):
    a, b = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    ms = best(lambda: a @ b)
    print(f"torch f32 product of {n}: {ms:.4f} ms, {2 * n**3 / ms / 1e9:.1f} TFLOP/s")
