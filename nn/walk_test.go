package nn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

func open(t testing.TB) *tensor.Device {
	t.Helper()
	d, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	dev, err := tensor.On(context.Background(), autodiff.Device(d))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, dev.Close())
		require.NoError(t, d.Close())
	})
	return dev
}

type block struct {
	Weight  *nn.Param
	RunMean *nn.Param
	on      bool
}

func (b *block) SetTraining(on bool) { b.on = on }

type base struct{ Scale *nn.Param }

type model struct {
	base   // unexported, like its fields
	First  block
	Layers []*block
	Heads  map[string]any
	QKV    *nn.Param `nn:"qkv_proj"`
	Tied   *nn.Param
	Skip   *nn.Param `nn:"-"`
	None   *block
	Size   int
}

func TestNames(t *testing.T) {
	dev := open(t)
	param := func() *nn.Param { return nn.NewParam(tensor.From(dev, []float32{1, 2}, 2)) }
	m := &model{First: block{Weight: param()}, QKV: param(), Skip: param()}
	m.Layers = []*block{{Weight: param(), RunMean: nn.NewBuffer(tensor.From(dev, []float32{0}, 1))}, {Weight: param()}}
	m.Heads = map[string]any{"b": &block{Weight: param()}, "a": param()}
	m.Tied = m.QKV
	var names []string
	for _, p := range nn.Params(m) {
		names = append(names, p.Name)
	}
	assert.Equal(t, []string{"first.weight", "layers.0.weight", "layers.0.run_mean", "layers.1.weight", "heads.a", "heads.b.weight", "qkv_proj"}, names)
	trained, all := nn.Count(m)
	assert.Equal(t, []int{12, 13}, []int{trained, all})
	nn.Train(m)
	assert.True(t, m.First.on && m.Layers[1].on)
	nn.Eval(m)
	assert.False(t, m.First.on || m.Layers[1].on)
}

func TestParamIsTracked(t *testing.T) {
	dev := open(t)
	p := nn.NewParam(tensor.From(dev, []float32{1, 2}, 2))
	b := nn.NewBuffer(tensor.From(dev, []float32{1, 2}, 2))
	assert.True(t, p.Value().Tracked())
	assert.False(t, b.Value().Tracked())
	tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
		p.Set(p.Value().In(d).MulScalar(3)) // computed from the old value, detached, and kept
		return nil
	})
	v, err := tensor.Data[float32](context.Background(), p.Value())
	require.NoError(t, err)
	assert.Equal(t, []float32{3, 6}, v)
	assert.True(t, p.Value().Tracked())
	g, err := p.Value().MulScalar(2).Backward()
	require.NoError(t, err)
	assert.Equal(t, 1, g.Len(), "the old value is out of reach")
	p.SetTrainable(false)
	assert.False(t, p.Value().Tracked() || p.Trainable())
	p.SetTrainable(true)
	assert.True(t, p.Value().Tracked())
}

func TestModuleInItself(t *testing.T) {
	type loop struct{ Next any }
	l := &loop{}
	l.Next = l
	assert.Panics(t, func() { nn.Params(l) })
}
