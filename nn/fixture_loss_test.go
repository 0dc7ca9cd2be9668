package nn_test

import (
	"maps"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

var lossLayers = func() map[string]layer {
	all := map[string]layer{
		"CrossEntropyLoss/options":       loss(func(x []tt) tt { return nn.CrossEntropyLoss{Weight: x[2], LabelSmoothing: 0.2}.Forward(x[0], x[1]) }),
		"CrossEntropyLoss/soft":          loss(func(x []tt) tt { return nn.CrossEntropyLoss{Weight: x[2], LabelSmoothing: 0.1}.Forward(x[0], x[1]) }),
		"CrossEntropyLoss/probabilities": loss(func(x []tt) tt { return nn.CrossEntropyLoss{Probabilities: true}.Forward(x[0], x[1]) }),
		"NLLLoss":                        loss(func(x []tt) tt { return nn.NLLLoss{Weight: x[2], Ignore: ptr(3)}.Forward(x[0], x[1]) }),
		"HuberLoss":                      loss(func(x []tt) tt { return nn.HuberLoss{Delta: 0.7}.Forward(x[0], x[1]) }),
		"SmoothL1Loss":                   loss(func(x []tt) tt { return nn.SmoothL1Loss{Beta: 0.7}.Forward(x[0], x[1]) }),
		"BCELoss":                        loss(func(x []tt) tt { return nn.BCELoss{Weight: x[2]}.Forward(x[0], x[1]) }),
		"BCELoss/logits":                 loss(func(x []tt) tt { return nn.BCELoss{Logits: true, PosWeight: x[2]}.Forward(x[0], x[1].Cast(dtype.I64)) }),
		"BCELoss/smooth":                 loss(func(x []tt) tt { return nn.BCELoss{Logits: true, LabelSmoothing: 0.2}.Forward(x[0], x[1]) }),
		"KLDivLoss":                      loss(func(x []tt) tt { return nn.KLDivLoss{}.Forward(x[0], x[1]) }),
		"KLDivLoss/batchmean":            loss(func(x []tt) tt { return nn.KLDivLoss{LogTarget: true, Reduction: nn.BatchMean}.Forward(x[0], x[1]) }),
		"PoissonNLLLoss":                 loss(func(x []tt) tt { return nn.PoissonNLLLoss{}.Forward(x[0], x[1]) }),
		"PoissonNLLLoss/full":            loss(func(x []tt) tt { return nn.PoissonNLLLoss{Rates: true, Full: true}.Forward(x[0], x[1]) }),
		"HingeLoss":                      loss(func(x []tt) tt { return nn.HingeLoss{}.Forward(x[0], x[1]) }),
		"HingeEmbeddingLoss":             loss(func(x []tt) tt { return nn.HingeEmbeddingLoss{}.Forward(x[0], x[1]) }),
		"CosineEmbeddingLoss":            loss(func(x []tt) tt { return nn.CosineEmbeddingLoss{Margin: -0.2}.Forward(x[0], x[1], x[2]) }),
		"MarginRankingLoss":              loss(func(x []tt) tt { return nn.MarginRankingLoss{Margin: 0.3}.Forward(x[0], x[1], x[2]) }),
		"TripletMarginLoss":              loss(func(x []tt) tt { return nn.TripletMarginLoss{}.Forward(x[0], x[1], x[2]) }),
		"TripletMarginLoss/swap":         loss(func(x []tt) tt { return nn.TripletMarginLoss{Margin: 0.5, P: 1, Swap: true}.Forward(x[0], x[1], x[2]) }),
		"CTCLoss":                        loss(func(x []tt) tt { return nn.CTCLoss{}.Forward(x[0].LogSoftmax(2), x[1], x[2], x[3]) }),
		"GramMatrixLoss":                 loss(func(x []tt) tt { return nn.GramMatrixLoss{Weights: []float64{1, 0.5}}.Forward(x[:2], x[2:]) }),
	}
	for _, m := range []map[string]layer{
		reductions("MSELoss", func(r tensor.Reduction, x []tt) tt { return nn.MSELoss{Reduction: r}.Forward(x[0], x[1]) }),
		reductions("L1Loss", func(r tensor.Reduction, x []tt) tt { return nn.L1Loss{Reduction: r}.Forward(x[0], x[1]) }),
		reductions("CrossEntropyLoss", func(r tensor.Reduction, x []tt) tt { return nn.CrossEntropyLoss{Reduction: r}.Forward(x[0], x[1]) }),
		reductions("GaussianNLLLoss", func(r tensor.Reduction, x []tt) tt {
			return nn.GaussianNLLLoss{Full: r == tensor.SumLoss, Reduction: r}.Forward(x[0], x[1], x[2])
		}),
		reductions("MultiMarginLoss", func(r tensor.Reduction, x []tt) tt {
			l := nn.MultiMarginLoss{Reduction: r, P: 1 + b2i(r == tensor.SumLoss)}
			if r == tensor.EachLoss {
				l.Weight = x[2]
			}
			return l.Forward(x[0], x[1])
		}),
		reductions("SoftMarginLoss", func(r tensor.Reduction, x []tt) tt { return nn.SoftMarginLoss{Reduction: r}.Forward(x[0], x[1]) }),
		reductions("LpLoss", func(r tensor.Reduction, x []tt) tt { return nn.LpLoss{P: 3, Reduction: r}.Forward(x[0], x[1]) }),
		reductions("RNNTLoss", func(r tensor.Reduction, x []tt) tt { return nn.RNNTLoss{Reduction: r}.Forward(x[0], x[1], x[2], x[3]) }),
	} {
		maps.Copy(all, m)
	}
	return all
}()
