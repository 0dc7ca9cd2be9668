// Package pb reads and writes the protobuf messages of the ONNX format: models, tensors, sequences and optionals.
//
// It works on the wire format directly, so there is no generated code, and its structs are plain data. Decoding only checks whether a file
// is well formed. Package onnx, which calls it, checks whether names resolve, graphs are acyclic and operators exist; this package must
// not.
//
// Input is not trusted. Every error of decoding is a *FormatError that names the wrong field, decoding never panics, and it allocates at
// most a small multiple of the size of the input (see Limits).
//
// Byte fields of a decoded message (Tensor.RawData, Tensor.StringData, Attribute.S, Attribute.Strings, Map.StringKeys) are sub-slices of
// the decoded input: they are not copied, stay valid as long as the input does, and must not be written to. All other fields are copied.
//
// The fields training_info, quantization_annotation and device configurations are checked for a well-formed encoding and then dropped.
package pb
