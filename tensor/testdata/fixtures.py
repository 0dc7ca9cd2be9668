"""Writes fixtures.json: inputs and results of tensor functions, computed by PyTorch and NumPy in float64.

    python fixtures.py > fixtures.json

Versions: PyTorch 2.15.0, NumPy 2.4.6. A case is named by the Go method, with "/" and a variant if there are several; the
table of calls is in ../fixture_*_test.go. The cases are in the modules of cases, by family. Random numbers come from one
generator, so the order of the modules decides the values: a new family goes to the end.
"""
import json, sys

import numpy as np
import torch

from cases import elementwise, movement, reduction, linear, layer, loss, signal, selection, quantization  # in the order of the draws
from cases.base import cases, values

lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
sys.stdout.write('{"torch":"%s","numpy":"%s","cases":[\n%s\n],"values":[\n%s\n]}\n' % (torch.__version__, np.__version__, lines, ",\n".join(values)))
