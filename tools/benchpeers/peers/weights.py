"""Weights of the generated models, the same wherever they are drawn: {name: array}."""

import numpy

# The encoder: a standard one after "Attention Is All You Need", norms after the additions, GELU.
WIDTH, HEADS, FORWARD, LAYERS, BATCH, SEQUENCE = 768, 12, 3072, 12, 2, 256


def draw(rng, *shape, scale=0.02):
    return (rng.standard_normal(shape, dtype=numpy.float32) * numpy.float32(scale)).astype(numpy.float32)


def encoder():
    rng, w = numpy.random.default_rng(768), {}
    for i in range(LAYERS):
        for name in ("q", "k", "v", "o"):
            w[f"{i}.{name}"], w[f"{i}.{name}b"] = draw(rng, WIDTH, WIDTH), draw(rng, WIDTH)
        w[f"{i}.up"], w[f"{i}.upb"] = draw(rng, WIDTH, FORWARD), draw(rng, FORWARD)
        w[f"{i}.down"], w[f"{i}.downb"] = draw(rng, FORWARD, WIDTH), draw(rng, WIDTH)
        for n in ("1", "2"):
            w[f"{i}.scale{n}"], w[f"{i}.bias{n}"] = 1 + draw(rng, WIDTH), draw(rng, WIDTH)
    return w


def digits():
    """The MNIST network of the Burn Book: weights as PyTorch holds them."""
    rng = numpy.random.default_rng(28)
    return {
        "conv1.weight": draw(rng, 8, 1, 3, 3, scale=0.3), "conv1.bias": draw(rng, 8, scale=0.1),
        "conv2.weight": draw(rng, 16, 8, 3, 3, scale=0.1), "conv2.bias": draw(rng, 16, scale=0.1),
        "linear1.weight": draw(rng, 512, 1024, scale=0.03), "linear1.bias": draw(rng, 512, scale=0.03),
        "linear2.weight": draw(rng, 10, 512, scale=0.04), "linear2.bias": draw(rng, 10, scale=0.04),
    }
