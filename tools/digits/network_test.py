#!/usr/bin/env python3
"""Checks the hand-written gradients by central differences, and the export against the network. Run it directly."""

import unittest

import numpy as np
import onnxruntime

import augment
import export
import network


def problem(n):
    rng = np.random.default_rng(7)
    params = network.init(rng)
    for name in params:
        if name.endswith(".b"):
            params[name] = rng.normal(0, 0.1, params[name].shape).astype(np.float32)
    return params, rng.random((n, 28, 28), dtype=np.float32), rng.integers(0, 10, n)


class Network(unittest.TestCase):
    def test_gradients(self):
        params, images, labels = problem(3)
        params = {k: v.astype(np.float64) for k, v in params.items()}
        images = images.astype(np.float64)
        logits, tape = network.forward(params, images)
        grads = network.backward(params, tape, network.loss(logits, labels)[1])

        def value():
            return network.loss(network.forward(params, images)[0], labels)[0]

        rng = np.random.default_rng(8)
        for name, p in params.items():
            self.assertEqual(grads[name].shape, p.shape)
            for at in rng.choice(p.size, min(p.size, 12), replace=False):
                i = np.unravel_index(at, p.shape)
                was, h = p[i], 1e-6
                p[i] = was + h
                up = value()
                p[i] = was - h
                down = value()
                p[i] = was
                self.assertAlmostEqual(grads[name][i], (up - down) / (2 * h), delta=1e-6, msg=f"{name}{i}")

    def test_export(self):
        for n in (1, 4):
            params, images, _ = problem(n)
            model = export.to_onnx(params).SerializeToString()
            session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            got = session.run(["probabilities"], {"image": images[:, None]})[0]
            want = np.exp(network.forward(params, images)[0])
            np.testing.assert_allclose(got, want / want.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)


class Augment(unittest.TestCase):
    def test_range_and_repeat(self):
        images = np.random.default_rng(3).random((16, 28, 28), dtype=np.float32)
        first = augment.augment(images, np.random.default_rng(5))
        self.assertEqual((first.shape, first.dtype), (images.shape, np.float32))
        self.assertTrue(0 <= first.min() and first.max() <= 1)
        self.assertGreater(np.abs(first - images).max(), 0.1)
        np.testing.assert_array_equal(first, augment.augment(images, np.random.default_rng(5)))


if __name__ == "__main__":
    unittest.main()
