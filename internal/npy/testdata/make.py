"""Makes the .npy files of this folder with NumPy: python make.py"""
import os

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def save(name, a, version=None):
    with open(os.path.join(here, name + ".npy"), "wb") as f:
        np.lib.format.write_array(f, a, version=version)


ramp = np.arange(6).reshape(2, 3)
for dt in "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split():
    a = ramp - 2 if dt[0] != "u" else ramp
    save("le_" + dt, a.astype("<" + dt))
    save("be_" + dt, a.astype(">" + dt))
save("b1", np.array([True, False, True]))
save("scalar", np.array(2.5, "<f4"))
save("empty", np.zeros((2, 0, 3), "<f8"))
save("fortran", np.asfortranarray(np.arange(24).reshape(2, 3, 4).astype("<i2")))
save("fortran_be", np.asfortranarray(ramp.astype(">f4")))
save("v2", ramp.astype("<i4"), (2, 0))
save("v3", ramp.astype("<i4"), (3, 0))
save("rank8", np.arange(4).reshape(1, 2, 1, 1, 2, 1, 1, 1).astype("<u2"))
save("pad64", np.zeros((1, 0) + (10,) * 8 + (1000,), "|u1"))  # a header that needs no padding gets 64 bytes of it
save("complex", np.zeros(1, "<c8"))
save("text", np.array(["a"]))
save("structured", np.zeros(1, [("x", "<f4")]))
