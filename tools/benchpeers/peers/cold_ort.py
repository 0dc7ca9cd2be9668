"""The shortest script that answers with ONNX Runtime: cold_ort.py MODEL INPUT.npy."""

import sys

import numpy
import onnxruntime

s = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(s.run(None, {s.get_inputs()[0].name: numpy.load(sys.argv[2])})[0].ravel()[:8], flush=True)
