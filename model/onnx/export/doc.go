// Package export writes modules of package nn as ONNX models, which ONNX Runtime and other programs run. It must not compute elements: it
// records a forward pass.
//
//	image := export.Input{Name: "image", DType: dtype.F32, Shape: []int{export.Any, 1, 28, 28}}
//	m, err := export.Module(ctx, net, (*Net).Forward, image, export.Options{})
//	err = export.Save("net.onnx", m)
//
// The module is copied onto a device that computes nothing and records the contract nodes of a forward pass. Each node becomes operators of
// opset 20. An op without such operators is decomposed; if that is impossible too, the export fails with an error that names the op.
// Parameters become initialisers under their names.
//
// A dimension of Any is symbolic. The forward pass is then traced at several sizes, and every dimension and attribute must be a constant
// plus a multiple of that size. A pass that depends on the size in any other way is refused.
package export
