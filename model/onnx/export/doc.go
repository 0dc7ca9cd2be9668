// Package export writes modules as ONNX models, which ONNX Runtime and others run.
//
//	image := export.Input{Name: "image", DType: dtype.F32, Shape: []int{export.Any, 1, 28, 28}}
//	m, err := export.Module(ctx, net, (*Net).Forward, image, export.Options{})
//	err = export.Save("net.onnx", m)
//
// The module is copied onto a device that computes nothing and remembers the nodes of the contract that a forward pass consists of. Each
// becomes operators of opset 20; an op that has none is decomposed, and one that cannot be is an error that names it. Parameters
// become initialisers under their names.
//
// A dimension of Any is symbolic. The forward pass is then traced at several sizes, and every dimension and attribute must be a
// constant plus a multiple of that size; a pass whose nodes or numbers depend on it otherwise is refused.
package export
