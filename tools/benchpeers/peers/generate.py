"""Writes the generated models as ONNX: generate.py DIR makes DIR/NAME/model.onnx. Graphs as exporters write them: GELU and
attention in elementary operators."""

import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import weights


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.names = [], [], 0

    def add(self, op, *inputs, **attrs):
        self.names += 1
        out = f"t{self.names}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=f"{op}_{self.names}", **attrs))
        return out

    def const(self, name, a):
        self.weights.append(numpy_helper.from_array(numpy.ascontiguousarray(a), name))
        return name

    def save(self, path, x, y):
        g = helper.make_graph(self.nodes, "generated", [x], [y], self.weights)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(m)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        onnx.save(m, path)


def encoder(path):
    g, w = Graph(), weights.encoder()
    b, s, d, h = weights.BATCH, weights.SEQUENCE, weights.WIDTH, weights.HEADS
    heads, flat = g.const("heads", numpy.array([b, s, h, d // h])), g.const("flat", numpy.array([b, s, d]))
    scale, root = g.const("scale", numpy.float32((d // h) ** 0.5)), g.const("root", numpy.float32(2**0.5))
    one, half = g.const("one", numpy.float32(1)), g.const("half", numpy.float32(0.5))

    def linear(x, name):
        return g.add("Add", g.add("MatMul", x, g.const(name, w[name])), g.const(name + "b", w[name + "b"]))

    def split(x, name, perm):
        return g.add("Transpose", g.add("Reshape", linear(x, name), heads), perm=perm)

    def norm(x, i, n):
        return g.add("LayerNormalization", x, g.const(f"{i}.scale{n}", w[f"{i}.scale{n}"]), g.const(f"{i}.bias{n}", w[f"{i}.bias{n}"]), axis=-1, epsilon=1e-5)

    x = "x"
    for i in range(weights.LAYERS):
        q, k, v = split(x, f"{i}.q", [0, 2, 1, 3]), split(x, f"{i}.k", [0, 2, 3, 1]), split(x, f"{i}.v", [0, 2, 1, 3])
        p = g.add("Softmax", g.add("Div", g.add("MatMul", q, k), scale), axis=-1)
        a = g.add("Reshape", g.add("Transpose", g.add("MatMul", p, v), perm=[0, 2, 1, 3]), flat)
        x = norm(g.add("Add", x, linear(a, f"{i}.o")), i, 1)
        u = linear(x, f"{i}.up")
        u = g.add("Mul", g.add("Mul", u, g.add("Add", g.add("Erf", g.add("Div", u, root)), one)), half)
        x = norm(g.add("Add", x, linear(u, f"{i}.down")), i, 2)
    shape = [b, s, d]
    g.nodes[-1].output[0] = "y"
    g.save(path, helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, shape))


def digits(path):
    g, w = Graph(), weights.digits()
    c = {k: g.const(k, a) for k, a in w.items()}
    x = g.add("Conv", "x", c["conv1.weight"], c["conv1.bias"], kernel_shape=[3, 3])
    x = g.add("Relu", g.add("Conv", x, c["conv2.weight"], c["conv2.bias"], kernel_shape=[3, 3]))
    x = g.add("Flatten", g.add("AveragePool", x, kernel_shape=[3, 3], strides=[3, 3]), axis=1)  # 24x24 to 8x8
    x = g.add("Relu", g.add("Gemm", x, c["linear1.weight"], c["linear1.bias"], transB=1))
    g.add("Gemm", x, c["linear2.weight"], c["linear2.bias"], transB=1)
    g.nodes[-1].output[0] = "y"
    g.save(path, helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 28, 28]), helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10]))


if __name__ == "__main__":
    encoder(os.path.join(sys.argv[1], "transformer_encoder", "model.onnx"))
    digits(os.path.join(sys.argv[1], "burn_book_mnist", "model.onnx"))
