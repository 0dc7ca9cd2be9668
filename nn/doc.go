// Package nn is layers for models. A module is a plain struct whose exported fields are parameters, other modules, and slices, arrays and
// maps of them; it is found by reflection, and nothing has to be registered. Parameters have the names of the path to them:
// "encoder.layers.0.norm.weight".
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
// Layers are made by constructors that take the device, sizes, and a configuration whose zero value is the default. Their
// parameters have PyTorch's names and layouts, so that its weights load as they are. Device.Seed before makes models reproducible, on
// every backend. Layers start in training mode: Eval changes a model, Inference makes a frozen copy. Tensors that layers make on
// the way are released; results, those between the modules of a Sequential too, belong to the scope of their operands: a step of
// training or of inference is best run in tensor.Scope.
//
// Losses are plain structs of settings: CrossEntropyLoss{LabelSmoothing: 0.1}.Forward(logits, labels).
//
// Like tensors, modules panic with *tensor.Error on a wrong shape or type; tensor.Try makes an error of that. Forward passes of one
// module may run at once, except where a layer in training mode updates statistics; changing parameters while a forward
// pass runs is a race.
package nn

import "github.com/goburn/burn/tensor"

// Module is a layer of one input and one output, as Sequential takes.
type Module interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}
