package main

import (
	"context"

	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// side is the height and width of images.
const side = 28

// network consists of three convolutions, each followed by relu and max pooling by 2, and of two linear layers.
type network struct {
	Conv1, Conv2, Conv3 *nn.Conv2d
	Dense1, Dense2      *nn.Linear
}

func newNetwork(d *tensor.Device) *network {
	conv := func(in, out int) *nn.Conv2d {
		return nn.NewConv2d(d, in, out, [2]int{3, 3}, nn.ConvConfig{Same: true, Init: nn.KaimingNormal(1.4142135623730951), BiasInit: nn.Zeros()})
	}
	linear := func(in, out int) *nn.Linear {
		return nn.NewLinear(d, in, out, nn.LinearConfig{Init: nn.KaimingNormal(1.4142135623730951), BiasInit: nn.Zeros()})
	}
	return &network{conv(1, 8), conv(8, 16), conv(16, 32), linear(32*3*3, 64), linear(64, 10)}
}

// Forward returns scores [N, 10] of images [N, 1, 28, 28] with pixels from 0 to 1, white ink on black.
func (m *network) Forward(x *tensor.Tensor) *tensor.Tensor {
	for _, c := range []*nn.Conv2d{m.Conv1, m.Conv2, m.Conv3} {
		x = c.Forward(x).Relu().MaxPool([]int{2, 2}, tensor.PoolOptions{})
	}
	return m.Dense2.Forward(m.Dense1.Forward(x.FlattenFrom(1, -1)).Relu())
}

func step(_ context.Context, m *network, b *source.Batch) (train.Output, error) {
	scores := m.Forward(b.Images)
	return train.Output{Loss: scores.CrossEntropyLoss(b.Labels, tensor.ClassOptions{}), Predictions: scores, Targets: b.Labels, Items: b.Labels.Size()}, nil
}
