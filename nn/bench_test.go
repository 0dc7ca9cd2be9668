package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// benchStep measures forward and backward passes, without an update of parameters.
func benchStep(b *testing.B, m nn.Module, dev *tensor.Device, x, y tt) {
	b.ReportAllocs()
	for b.Loop() {
		tensor.Scope(dev, func(d *tensor.Device) []tt {
			g, err := nn.CrossEntropyLoss{}.Forward(m.Forward(x.In(d)), y).Backward()
			require.NoError(b, err)
			require.NoError(b, g.Checked(b.Context()))
			return nil
		})
	}
}

func openTwo(b *testing.B) *tensor.Device {
	d, err := core.OpenPlace("cpu", core.Config{Threads: 2})
	require.NoError(b, err)
	dev, err := tensor.On(b.Context(), autodiff.Device(d))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	dev.Seed(1)
	return dev
}

// BenchmarkDigits trains the digit classifier of the Burn Book on 64 pictures.
func BenchmarkDigits(b *testing.B) {
	dev := openTwo(b)
	m := nn.Sequential{nn.NewConv2d(dev, 1, 8, [2]int{3, 3}, nn.ConvConfig{}), nn.NewConv2d(dev, 8, 16, [2]int{3, 3}, nn.ConvConfig{}), &nn.Relu{},
		nn.NewAdaptiveAvgPool2d([2]int{8, 8}), nn.NewFlatten(), nn.NewLinear(dev, 1024, 512, nn.LinearConfig{}), nn.NewDropout(0.5), &nn.Relu{},
		nn.NewLinear(dev, 512, 10, nn.LinearConfig{})}
	benchStep(b, m, dev, dev.Normal(dtype.F32, 0, 1, 64, 1, 28, 28), dev.RandomInt(dtype.I64, 0, 10, 64))
}

// BenchmarkNormed trains a small network with batch norm on 32 pictures.
func BenchmarkNormed(b *testing.B) {
	dev := openTwo(b)
	var m nn.Sequential
	for _, c := range [][2]int{{3, 32}, {32, 32}, {32, 64}} {
		m = append(m, nn.NewConv2d(dev, c[0], c[1], [2]int{3, 3}, nn.ConvConfig{Same: true, NoBias: true}), nn.NewBatchNorm(dev, c[1], nn.BatchNormConfig{}),
			&nn.Relu{}, nn.NewMaxPool2d([2]int{2, 2}, nn.PoolConfig{}))
	}
	m = append(m, nn.NewAdaptiveAvgPool2d([2]int{1, 1}), nn.NewFlatten(), nn.NewLinear(dev, 64, 10, nn.LinearConfig{}))
	benchStep(b, m, dev, dev.Normal(dtype.F32, 0, 1, 32, 3, 32, 32), dev.RandomInt(dtype.I64, 0, 10, 32))
}

// BenchmarkTransformer trains 6 layers of 256 features on 16 sequences of 128, without and with dropout.
func BenchmarkTransformer(b *testing.B) {
	for name, dropout := range map[string]float64{"plain": 0, "dropout": 0.1} {
		b.Run(name, func(b *testing.B) {
			dev := openTwo(b)
			e := nn.NewTransformerEncoder(dev, 6, 256, 8, nn.TransformerConfig{FeedForward: 1024, Dropout: dropout, Activation: "gelu", NormFirst: true})
			m := nn.Sequential{e, nn.Func(func(x tt) tt { return x.Reshape(-1, 256) }), nn.NewLinear(dev, 256, 64, nn.LinearConfig{})}
			benchStep(b, m, dev, dev.Normal(dtype.F32, 0, 1, 16, 128, 256), dev.RandomInt(dtype.I64, 0, 64, 16*128))
		})
	}
}

// BenchmarkLstm trains two layers of 128 features over 64 steps of 16 sequences.
func BenchmarkLstm(b *testing.B) {
	dev := openTwo(b)
	l, head := nn.NewLstm(dev, 64, 128, nn.RecurrentConfig{Layers: 2}), nn.NewLinear(dev, 128, 10, nn.LinearConfig{})
	m := nn.Func(func(x tt) tt {
		y, _ := l.Forward(x, nn.LstmState{})
		return head.Forward(y.Select(1, -1))
	})
	benchStep(b, m, dev, dev.Normal(dtype.F32, 0, 1, 16, 64, 64), dev.RandomInt(dtype.I64, 0, 10, 16))
}
