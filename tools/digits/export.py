"""Writes the trained parameters as an ONNX model."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import network

OPSET = 17


def to_onnx(params):
    """Returns the checked ONNX model: image f32 [N,1,28,28] in 0..1 to probabilities f32 [N,10]."""
    nodes, weights, x = [], [], "image"

    def add(op, inputs, output, **attrs):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attrs))
        return output

    def weight(name, value):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    for i in (1, 2, 3):
        inside, outside = network.CHANNELS[i - 1], network.CHANNELS[i]
        # [(ky,kx,in), out] to ONNX's [out, in, ky, kx].
        w = weight(f"conv{i}.weight", params[f"conv{i}.w"].reshape(3, 3, inside, outside).transpose(3, 2, 0, 1))
        b = weight(f"conv{i}.bias", params[f"conv{i}.b"])
        x = add("Conv", [x, w, b], f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
        x = add("Relu", [x], f"relu{i}")
        x = add("MaxPool", [x], f"pool{i}", kernel_shape=[2, 2], strides=[2, 2])
    x = add("Flatten", [x], "flatten", axis=1)

    # The network flattens (y, x, channel), ONNX here (channel, y, x); Gemm takes [out, in] with transB.
    side, channels = network.LAST_SIDE, network.CHANNELS[-1]
    first = params["dense1.w"].reshape(side, side, channels, -1).transpose(2, 0, 1, 3).reshape(-1, network.HIDDEN)
    w, b = weight("dense1.weight", first.T), weight("dense1.bias", params["dense1.b"])
    x = add("Gemm", [x, w, b], "dense1", transB=1)
    x = add("Relu", [x], "relu4")
    w, b = weight("dense2.weight", params["dense2.w"].T), weight("dense2.bias", params["dense2.b"])
    x = add("Gemm", [x, w, b], "dense2", transB=1)
    add("Softmax", [x], "probabilities", axis=1)

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 28, 28])
    probabilities = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", network.CLASSES])
    graph = helper.make_graph(nodes, "digits", [image], [probabilities], weights)
    graph.doc_string = "Handwritten digits: image 0..1, white ink on black, to the probabilities of 0 to 9."
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="burn", producer_version=""
    )
    onnx.checker.check_model(model, full_check=True)
    return model
