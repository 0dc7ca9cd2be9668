package tensor_test

import (
	"github.com/goburn/burn/tensor"
)

// both holds the options for PyTorch's recurrent layers.
var both = tensor.RecurrentOptions{Direction: "bidirectional", ResetAfter: true}

var ignored = 1

var layerCalls = map[string]call{
	"Conv": one(func(x ts) tt {
		return x[0].Conv(x[1], tensor.ConvOptions{Strides: []int{2, 2}, Padding: []int{1, 1}, Groups: 3})
	}),
	"Conv1d": one(func(x ts) tt {
		return x[0].Conv1d(x[1], x[2], tensor.ConvOptions{Padding: []int{1}, Dilation: []int{2}})
	}),
	"Conv2d": one(func(x ts) tt {
		return x[0].Conv2d(x[1], x[2], tensor.ConvOptions{Strides: []int{2, 1}, Padding: []int{1, 0}, Groups: 3})
	}),
	"Conv2d/asymmetric": one(func(x ts) tt {
		return x[0].Conv2d(x[1], nil, tensor.ConvOptions{PadLo: []int{0, 1}, PadHi: []int{2, 0}, Groups: 3})
	}),
	"Conv3d":        one(func(x ts) tt { return x[0].Conv3d(x[1], x[2], tensor.ConvOptions{Strides: []int{1, 2, 1}}) }),
	"ConvTranspose": one(func(x ts) tt { return x[0].ConvTranspose(x[1], tensor.ConvTransposeOptions{Strides: []int{2, 2}}) }),
	"ConvTranspose1d": one(func(x ts) tt {
		return x[0].ConvTranspose1d(x[1], x[2], tensor.ConvTransposeOptions{Strides: []int{2}, Padding: []int{1}, OutputPadding: []int{1}})
	}),
	"ConvTranspose2d": one(func(x ts) tt {
		return x[0].ConvTranspose2d(x[1], x[2], tensor.ConvTransposeOptions{Strides: []int{2, 1}, Groups: 3, Dilation: []int{1, 2}})
	}),
	"ConvTranspose3d": one(func(x ts) tt { return x[0].ConvTranspose3d(x[1], x[2], tensor.ConvTransposeOptions{}) }),
	"DeformConv2d": one(func(x ts) tt {
		return x[0].DeformConv2d(x[1], x[2], tensor.DeformConvOptions{Strides: []int{2, 2}, Padding: []int{1, 1}, Mask: x[3], Bias: x[4]})
	}),
	"Im2Col": one(func(x ts) tt {
		return x[0].Im2Col([]int{3, 2}, tensor.WindowOptions{Strides: []int{2, 1}, Padding: []int{1, 1}})
	}),
	"Col2Im": one(func(x ts) tt {
		return x[0].Col2Im([]int{5, 4}, []int{3, 2}, tensor.WindowOptions{Strides: []int{2, 1}, Padding: []int{1, 1}})
	}),
	"MaxPool": one(func(x ts) tt {
		return x[0].MaxPool([]int{3, 2}, tensor.PoolOptions{Strides: []int{2, 2}, Padding: []int{1, 1}})
	}),
	"MaxPool/ceil": one(func(x ts) tt { return x[0].MaxPool([]int{2, 2}, tensor.PoolOptions{Ceil: true}) }),
	"MaxPool/ceilpad": one(func(x ts) tt {
		return x[0].MaxPool([]int{2}, tensor.PoolOptions{Strides: []int{3}, Padding: []int{1}, Ceil: true})
	}),
	"MaxPool/3d": one(func(x ts) tt { return x[0].MaxPool([]int{2, 2, 2}, tensor.PoolOptions{}) }),
	"MaxUnpool":  one(func(x ts) tt { return x[0].MaxUnpool(x[1], 5, 4) }),
	"AvgPool": one(func(x ts) tt {
		return x[0].AvgPool([]int{3, 3}, tensor.PoolOptions{Strides: []int{2, 2}, Padding: []int{1, 1}})
	}),
	"AvgPool/exclude": one(func(x ts) tt {
		return x[0].AvgPool([]int{3, 3}, tensor.PoolOptions{Strides: []int{2, 2}, Padding: []int{1, 1}, ExcludePad: true})
	}),
	"AvgPool/ceil":          one(func(x ts) tt { return x[0].AvgPool([]int{2, 2}, tensor.PoolOptions{Padding: []int{1, 1}, Ceil: true}) }),
	"AvgPool/1d":            one(func(x ts) tt { return x[0].AvgPool([]int{4}, tensor.PoolOptions{Strides: []int{3}}) }),
	"LpPool":                one(func(x ts) tt { return x[0].LpPool(3, []int{2, 2}, tensor.PoolOptions{}) }),
	"AdaptiveAvgPool":       one(func(x ts) tt { return x[0].AdaptiveAvgPool(3, 2) }),
	"AdaptiveAvgPool/1d":    one(func(x ts) tt { return x[0].AdaptiveAvgPool(4) }),
	"AdaptiveMaxPool":       one(func(x ts) tt { return x[0].AdaptiveMaxPool(3, 2) }),
	"LayerNorm":             one(func(x ts) tt { return x[0].LayerNorm(2, x[1], nil, 1e-5) }),
	"RMSNorm":               one(func(x ts) tt { return x[0].RMSNorm(-1, x[1], 1e-5) }),
	"GroupNorm":             one(func(x ts) tt { return x[0].GroupNorm(2, x[1], x[1], 1e-5) }),
	"GroupNorm/plain":       one(func(x ts) tt { return x[0].GroupNorm(1, nil, nil, 1e-5) }),
	"InstanceNorm":          one(func(x ts) tt { return x[0].InstanceNorm(x[1], x[2], 1e-5) }),
	"BatchNorm":             one(func(x ts) tt { return x[0].BatchNorm(x[1], x[2], x[3], x[4], 1e-5) }),
	"LocalResponseNorm":     one(func(x ts) tt { return x[0].LocalResponseNorm(2, 0.5, 0.75, 2) }),
	"LocalResponseNorm/odd": one(func(x ts) tt { return x[0].LocalResponseNorm(3, 0.5, 0.75, 2) }),
	"Linear":                one(func(x ts) tt { return x[0].Linear(x[1], x[2]) }),
	"LinearT":               one(func(x ts) tt { return x[0].LinearT(x[1], x[2]) }),
	"Embedding":             one(func(x ts) tt { return x[0].Embedding(x[1]) }),
	"EmbeddingPadded":       one(func(x ts) tt { return x[0].EmbeddingPadded(x[1], 1) }),
	"Attention":             one(func(x ts) tt { return x[0].Attention(x[1], x[2], tensor.AttentionOptions{}) }),
	"Attention/mask":        one(func(x ts) tt { return x[0].Attention(x[1], x[2], tensor.AttentionOptions{Mask: x[3], Scale: 0.3}) }),
	"Attention/causal":      one(func(x ts) tt { return x[0].Attention(x[1], x[2], tensor.AttentionOptions{Causal: true}) }),
	"RotaryEmbedding":       one(func(x ts) tt { return x[0].RotaryEmbedding(x[1], x[2], false) }),
	"CacheWrite":            one(func(x ts) tt { return x[0].CacheWrite(1, x[1], x[2]) }),
	"NLLLoss":               one(func(x ts) tt { return x[0].NLLLoss(x[1], tensor.ClassOptions{Weight: x[2], Ignore: &ignored}) }),
	"CrossEntropyLoss": one(func(x ts) tt {
		return x[0].CrossEntropyLoss(x[1], tensor.ClassOptions{Weight: x[2], LabelSmoothing: 0.1, Reduction: tensor.SumLoss})
	}),
	"CrossEntropyLoss/plain":        one(func(x ts) tt { return x[0].CrossEntropyLoss(x[1], tensor.ClassOptions{}) }),
	"CrossEntropyWithProbabilities": one(func(x ts) tt { return x[0].CrossEntropyWithProbabilities(x[1]) }),
	"MSELoss":                       one(func(x ts) tt { return x[0].MSELoss(x[1], "") }),
	"MSELoss/sum":                   one(func(x ts) tt { return x[0].MSELoss(x[1], tensor.SumLoss) }),
	"MSELoss/each":                  one(func(x ts) tt { return x[0].MSELoss(x[1], tensor.EachLoss) }),
	"L1Loss":                        one(func(x ts) tt { return x[0].L1Loss(x[1], tensor.MeanLoss) }),
	"HuberLoss":                     one(func(x ts) tt { return x[0].HuberLoss(x[1], 0.7, "") }),
	"SmoothL1Loss":                  one(func(x ts) tt { return x[0].SmoothL1Loss(x[1], 0.7, "") }),
	"BCELoss":                       one(func(x ts) tt { return x[0].BCELoss(x[1], "") }),
	"BCEWithLogitsLoss":             one(func(x ts) tt { return x[0].BCEWithLogitsLoss(x[1], x[2], "") }),
	"KLDivLoss":                     one(func(x ts) tt { return x[0].KLDivLoss(x[1], false, "") }),
	"KLDivLoss/log":                 one(func(x ts) tt { return x[0].KLDivLoss(x[1], true, tensor.SumLoss) }),
	"PoissonNLLLoss":                one(func(x ts) tt { return x[0].PoissonNLLLoss(x[1], tensor.PoissonOptions{Full: true}) }),
	"PoissonNLLLoss/plain":          one(func(x ts) tt { return x[0].PoissonNLLLoss(x[1], tensor.PoissonOptions{Plain: true}) }),
	"CosineEmbeddingLoss":           one(func(x ts) tt { return x[0].CosineEmbeddingLoss(x[1], x[2], 0.2, "") }),
	"HingeLoss":                     one(func(x ts) tt { return x[0].HingeLoss(x[1], 1, "") }),
	"HingeEmbeddingLoss":            one(func(x ts) tt { return x[0].HingeEmbeddingLoss(x[1], 0.9, "") }),
	"MarginRankingLoss":             one(func(x ts) tt { return x[0].MarginRankingLoss(x[1], x[2], 0.3, "") }),
	"TripletMarginLoss":             one(func(x ts) tt { return x[0].TripletMarginLoss(x[1], x[2], tensor.TripletOptions{}) }),
	"TripletMarginLoss/swap": one(func(x ts) tt {
		return x[0].TripletMarginLoss(x[1], x[2], tensor.TripletOptions{Margin: 2, P: 1, Swap: true, Reduction: tensor.SumLoss})
	}),
	"CTCLoss":                    one(func(x ts) tt { return x[0].CTCLoss(x[1], x[2], x[3], tensor.CTCOptions{}) }),
	"MaxPoolWithIndices":         two(func(x ts) (tt, tt) { return x[0].MaxPoolWithIndices([]int{2, 2}, tensor.PoolOptions{}) }),
	"AdaptiveMaxPoolWithIndices": two(func(x ts) (tt, tt) { return x[0].AdaptiveMaxPoolWithIndices(3, 2) }),
	"RNN":                        two(func(x ts) (tt, tt) { return x[0].RNN(x[1], x[2], x[3], x[4], both) }),
	"GRU":                        two(func(x ts) (tt, tt) { return x[0].GRU(x[1], x[2], x[3], x[4], x[5], both) }),
	"BatchNormTrain":             three(func(x ts) (tt, tt, tt) { return x[0].BatchNormTrain(x[1], x[2], 1e-5) }),
	"LSTM":                       three(func(x ts) (tt, tt, tt) { return x[0].LSTM(x[1], x[2], x[3], x[4], x[5], both) }),
}
