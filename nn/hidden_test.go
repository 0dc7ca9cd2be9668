package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

type forwarder interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

type node struct {
	Next   *node
	Weight *nn.Param
	weight *nn.Param
}

func TestHidden(t *testing.T) {
	dev := open(t)
	param := func() *nn.Param { return nn.NewParam(tensor.From(dev, []float32{1, 2}, 2)) }
	frozen := param()
	frozen.SetTrainable(false)
	shared := param()
	numbered := map[int]*nn.Linear{3: nn.NewLinear(dev, 2, 2, nn.LinearConfig{})}
	list := []*nn.Param{param()}
	type lower struct {
		fc, other *nn.Linear
	}
	type everything struct {
		base
		First    block
		Numbered map[int]*nn.Linear
		List     *[]*nn.Param
		Nested   struct{ layers []forwarder }
		any      any
		Shared   *nn.Param
		shared   *nn.Param
		frozen   *nn.Param
		buffer   *nn.Param
		device   *tensor.Device
		teacher  *nn.Linear `nn:"-"`
		none     *nn.Linear
		Dropout  *nn.Dropout
	}
	e := &everything{base: base{Scale: param()}, First: block{Weight: param()}, Numbered: numbered, List: &list, any: &lower{fc: nn.NewLinear(dev, 2, 2, nn.LinearConfig{})},
		Shared: shared, shared: shared, frozen: frozen, buffer: nn.NewBuffer(tensor.From(dev, []float32{1}, 1)), device: dev, teacher: nn.NewLinear(dev, 2, 2, nn.LinearConfig{}),
		Dropout: nn.NewDropout(0.5)}
	e.Nested.layers = []forwarder{nn.NewLinear(dev, 2, 2, nn.LinearConfig{}), nn.NewLinear(dev, 2, 2, nn.LinearConfig{})}
	last := &node{Weight: param(), weight: param()}
	for name, c := range map[string]struct {
		m    any
		want []string
	}{
		"unexported":   {&lower{fc: nn.NewLinear(dev, 2, 2, nn.LinearConfig{}), other: nn.NewLinear(dev, 2, 2, nn.LinearConfig{})}, []string{"fc", "other"}},
		"all kinds":    {e, []string{"base", "Numbered", "List", "Nested.layers", "any"}},
		"whole":        {&block{Weight: param()}, nil},
		"a layer":      {nn.NewLinear(dev, 2, 2, nn.LinearConfig{}), nil},
		"a batch norm": {nn.NewBatchNorm(dev, 2, nn.BatchNormConfig{}), nil},
		"a list":       {[]*lower{{fc: nn.NewLinear(dev, 2, 2, nn.LinearConfig{})}}, []string{"fc"}},
		"linked":       {&node{Next: &node{Next: last}, Weight: param()}, []string{"Next.Next.weight"}},
	} {
		require.Equal(t, c.want, nn.Hidden(c.m), name)
	}
}
