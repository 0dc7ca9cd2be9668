package op

import (
	"slices"

	"github.com/goburn/burn/core/shape"
)

type termCount func(n *Node, in []Desc) int

// Terms returns the number of terms that are accumulated in one element of the result of n, for Tolerance.Bounds. n is valid, and the
// tolerance of its row is per term. The default, for elementwise ops, is two.
func Terms(n *Node, in []Desc) int {
	if f, ok := termCounts[n.Op]; ok {
		return f(n, in)
	}
	return twoTerms(n, in)
}

// termCounts contains the functions of ops that do not use the default.
var termCounts = map[Code]termCount{
	// The elements that are reduced.
	Sum: overAxes, Prod: overAxes, Mean: overAxes, Variance: overAxes, LogSumExp: overAxes,
	CumSum: overAxis, CumProd: overAxis, Softmax: overAxis, LogSoftmax: overAxis,
	WindowReduce: overWindow, AvgPool: overWindow,
	// The products, and the bias.
	MatMul: func(n *Node, in []Desc) int {
		s := in[0].Shape
		if n.Attrs.Bool("transpose_a") {
			return s[len(s)-2]
		}
		return s[len(s)-1]
	},
	Linear: func(_ *Node, in []Desc) int { return in[0].Shape[len(in[0].Shape)-1] + 1 },
	Conv:   func(_ *Node, in []Desc) int { return in[1].Shape[1:].Size() },
	// Two numbers of either sign, which cancel.
	HardSigmoid: twoTerms, HardSwish: twoTerms, Gelu: twoTerms,
	// All updates may be combined into one element, with the previous value.
	Scatter: overUpdates, ScatterElements: overUpdates, ScatterND: overTuples,
	// The normalised elements, mean, scale, bias and epsilon.
	BatchNorm: func(*Node, []Desc) int { return 4 },
	LayerNorm: overNorm, RMSNorm: overNorm,
	GroupNorm: func(n *Node, in []Desc) int { return in[0].Shape[1:].Size()/n.Attrs.Int("groups") + 4 },
	// A gate sums inputs and hidden units, once per step.
	LSTM: overSteps, GRU: overSteps, RNN: overSteps,
	// Gates, arithmetic and normalisation.
	GeGLU: twoTerms, TanhShrink: twoTerms, Softmin: overAxis, Lerp: func(*Node, []Desc) int { return 4 }, LogAddExp: twoTerms, LinSpace: twoTerms,
	LpNormalize:       func(n *Node, in []Desc) int { return overAxis(n, in) + 4 },
	LocalResponseNorm: func(n *Node, in []Desc) int { return n.Attrs.Int("size") + 4 },
	// Statistics.
	Std: overAxes, Median: twoTerms, Quantile: twoTerms, VectorNorm: overAxes, LogCumSumExp: overAxis, Covariance: overLast, CorrCoef: overLast,
	CosineSimilarity: func(_ *Node, in []Desc) int {
		most := 1
		for _, d := range in {
			for _, k := range d.Shape {
				most = max(most, k)
			}
		}
		return most
	},
	// Linear algebra.
	Trace: overLast, Cross: twoTerms, Cholesky: overLast, TriangularSolve: overLast, LU: overLast, Det: overLast, SlogDet: overLast, Inverse: overLast,
	Solve: overLast, QR: bothDims, Eigh: bothDims, SVD: bothDims, MatrixNorm: bothDims, PInv: bothDims, LstSq: bothDims,
	MatrixPower: func(n *Node, in []Desc) int {
		return (max(n.Attrs.Int("n"), -n.Attrs.Int("n")) + 1) * overLast(n, in)
	},
	Einsum: func(n *Node, in []Desc) int { return einsumTerms(n.Attrs.Str("equation"), in) },
	// Losses.
	NLLLoss: overLoss, CrossEntropyLoss: overLoss, MSELoss: overLoss, L1Loss: overLoss, HuberLoss: overLoss, SmoothL1Loss: overLoss, BCELoss: overLoss,
	BCEWithLogitsLoss: overLoss, KLDivLoss: overLoss, PoissonNLLLoss: overLoss, HingeLoss: overLoss, HingeEmbeddingLoss: overLoss,
	MarginRankingLoss: overLoss, CosineEmbeddingLoss: overLoss, TripletMarginLoss: overLoss, CTCLoss: overLoss,
	// Random numbers.
	RandomUniform: twoTerms, RandomNormal: twoTerms,
	// Sequences.
	Attention: func(_ *Node, in []Desc) int { return in[0].Shape[3] + in[1].Shape[2] + 4 },
	AttentionGradient: func(_ *Node, in []Desc) int {
		q, v := in[0].Shape, in[2].Shape
		return q[3] + v[2] + v[3] + q[1]/v[1]*q[2] + 4
	},
	RotaryEmbedding: twoTerms,
	// Pooling, interpolation and convolution. The error of coordinates is proportional to the dimensions.
	MaxPool: overWindow, LpPool: overWindow, Col2Im: overWindow,
	AdaptiveAvgPool: func(n *Node, in []Desc) int {
		s, p := in[0].Shape, 1
		for i, m := range n.Attrs.Ints("size") {
			p *= s[len(s)-len(n.Attrs.Ints("size"))+i]/m + 2
		}
		return p
	},
	Interpolate:   func(n *Node, _ []Desc) int { return 4 * len(n.Attrs.Ints("size")) },
	AffineGrid:    func(n *Node, _ []Desc) int { return len(n.Attrs.Ints("size")) + 1 },
	GridSample:    func(_ *Node, in []Desc) int { return total(in[0].Shape[2:]) + 4*(len(in[0].Shape)-2) },
	RoiAlign:      func(_ *Node, in []Desc) int { return total(in[0].Shape[2:]) + 4 },
	DeformConv:    func(_ *Node, in []Desc) int { return in[1].Shape[1:].Size() + total(in[0].Shape[2:]) },
	ConvTranspose: func(_ *Node, in []Desc) int { return max(1, in[1].Shape[0]) * in[1].Shape[2:].Size() },
	// Spectra. The error of a Kaiser window is proportional to beta, the size of its exponent.
	FFT: overTransform, RFFT: overTransform, IRFFT: overTransform, STFT: overFrame, ISTFT: overFrame,
	HannWindow: twoTerms, HammingWindow: twoTerms, BlackmanWindow: twoTerms,
	KaiserWindow: func(n *Node, _ []Desc) int { return 2 + int(n.Attrs.Float("beta")) },
}

func twoTerms(*Node, []Desc) int { return 2 }

func extent(s shape.Shape, axes []int) int {
	p := 1
	for _, a := range axes {
		p *= s[a]
	}
	return p
}

func total(s shape.Shape) int {
	n := 0
	for _, d := range s {
		n += d
	}
	return n
}

func overAxes(n *Node, in []Desc) int { return extent(in[0].Shape, n.Attrs.Ints("axes")) }

func overAxis(n *Node, in []Desc) int { return in[0].Shape[n.Attrs.Int("axis")] }

func overWindow(n *Node, _ []Desc) int { return shape.Shape(n.Attrs.Ints("window")).Size() }

func overUpdates(_ *Node, in []Desc) int { return in[1].Shape.Size() + 1 }

// overTuples returns the number of index tuples, which may be empty, plus one for the previous value.
func overTuples(_ *Node, in []Desc) int {
	s := in[1].Shape
	return s[:len(s)-1].Size() + 1
}

func overNorm(n *Node, in []Desc) int { return in[0].Shape[n.Attrs.Int("axis"):].Size() + 4 }

func overSteps(_ *Node, in []Desc) int {
	return max(1, in[0].Shape[0]) * (in[1].Shape[2] + in[2].Shape[2] + 2)
}

func overLast(_ *Node, in []Desc) int { return max(1, in[0].Shape[len(in[0].Shape)-1]) }

// bothDims returns rows plus columns: about as many rotations or reflections change each element.
func bothDims(_ *Node, in []Desc) int { return total(in[0].Shape[len(in[0].Shape)-2:]) }

// overLoss returns the number of losses in the mean, plus a few terms for each loss.
func overLoss(_ *Node, in []Desc) int { return in[0].Shape.Size() + 8 }

func overTransform(n *Node, in []Desc) int {
	return max(1, n.Attrs.Int("n"), in[0].Shape[n.Attrs.Int("axis")])
}

func overFrame(n *Node, _ []Desc) int { return n.Attrs.Int("n_fft") }

// einsumTerms returns the number of products that are summed: the size of the labels that the result does not have.
func einsumTerms(equation string, in []Desc) int {
	e, err := parseEinsum(equation, in)
	if err != nil {
		return 1
	}
	p := 1
	for label, size := range e.size {
		if !slices.Contains(e.out, label) {
			p *= size
		}
	}
	return p
}
