#!/usr/bin/env python3
"""Trains the digit classifier on MNIST and writes it as ONNX.

    python train.py --data FOLDER_WITH_IDX_FILES --out digits.onnx

The test images are looked at once, at the end, through the ONNX file: no choice of the run depends on them. Repeating
the run with the same seed, packages and processor gives the same file; another processor may round differently.
"""

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread: the order of sums, so the result, is fixed

import numpy as np
import onnx
import onnxruntime

import augment
import export
import mnist
import network

BATCH = 128
RATE = 2e-3
WARMUP = 200
AVERAGE = 0.998


class Adam:
    """Adam with a linear warm-up and a cosine decay to zero; keeps a moving average of the parameters."""

    def __init__(self, params, steps):
        self.params, self.steps, self.step_no = params, steps, 0
        self.m = {k: np.zeros_like(v) for k, v in params.items()}
        self.v = {k: np.zeros_like(v) for k, v in params.items()}
        self.average = {k: v.copy() for k, v in params.items()}

    def step(self, grads):
        self.step_no += 1
        t = self.step_no
        rate = RATE * min(1, t / WARMUP) * 0.5 * (1 + np.cos(np.pi * t / self.steps))
        keep = min(AVERAGE, t / (t + 10))
        for name, grad in grads.items():
            m, v, p, mean = self.m[name], self.v[name], self.params[name], self.average[name]
            m += 0.1 * (grad - m)
            v += 0.001 * (grad * grad - v)
            p -= np.float32(rate) * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            mean += (1 - keep) * (p - mean)


def train(images, labels, epochs, seed):
    """Returns the averaged parameters after the given epochs over images (u8 [N,28,28]) and labels."""
    rng = np.random.default_rng(seed)
    params = network.init(rng)
    images = images.astype(np.float32) / 255
    batches = len(images) // BATCH
    adam = Adam(params, epochs * batches)
    for epoch in range(1, epochs + 1):
        start, total = time.time(), 0.0
        order = rng.permutation(len(images))
        for i in range(batches):
            pick = order[i * BATCH : (i + 1) * BATCH]
            logits, tape = network.forward(params, augment.augment(images[pick], rng))
            value, grad = network.loss(logits, labels[pick])
            adam.step(network.backward(params, tape, grad))
            total += value
        print(f"epoch {epoch}: loss {total / batches:.4f}, {time.time() - start:.1f} s", flush=True)
    return adam.average


def report(path, images, labels):
    """Prints accuracy and the confusion matrix of the ONNX file at path over images (u8 [N,28,28]) and labels."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    images = images.astype(np.float32)[:, None] / 255
    answers = [session.run(None, {"image": images[i : i + 500]})[0].argmax(1) for i in range(0, len(images), 500)]
    answers = np.concatenate(answers)
    confusion = np.zeros((10, 10), int)
    np.add.at(confusion, (labels, answers), 1)
    print(f"test accuracy: {confusion.trace()} of {len(labels)} ({100 * confusion.trace() / len(labels):.2f} %)")
    print("true \\ answer " + " ".join(f"{d:5d}" for d in range(10)) + "  right")
    for d, row in enumerate(confusion):
        print(f"{d:13d} " + " ".join(f"{v:5d}" for v in row) + f"  {100 * row[d] / row.sum():.1f} %")


def main():
    parser = argparse.ArgumentParser(description="train the digit classifier on MNIST and write it as ONNX")
    parser.add_argument("--data", required=True, help="folder with the four MNIST idx files")
    parser.add_argument("--out", required=True, help="the ONNX file to write")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    train_images, train_labels, test_images, test_labels = mnist.load(args.data)
    params = train(train_images, train_labels, args.epochs, args.seed)
    onnx.save(export.to_onnx(params), args.out)
    print(f"{sum(p.size for p in params.values())} parameters")
    report(args.out, test_images, test_labels)


if __name__ == "__main__":
    main()
