"""The twin of this example in PyTorch: the same text, split, model, initial distributions, optimiser, learning rates, batches and number of
steps. Prints the loss in validation.

    python twin.py tinyshakespeare.txt [--epochs 3] [--seed 1] [--threads 1]
"""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, SIZE, HEADS, SEEN, BATCH, RATE = 3, 128, 4, 64, 32, 2e-3


class Model(nn.Module):
    def __init__(self, alphabet):
        super().__init__()
        self.embed, self.places = nn.Embedding(alphabet, SIZE), nn.Embedding(SEEN, SIZE)
        for e in (self.embed, self.places):
            nn.init.normal_(e.weight, 0, 0.02)
        layers = [
            nn.TransformerEncoderLayer(SIZE, HEADS, 4 * SIZE, dropout=0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(LAYERS)  # drawn one by one: nn.TransformerEncoder would copy one
        ]
        self.layers, self.norm = nn.ModuleList(layers), nn.LayerNorm(SIZE)
        self.head = nn.Linear(SIZE, alphabet)
        self.mask = nn.Transformer.generate_square_subsequent_mask(SEEN)

    def loss(self, ids, targets):
        x = self.embed(ids) + self.places.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, src_mask=self.mask, is_causal=True)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def windows(ids):
    n = (len(ids) - 1) // SEEN
    return ids[: n * SEEN].view(n, SEEN), ids[1 : n * SEEN + 1].view(n, SEEN)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("text")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    text = open(a.text).read()
    place = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([place[c] for c in text])
    held = len(ids) // 10
    (x, y), (vx, vy) = windows(ids[:-held]), windows(ids[-held:])
    model = Model(len(place))
    opt = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    steps, done, start = a.epochs * (len(x) // BATCH), 0, time.time()
    for epoch in range(a.epochs):
        order = torch.randperm(len(x))
        for i in range(len(x) // BATCH):
            pick = order[i * BATCH : (i + 1) * BATCH]
            opt.param_groups[0]["lr"] = RATE / 10 + (RATE - RATE / 10) * (1 + math.cos(math.pi * done / steps)) / 2
            opt.zero_grad()
            loss = model.loss(x[pick], y[pick])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            opt.step()
            done += 1
        with torch.no_grad():
            total = sum(model.loss(vx[i : i + BATCH], vy[i : i + BATCH]).item() * len(vx[i : i + BATCH]) for i in range(0, len(vx), BATCH))
        print(f"epoch {epoch + 1}: validation loss {total / len(vx):.4f}, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
