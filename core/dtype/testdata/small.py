"""Makes small.json: what ml_dtypes decodes each byte to, and encodes numbers to, for the small floats.

python small.py > small.json   (ml_dtypes 0.5, numpy)
"""

import json

import ml_dtypes
import numpy

TYPES = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
    "f4e2m1": ml_dtypes.float4_e2m1fn,
}

rng = numpy.random.default_rng(7)
numbers = numpy.concatenate([
    rng.normal(size=60), rng.normal(size=40) * 100, numpy.exp(rng.normal(size=60) * 8),
    [0.0, -0.0, 0.25, 0.5, 0.75, 1.5, 5.0, 6.0, 7.0, 8.0, 240.0, 247.9, 248.0, 448.0, 463.9, 464.0, 465.0, 480.0, 57344.0, 61439.0,
     61440.0, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 2.0**-17, 2.0**-18, 3 * 2.0**-18, numpy.inf, -numpy.inf, numpy.nan],
]).astype(numpy.float32)

out = {}
for name, t in TYPES.items():
    bits = 16 if name == "f4e2m1" else 256
    values = numpy.arange(bits, dtype=numpy.uint8).view(t).astype(numpy.float32)
    codes = numbers.astype(t).view(numpy.uint8)
    out[name] = {"decode": [str(v) for v in values], "numbers": [repr(float(n)) for n in numbers], "encode": codes.tolist()}
print(json.dumps(out))
