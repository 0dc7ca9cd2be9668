// Package pb reads and writes the protobuf messages of the ONNX format: models, tensors, sequences and optionals.
//
// It works on the wire format directly, so there is no generated code, and its structs are plain data. Decoding is structural: it
// answers "is this file well formed", not "does this graph make sense". The loader checks whether names resolve, graphs are
// acyclic and operators exist.
//
// Input is hostile until proved otherwise. Every error is a *FormatError that names the field at fault, decoding never panics,
// and what it allocates is bounded by a small multiple of the input (see Limits).
//
// Byte fields of a decoded message (Tensor.RawData, Tensor.StringData, Attribute.S, Attribute.Strings, Map.StringKeys) are
// sub-slices of the decoded input: they are not copied, stay valid as long as the input does, and must not be written to.
// Everything else is copied.
//
// Not kept: training_info, quantization_annotation and device configurations. They are checked for well-formed framing and
// dropped.
package pb
