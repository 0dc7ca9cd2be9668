package optim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// BenchmarkStep measures a step for the parameters of a transformer of 6 layers of 256 features: 4.9 M numbers in 78 parameters.
func BenchmarkStep(b *testing.B) {
	dev := open(b)
	var params []nn.Named
	add := func(name string, shape ...int) {
		params = append(params, nn.Named{Name: name, Param: nn.NewParam(dev.Normal(dtype.F32, 0, 0.02, shape...))})
	}
	for i := range 6 {
		for name, shape := range map[string][]int{"qkv": {768, 256}, "out": {256, 256}, "up": {1024, 256}, "down": {256, 1024}} {
			add(fmt.Sprintf("%d.%s.weight", i, name), shape...)
			add(fmt.Sprintf("%d.%s.bias", i, name), shape[0])
		}
		for _, name := range []string{"norm1", "norm2"} {
			add(fmt.Sprintf("%d.%s.weight", i, name), 256)
			add(fmt.Sprintf("%d.%s.bias", i, name), 256)
		}
	}
	add("embedding", 256, 256)
	add("head", 256, 256)
	var roots []*tensor.Tensor
	for _, p := range params {
		roots = append(roots, p.Value().Square().Sum())
	}
	g, err := tensor.Backward(roots, nil)
	require.NoError(b, err)
	for name, opt := range map[string]optim.Optimizer{"sgd": optim.NewSGD(optim.SGDConfig{}), "adamw": optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01}),
		"muon": optim.Groups{{Match: optim.Matrices(), Optimizer: optim.NewMuon(optim.MuonConfig{})}, {Optimizer: optim.NewAdamW(optim.AdamWConfig{})}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				next := map[int]*tensor.Tensor{}
				for i, p := range params {
					next[i] = g.Of(p.Value())
				}
				require.NoError(b, opt.Step(1e-3, params, g))
				require.NoError(b, dev.Sync(ctx))
				for i, p := range params {
					g.Set(p.Value(), next[i])
				}
			}
		})
	}
	clip := &optim.Clip{Norm: 1e9}
	b.Run("clip", func(b *testing.B) {
		for b.Loop() {
			norm, err := clip.Apply(params, g)
			require.NoError(b, err)
			norm.Release()
			require.NoError(b, dev.Sync(ctx))
		}
	})
}
