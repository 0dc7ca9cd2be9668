// Package nn contains layers for models, built on package tensor; packages optim and train update their parameters. It must not know
// backends or read files. A module is a plain struct whose exported fields are parameters, other modules, and slices, arrays and maps of
// them; they are found by reflection, and nothing has to be registered. A parameter is named by its path: "encoder.layers.0.norm.weight".
//
//	type Classifier struct {
//		Conv *nn.Conv2d
//		Head *nn.Linear
//		kept int // unexported: not a part of the model
//	}
//
//	func (m *Classifier) Forward(x *tensor.Tensor) *tensor.Tensor {
//		return m.Head.Forward(m.Conv.Forward(x).Relu().FlattenFrom(1, -1))
//	}
//
// Constructors of layers take the device, sizes, and a configuration whose zero value is the default. Their parameters have PyTorch's names
// and layouts, so that its weights load as they are. A call of Device.Seed before construction makes models reproducible, on every backend.
// Layers start in training mode: Eval changes a model, Inference makes a frozen copy. Layers release their intermediate tensors. Results,
// including those between the modules of a Sequential, belong to the scope of their operands, so run a step of training or inference in
// tensor.Scope.
//
// Losses are plain structs of settings: CrossEntropyLoss{LabelSmoothing: 0.1}.Forward(logits, labels).
//
// Like tensors, modules panic with *tensor.Error on a wrong shape or type; tensor.Try returns that as an error. Forward passes of one
// module may run concurrently, except for layers that update statistics in training mode; changing parameters during a forward pass is a
// race.
package nn

import "github.com/goburn/burn/tensor"

// Module is a layer with one input and one output, for Sequential.
type Module interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}
