"""Writes quantized.onnx, a small network quantized in QDQ form by onnxruntime.quantization, and quantized.json with inputs and
the outputs of onnxruntime for it. Run in this folder: python quantized.py"""
import json
import os
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

rng = np.random.default_rng(11)


def weight(name, *shape):
    fan = int(np.prod(shape[1:])) if len(shape) > 1 else 4
    return numpy_helper.from_array((rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32), name)


N = helper.make_node
nodes = [
    N("Conv", ["x", "w1", "b1"], ["c1"], strides=[2, 2], pads=[1, 0, 1, 2]),
    N("Relu", ["c1"], ["r1"]),
    N("MaxPool", ["r1"], ["p1"], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]),
    N("Conv", ["p1", "w2", "b2"], ["c2"]),
    N("Conv", ["p1", "w3", "b3"], ["c3"], pads=[1, 1, 1, 1], group=2),
    N("Concat", ["c2", "c3"], ["j"], axis=1),
    N("Conv", ["j", "w4"], ["c4"], pads=[2, 2, 2, 2], dilations=[2, 2]),
    N("Add", ["c4", "j"], ["s"]),
    N("Transpose", ["s"], ["t"], perm=[0, 2, 3, 1]),
    N("Flatten", ["t"], ["f"]),
    N("Gemm", ["f", "w5", "b5"], ["g"], transB=1),
    N("Relu", ["g"], ["h"]),
    N("MatMul", ["h", "w6"], ["y"]),
]
shapes = {"w1": (6, 3, 3, 3), "b1": (6,), "w2": (5, 6, 1, 1), "b2": (5,), "w3": (8, 3, 3, 3), "b3": (8,), "w4": (13, 13, 3, 3),
          "w5": (17, 13 * 6 * 6), "b5": (17,), "w6": (17, 10)}
graph = helper.make_graph(nodes, "quantized", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 11, 11])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], [weight(k, *s) for k, s in shapes.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Samples(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": rng.standard_normal((2, 3, 11, 11)).astype(np.float32)} for _ in range(8)])

    def get_next(self):
        return next(self.left, None)


with tempfile.TemporaryDirectory() as folder:
    plain = os.path.join(folder, "plain.onnx")
    onnx.save(model, plain)
    quantize_static(plain, "quantized.onnx", Samples(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)

options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # floats between the bytes, as the model has them
peers = {"floats": ort.InferenceSession("quantized.onnx", options), "integers": ort.InferenceSession("quantized.onnx")}
cases = []
for n in (1, 3):
    x = rng.standard_normal((n, 3, 11, 11)).astype(np.float32)
    cases.append({"Shape": x.shape, "X": [round(float(v), 4) for v in x.ravel()]})
    x = np.array(cases[-1]["X"], np.float32).reshape(x.shape)
    for name, peer in peers.items():
        cases[-1][name.capitalize()] = [float(v) for v in peer.run(None, {"x": x})[0].ravel()]
q = onnx.load("quantized.onnx")
last = {i.name: numpy_helper.to_array(i) for i in q.graph.initializer}["y_scale"]
with open("quantized.json", "w") as f:
    json.dump({"Step": float(last), "Cases": cases}, f)
    f.write("\n")
