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
//		return m.Head.Forward(m.Conv.Forward(x).Relu().Flatten(1, -1))
//	}
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
