package nn_test

import (
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

type dev = *tensor.Device

func linear(in, out int, c nn.LinearConfig) layer {
	return of(func(d dev) *nn.Linear { return nn.NewLinear(d, in, out, c) })
}

func embedding(c nn.EmbeddingConfig) layer {
	return of(func(d dev) *nn.Embedding { return nn.NewEmbedding(d, 6, 3, c) })
}

func conv2d(in, out int, kernel [2]int, c nn.ConvConfig) layer {
	return of(func(d dev) *nn.Conv2d { return nn.NewConv2d(d, in, out, kernel, c) })
}

func batchNorm(channels int, c nn.BatchNormConfig, training bool) layer {
	return of(func(d dev) *nn.BatchNorm {
		l := nn.NewBatchNorm(d, channels, c)
		l.SetTraining(training)
		return l
	})
}

func layerNorm(size []int, c nn.NormConfig) layer {
	return of(func(d dev) *nn.LayerNorm { return nn.NewLayerNorm(d, size, c) })
}

func ints(v ...int) []int { return v }

func ptr[T any](v T) *T { return &v }

var basicLayers = map[string]layer{
	"Linear":            linear(4, 3, nn.LinearConfig{}),
	"Linear/nobias":     linear(4, 3, nn.LinearConfig{NoBias: true}),
	"Embedding":         embedding(nn.EmbeddingConfig{}),
	"Embedding/padding": embedding(nn.EmbeddingConfig{Padding: ptr(2)}),
	"Conv1d": of(func(d dev) *nn.Conv1d {
		return nn.NewConv1d(d, 2, 3, 3, nn.ConvConfig{Stride: ints(2), Padding: ints(1)})
	}),
	"Conv2d":            conv2d(2, 3, [2]int{3, 2}, nn.ConvConfig{Padding: ints(1, 0)}),
	"Conv2d/groups":     conv2d(4, 6, [2]int{3, 3}, nn.ConvConfig{Stride: ints(2, 1), Padding: ints(2), Dilation: ints(2), Groups: 2, NoBias: true}),
	"Conv2d/same":       conv2d(2, 3, [2]int{2, 3}, nn.ConvConfig{Same: true}),
	"Conv2d/depthwise":  conv2d(3, 3, [2]int{3, 3}, nn.ConvConfig{Padding: ints(1), Groups: 3}),
	"Conv2d/asymmetric": conv2d(2, 2, [2]int{3, 2}, nn.ConvConfig{PadLo: ints(0, 1), PadHi: ints(2, 0)}),
	"Conv3d": of(func(d dev) *nn.Conv3d {
		return nn.NewConv3d(d, 1, 2, [3]int{2, 2, 3}, nn.ConvConfig{Stride: ints(1, 2, 1), Padding: ints(0, 1, 1)})
	}),
	"ConvTranspose1d": of(func(d dev) *nn.ConvTranspose1d {
		return nn.NewConvTranspose1d(d, 2, 3, 3, nn.ConvTransposeConfig{Stride: ints(2), Padding: ints(1), OutputPadding: ints(1)})
	}),
	"ConvTranspose2d": of(func(d dev) *nn.ConvTranspose2d {
		return nn.NewConvTranspose2d(d, 4, 2, [2]int{3, 2}, nn.ConvTransposeConfig{Stride: ints(2, 3), Padding: ints(1, 0), Groups: 2, Dilation: ints(1, 2)})
	}),
	"ConvTranspose3d": of(func(d dev) *nn.ConvTranspose3d {
		return nn.NewConvTranspose3d(d, 1, 2, [3]int{2, 2, 2}, nn.ConvTransposeConfig{Stride: ints(1, 2, 1)})
	}),
	"DeformConv2d": with(func(d dev) *nn.DeformConv2d {
		return nn.NewDeformConv2d(d, 2, 3, [2]int{2, 3}, nn.DeformConvConfig{Stride: ints(2), Padding: ints(1), OffsetGroups: 2})
	}, func(m *nn.DeformConv2d, x []tt) []tt { return []tt{m.Forward(x[0], x[1], x[2])} }),
	"BatchNorm":          batchNorm(3, nn.BatchNormConfig{}, true),
	"BatchNorm/eval":     batchNorm(3, nn.BatchNormConfig{}, false),
	"BatchNorm/1d":       batchNorm(2, nn.BatchNormConfig{Momentum: 0.3}, true),
	"BatchNorm/1d/eval":  batchNorm(2, nn.BatchNormConfig{Momentum: 0.3}, false),
	"BatchNorm/2d":       batchNorm(2, nn.BatchNormConfig{Epsilon: 1e-3}, true),
	"BatchNorm/2d/eval":  batchNorm(2, nn.BatchNormConfig{Epsilon: 1e-3}, false),
	"BatchNorm/3d":       batchNorm(2, nn.BatchNormConfig{Plain: true}, true),
	"BatchNorm/3d/eval":  batchNorm(2, nn.BatchNormConfig{Plain: true}, false),
	"LayerNorm":          layerNorm(ints(5), nn.NormConfig{}),
	"LayerNorm/two":      layerNorm(ints(3, 4), nn.NormConfig{Epsilon: 1e-3}),
	"LayerNorm/plain":    layerNorm(ints(4), nn.NormConfig{Plain: true}),
	"GroupNorm":          of(func(d dev) *nn.GroupNorm { return nn.NewGroupNorm(d, 2, 4, nn.NormConfig{}) }),
	"InstanceNorm":       of(func(d dev) *nn.InstanceNorm { return nn.NewInstanceNorm(d, 3, nn.NormConfig{}) }),
	"InstanceNorm/plain": of(func(d dev) *nn.InstanceNorm { return nn.NewInstanceNorm(d, 3, nn.NormConfig{Plain: true}) }),
	"RMSNorm":            of(func(d dev) *nn.RMSNorm { return nn.NewRMSNorm(d, 5, 0) }),
	"LocalResponseNorm":  plain(nn.NewLocalResponseNorm(3)), "LocalResponseNorm/even": plain(nn.NewLocalResponseNorm(2)),
}

func ceil(exclude bool) nn.PoolConfig {
	return nn.PoolConfig{Stride: ints(2), Padding: ints(1), Ceil: true, ExcludePad: exclude}
}

var poolLayers = map[string]layer{
	"MaxPool1d": plain(nn.NewMaxPool1d(2, nn.PoolConfig{})), "MaxPool1d/ceil": plain(nn.NewMaxPool1d(3, ceil(false))),
	"MaxPool2d": plain(nn.NewMaxPool2d([2]int{2, 2}, nn.PoolConfig{})), "MaxPool2d/ceil": plain(nn.NewMaxPool2d([2]int{3, 3}, ceil(false))),
	"MaxPool3d": plain(nn.NewMaxPool3d([3]int{2, 2, 2}, nn.PoolConfig{})), "MaxPool3d/ceil": plain(nn.NewMaxPool3d([3]int{3, 3, 3}, ceil(false))),
	"AvgPool1d": plain(nn.NewAvgPool1d(2, nn.PoolConfig{})), "AvgPool1d/ceil": plain(nn.NewAvgPool1d(3, ceil(true))),
	"AvgPool2d": plain(nn.NewAvgPool2d([2]int{2, 2}, nn.PoolConfig{})), "AvgPool2d/ceil": plain(nn.NewAvgPool2d([2]int{3, 3}, ceil(true))),
	"AvgPool3d": plain(nn.NewAvgPool3d([3]int{2, 2, 2}, nn.PoolConfig{})), "AvgPool3d/ceil": plain(nn.NewAvgPool3d([3]int{3, 3, 3}, ceil(true))),
	"LpPool1d":           plain(nn.NewLpPool1d(3, 2, nn.PoolConfig{})),
	"LpPool2d":           plain(nn.NewLpPool2d(3, [2]int{2, 2}, nn.PoolConfig{})),
	"LpPool3d":           plain(nn.NewLpPool3d(3, [3]int{2, 2, 2}, nn.PoolConfig{})),
	"MaxPool2d/dilation": plain(nn.NewMaxPool2d([2]int{2, 3}, nn.PoolConfig{Stride: ints(1, 2), Padding: ints(1, 0), Dilation: ints(2, 1)})),
	"AdaptiveAvgPool1d":  plain(nn.NewAdaptiveAvgPool1d(3)), "AdaptiveAvgPool1d/one": plain(nn.NewAdaptiveAvgPool1d(1)),
	"AdaptiveAvgPool2d": plain(nn.NewAdaptiveAvgPool2d([2]int{3, 3})), "AdaptiveAvgPool2d/one": plain(nn.NewAdaptiveAvgPool2d([2]int{1, 1})),
	"AdaptiveAvgPool3d": plain(nn.NewAdaptiveAvgPool3d([3]int{3, 3, 3})), "AdaptiveAvgPool3d/one": plain(nn.NewAdaptiveAvgPool3d([3]int{1, 1, 1})),
	"AdaptiveMaxPool1d": plain(nn.NewAdaptiveMaxPool1d(3)), "AdaptiveMaxPool2d": plain(nn.NewAdaptiveMaxPool2d([2]int{3, 3})),
	"AdaptiveMaxPool3d": plain(nn.NewAdaptiveMaxPool3d([3]int{3, 3, 3})), "AdaptiveAvgPool2d/even": plain(nn.NewAdaptiveAvgPool2d([2]int{2, 0})),
	"AdaptiveMaxPool2d/even": plain(nn.NewAdaptiveMaxPool2d([2]int{2, 3})),
	"Interpolate1d":          plain(nn.NewInterpolate1d(nn.InterpolateConfig{Size: ints(8)})),
	"Interpolate1d/linear":   plain(nn.NewInterpolate1d(nn.InterpolateConfig{Scale: []float64{1.7}, Mode: "linear"})),
	"Interpolate2d":          plain(nn.NewInterpolate2d(nn.InterpolateConfig{Scale: []float64{2}})),
	"Interpolate2d/linear":   plain(nn.NewInterpolate2d(nn.InterpolateConfig{Size: ints(5, 6), Mode: "linear", AlignCorners: true})),
	"Interpolate2d/cubic":    plain(nn.NewInterpolate2d(nn.InterpolateConfig{Scale: []float64{1.5, 2}, Mode: "cubic"})),
	"PixelShuffle":           plain(&nn.PixelShuffle{Factor: 2}), "PixelUnshuffle": plain(&nn.PixelUnshuffle{Factor: 2}),
	"Unfold4d": plain(nn.NewUnfold4d([2]int{2, 3}, nn.UnfoldConfig{Stride: ints(1, 2), Padding: ints(1)})),
	"Fold4d":   plain(nn.NewFold4d([2]int{4, 5}, [2]int{2, 3}, nn.UnfoldConfig{Stride: ints(1, 2), Padding: ints(1)})),
}
