"""Writes elementary.txt: points and correctly rounded values of the elementary functions, as the bits of doubles, computed
with mpmath at 300 bits. Run: python gen_elementary.py > elementary.txt"""
import math
import random
import struct

import mpmath

mpmath.mp.prec = 300
random.seed(1)


def sign():
    return random.choice([-1, 1])


def spread(lo, hi):
    """Uniform in the logarithm."""
    return math.exp(random.uniform(math.log(lo), math.log(hi)))


small = lambda: sign() * spread(1e-300, 1)
near_one = lambda: sign() * (1 - spread(1e-16, 0.5))
turns = lambda: random.randint(-999, 999) * math.pi / 2
FUNCTIONS = {
    "exp": (mpmath.exp, [lambda: random.uniform(-740, 709), lambda: sign() * spread(1e-12, 1)]),
    "expm1": (mpmath.expm1, [lambda: random.uniform(-40, 709), small]),
    "log": (mpmath.log, [lambda: spread(1e-308, 1e308), lambda: 1 + sign() * spread(1e-15, 0.5), lambda: spread(5e-324, 2e-308)]),
    "log1p": (mpmath.log1p, [lambda: spread(1e-300, 1e308), lambda: -spread(1e-300, 0.999), lambda: -1 + spread(1e-15, 0.5)]),
    "sin": (mpmath.sin, [lambda: random.uniform(-10, 10), small, lambda: random.uniform(-1e5, 1e5), lambda: spread(1e5, 1e300), turns]),
    "cos": (mpmath.cos, [lambda: random.uniform(-10, 10), lambda: random.uniform(-1e5, 1e5), lambda: spread(1e5, 1e300), turns]),
    "tan": (mpmath.tan, [lambda: random.uniform(-10, 10), small, lambda: random.uniform(-1e5, 1e5), lambda: spread(1e5, 1e300), turns]),
    "asin": (mpmath.asin, [lambda: random.uniform(-1, 1), small, near_one]),
    "acos": (mpmath.acos, [lambda: random.uniform(-1, 1), small, near_one]),
    "atan": (mpmath.atan, [lambda: sign() * spread(1e-300, 1e300), lambda: random.uniform(-3, 3)]),
    "sinh": (mpmath.sinh, [lambda: random.uniform(-710.4, 710.4), lambda: sign() * spread(1e-300, 30), lambda: sign() * random.uniform(709.8, 710.4)]),
    "cosh": (mpmath.cosh, [lambda: random.uniform(-710.4, 710.4), lambda: sign() * spread(1e-300, 30), lambda: sign() * random.uniform(709.8, 710.4)]),
    "tanh": (mpmath.tanh, [lambda: random.uniform(-20, 20), lambda: sign() * spread(1e-300, 30)]),
    "asinh": (mpmath.asinh, [lambda: sign() * spread(1e-300, 1e308), lambda: random.uniform(-4, 4)]),
    "acosh": (mpmath.acosh, [lambda: spread(1, 1e308), lambda: 1 + spread(1e-15, 3)]),
    "atanh": (mpmath.atanh, [lambda: random.uniform(-1, 1), small, near_one]),
    "erf": (mpmath.erf, [lambda: random.uniform(-6, 6), lambda: sign() * spread(1e-300, 6)]),
}
bits = lambda x: struct.pack(">d", x).hex()
for name, (f, draws) in FUNCTIONS.items():
    for draw in draws:
        for _ in range(40):
            x = draw()
            print(name, bits(x), bits(float(f(mpmath.mpf(x)))))
