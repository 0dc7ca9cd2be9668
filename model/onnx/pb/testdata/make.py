"""Makes the golden files of this folder with the reference onnx package: python make.py

every_field.onnx   a model that sets every field the Go structs have (it need not make sense as a graph)
sequence.pb, optional.pb   a SequenceProto with one entry of each kind, an OptionalProto that holds a sequence
"""
import os

import onnx
from onnx import OptionalProto, SequenceProto, TensorProto as T, helper as h

here = os.path.dirname(os.path.abspath(__file__))


def props(field, **kv):
    for k, v in kv.items():
        p = field.add()
        p.key, p.value = k, v


def save(name, message):
    with open(os.path.join(here, name), "wb") as f:
        f.write(message.SerializeToString(deterministic=True))


def tensor(name, data_type, dims, **fields):
    t = T(name=name, data_type=data_type, dims=dims)
    for k, v in fields.items():
        if k == "raw_data":
            t.raw_data = v
        else:
            getattr(t, k).extend(v)
    return t


small = tensor("small", T.INT64, [2], int64_data=[-1, 300])
sparse = onnx.SparseTensorProto(
    values=tensor("sv", T.FLOAT, [1], float_data=[2.5]), indices=tensor("si", T.INT64, [1], int64_data=[3]), dims=[2, 4])
inner = onnx.GraphProto(name="inner", node=[onnx.NodeProto(op_type="Identity", input=["a"], output=["b"])])

m = onnx.ModelProto(ir_version=10, producer_name="maker", producer_version="1.2", domain="org.test", model_version=-7,
                    doc_string="model doc")
m.opset_import.extend([h.make_opsetid("", 21), h.make_opsetid("vendor", 3)])
props(m.metadata_props, author="nobody")
g = m.graph
g.name, g.doc_string = "main", "graph doc"
props(g.metadata_props, gk="gv")

n = g.node.add(op_type="Everything", name="n0", domain="vendor", overload="fast", doc_string="node doc",
               input=["x", "", "w"], output=["y", "z"])
props(n.metadata_props, nk="nv")
A = onnx.AttributeProto
n.attribute.extend([
    A(name="f", type=A.FLOAT, f=-0.5, doc_string="attribute doc"),
    A(name="i", type=A.INT, i=-3),
    A(name="s", type=A.STRING, s=b"\xff\x00s"),
    A(name="t", type=A.TENSOR, t=small),
    A(name="g", type=A.GRAPH, g=inner),
    A(name="floats", type=A.FLOATS, floats=[1.0, -2.0]),
    A(name="ints", type=A.INTS, ints=[0, -1, 1 << 40]),
    A(name="strings", type=A.STRINGS, strings=[b"a", b""]),
    A(name="tensors", type=A.TENSORS, tensors=[small, small]),
    A(name="graphs", type=A.GRAPHS, graphs=[inner]),
    A(name="sparse", type=A.SPARSE_TENSOR, sparse_tensor=sparse),
    A(name="sparses", type=A.SPARSE_TENSORS, sparse_tensors=[sparse]),
    A(name="tp", type=A.TYPE_PROTO, tp=h.make_tensor_type_proto(T.FLOAT, None)),
    A(name="tps", type=A.TYPE_PROTOS, type_protos=[h.make_tensor_type_proto(T.BOOL, [])]),
    A(name="ref", type=A.INT, ref_attr_name="outer"),
    A(name="untyped", ints=[5]),
])
g.initializer.extend([
    tensor("raw", T.FLOAT, [1, 2], raw_data=b"\x00\x00\x80\x3f\x00\x00\x00\xc0"),
    tensor("f32", T.FLOAT, [2], float_data=[0.25, -8.0]),
    tensor("i32", T.INT32, [3], int32_data=[1, -1, 2147483647]),
    tensor("u8", T.UINT8, [], int32_data=[200]),
    tensor("str", T.STRING, [2], string_data=[b"hi", b""]),
    tensor("f64", T.DOUBLE, [1], double_data=[1e300]),
    tensor("u64", T.UINT64, [1], uint64_data=[(1 << 64) - 1]),
])
e = g.initializer.add(name="ext", data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL, doc_string="tensor doc")
props(e.external_data, location="w.bin", offset="16", length="16")
props(e.metadata_props, tk="tv")
g.sparse_initializer.add().CopyFrom(sparse)
x = g.input.add(name="x", doc_string="value doc")
props(x.metadata_props, vk="vv")
x.type.CopyFrom(h.make_tensor_type_proto(T.FLOAT16, ["batch", 3, None]))
x.type.denotation = "IMAGE"
x.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
g.input.append(h.make_value_info("neg", h.make_tensor_type_proto(T.FLOAT, [-1, 0])))
g.output.append(h.make_value_info("seq", h.make_sequence_type_proto(h.make_tensor_type_proto(T.INT8, None))))
g.output.append(h.make_value_info("opt", h.make_optional_type_proto(
    h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(T.DOUBLE, [])))))
g.value_info.append(h.make_value_info("sp", h.make_sparse_tensor_type_proto(T.FLOAT, [2])))
o = g.value_info.add(name="op")
o.type.opaque_type.domain, o.type.opaque_type.name = "d", "n"
g.value_info.add(name="untyped")
f = m.functions.add(name="fn", domain="vendor", overload="fast", doc_string="function doc", input=["a"], output=["b"],
                    attribute=["req"])
f.attribute_proto.append(A(name="alpha", type=A.FLOAT, f=1.5))
f.node.add(op_type="Relu", input=["a"], output=["b"])
f.opset_import.append(h.make_opsetid("", 20))
f.value_info.append(h.make_value_info("b", h.make_tensor_type_proto(T.FLOAT, None)))
props(f.metadata_props, fk="fv")
# Fields that the Go structs leave out, to be skipped.
m.training_info.add().initialization.name = "skip"
m.configuration.add(name="skip", num_devices=2)
n.device_configurations.add(configuration_id="skip")
g.quantization_annotation.add(tensor_name="skip")
save("every_field.onnx", m)

opt = OptionalProto(name="o", elem_type=OptionalProto.TENSOR, tensor_value=small)
seq = SequenceProto(name="s", elem_type=SequenceProto.TENSOR, tensor_values=[small], sparse_tensor_values=[sparse],
                    sequence_values=[SequenceProto(name="empty", elem_type=SequenceProto.SEQUENCE)],
                    optional_values=[opt, OptionalProto(elem_type=OptionalProto.SEQUENCE)])
mp = seq.map_values.add(name="m", key_type=T.INT64, keys=[-1, 1])
mp.values.tensor_values.extend([small, small])
seq.map_values.add(key_type=T.STRING, string_keys=[b"k"])
save("sequence.pb", seq)
save("optional.pb", OptionalProto(name="outer", elem_type=OptionalProto.SEQUENCE, sequence_value=seq))
