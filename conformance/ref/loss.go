package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// reduceLosses reduces the losses ys to the output of n; the mean divides by divisor.
func reduceLosses(n *op.Node, ys []float64, divisor float64) Tensor {
	out := Zeros(n.Outputs[0])
	switch n.Attrs.Str("reduction") {
	case "none":
		copy(out.F, ys)
	case "sum":
		out.F[0] = total(ys)
	case "mean":
		out.F[0] = total(ys) / divisor
	}
	return out
}

// elementLoss returns a kernel of the loss of one element of each operand; operands beyond the second broadcast.
func elementLoss(f func(a op.Attrs, x []float64) float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		var ys []float64
		each(in[0].Desc.Shape, func(_ int, idx []int) {
			var x []float64
			for _, t := range in {
				x = append(x, t.F[stretched(t.Desc.Shape, idx)])
			}
			ys = append(ys, f(n.Attrs, x))
		})
		return reduceLosses(n, ys, float64(len(ys)))
	})
}

// vectorLoss returns the kernel of a loss that f computes from a vector v along the last axis of each of the first operands, whose number
// is vectors, and from one element y of each further operand.
func vectorLoss(vectors int, f func(a op.Attrs, v [][]float64, y []float64) float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		s := in[0].Desc.Shape
		width := s[len(s)-1]
		var ys []float64
		for i := range s[:len(s)-1].Size() {
			var v [][]float64
			var y []float64
			for k, t := range in {
				if k < vectors {
					v = append(v, t.F[i*width:(i+1)*width])
				} else {
					y = append(y, t.F[i])
				}
			}
			ys = append(ys, f(n.Attrs, v, y))
		}
		return reduceLosses(n, ys, float64(len(ys)))
	})
}

func inner(u, v []float64) float64 {
	var s accumulator
	for i := range u {
		s.add(u[i] * v[i])
	}
	return s.value()
}

// labelLoss returns the loss of log probabilities logp [N, C, ...] for the labels in[1], weighted by in[2].
func labelLoss(n *op.Node, in []Tensor, logp []float64) ([]Tensor, error) {
	s := in[0].Desc.Shape
	smoothing := n.Attrs.Float("label_smoothing") // 0 if the attribute is missing
	weight := func(c int) float64 {
		if len(in) > 2 {
			return in[2].F[c]
		}
		return 1
	}
	var ys, ws []float64
	var err error
	each(in[1].Desc.Shape, func(pos int, idx []int) {
		t := in[1].I[pos]
		if t == int64(n.Attrs.Int("ignore_index")) {
			ys = append(ys, 0)
			return
		}
		if t < 0 || t >= int64(s[1]) {
			err = outside(n, t, s[1])
			return
		}
		cost := func(c int) float64 {
			full := append(shape.Of(idx[0], c), idx[1:]...)
			return -weight(c) * logp[at(s, full)]
		}
		var all accumulator
		for c := range s[1] {
			all.add(cost(c))
		}
		y := cost(int(t))
		if smoothing != 0 {
			y = (1-smoothing)*y + smoothing/float64(s[1])*all.value()
		}
		ys, ws = append(ys, y), append(ws, weight(int(t)))
	})
	if err != nil {
		return nil, err
	}
	return []Tensor{reduceLosses(n, ys, total(ws))}, nil
}

func huber(d, delta float64) float64 {
	if d <= delta {
		return d * d / 2
	}
	return delta * (d - delta/2)
}

var lossKernels = map[op.Code]kernel{
	op.NLLLoss: func(n *op.Node, in []Tensor) ([]Tensor, error) { return labelLoss(n, in, in[0].F) },
	op.CrossEntropyLoss: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		logp := make([]float64, len(in[0].F))
		for _, line := range lines(in[0].Desc.Shape, 1) {
			ys, sum := shifted(floatsAt(in[0], line))
			for k, p := range line {
				logp[p] = ys[k] - math.Log(sum)
			}
		}
		return labelLoss(n, in, logp)
	},
	op.MSELoss:   elementLoss(func(_ op.Attrs, x []float64) float64 { return (x[0] - x[1]) * (x[0] - x[1]) }),
	op.L1Loss:    elementLoss(func(_ op.Attrs, x []float64) float64 { return math.Abs(x[0] - x[1]) }),
	op.HuberLoss: elementLoss(func(a op.Attrs, x []float64) float64 { return huber(math.Abs(x[0]-x[1]), a.Float("delta")) }),
	op.SmoothL1Loss: elementLoss(func(a op.Attrs, x []float64) float64 {
		return huber(math.Abs(x[0]-x[1]), a.Float("beta")) / a.Float("beta")
	}),
	op.BCELoss: elementLoss(func(_ op.Attrs, x []float64) float64 {
		return -(x[1]*max(math.Log(x[0]), -100) + (1-x[1])*max(math.Log(1-x[0]), -100))
	}),
	op.BCEWithLogitsLoss: elementLoss(func(_ op.Attrs, x []float64) float64 {
		w := 1.0
		if len(x) > 2 {
			w = x[2]
		}
		return w*x[1]*softplus(-x[0]) + (1-x[1])*softplus(x[0])
	}),
	op.KLDivLoss: elementLoss(func(a op.Attrs, x []float64) float64 {
		switch {
		case a.Bool("log_target"):
			return math.Exp(x[1]) * (x[1] - x[0])
		case x[1] == 0:
			return 0
		}
		return x[1] * (math.Log(x[1]) - x[0])
	}),
	op.PoissonNLLLoss: elementLoss(func(a op.Attrs, x []float64) float64 {
		t := x[1]
		y := math.Exp(x[0]) - t*x[0]
		if !a.Bool("log_input") {
			y = x[0] - t*math.Log(x[0]+a.Float("epsilon"))
		}
		if a.Bool("full") && t > 1 {
			y += t*math.Log(t) - t + math.Log(2*math.Pi*t)/2
		}
		return y
	}),
	op.CosineEmbeddingLoss: vectorLoss(2, func(a op.Attrs, v [][]float64, y []float64) float64 {
		c := inner(v[0], v[1]) / math.Sqrt((inner(v[0], v[0])+1e-12)*(inner(v[1], v[1])+1e-12))
		if y[0] > 0 {
			return 1 - c
		}
		return max(0, c-a.Float("margin"))
	}),
	op.HingeLoss: elementLoss(func(a op.Attrs, x []float64) float64 { return max(0, a.Float("margin")-x[0]*x[1]) }),
	op.HingeEmbeddingLoss: elementLoss(func(a op.Attrs, x []float64) float64 {
		if x[1] > 0 {
			return x[0]
		}
		return max(0, a.Float("margin")-x[0])
	}),
	op.MarginRankingLoss: elementLoss(func(a op.Attrs, x []float64) float64 { return max(0, a.Float("margin")-x[2]*(x[0]-x[1])) }),
	op.TripletMarginLoss: vectorLoss(3, func(a op.Attrs, v [][]float64, _ []float64) float64 {
		d := func(u, v []float64) float64 {
			var s accumulator
			for i := range u {
				s.add(math.Pow(math.Abs(u[i]-v[i]+a.Float("epsilon")), a.Float("p")))
			}
			return math.Pow(s.value(), 1/a.Float("p"))
		}
		far := d(v[0], v[2])
		if a.Bool("swap") {
			far = min(far, d(v[1], v[2]))
		}
		return max(0, d(v[0], v[1])-far+a.Float("margin"))
	}),
	op.CTCLoss: direct(ctc),
}

func ctc(n *op.Node, in []Tensor) Tensor {
	var ys []float64
	s, targets := in[0].Desc.Shape, in[1].Desc.Shape
	for b := range s[1] {
		steps := int(min(in[2].I[b], int64(s[0])))
		length, fits := int(in[3].I[b]), in[3].I[b] >= 0 && in[3].I[b] <= int64(targets[1])
		if !fits {
			length = 0
		}
		target := in[1].I[b*targets[1]:][:length]
		blank := int64(n.Attrs.Int("blank"))
		logp := func(t int, c int64) float64 { return in[0].F[at(s, []int{t, b, int(c)})] }
		known := map[[3]int64]float64{}
		// rest returns the logarithm of the probability that the steps from t on emit the labels of the target from k on, after a step that
		// emitted last.
		var rest func(t, k int, last int64) float64
		rest = func(t, k int, last int64) float64 {
			if t >= steps {
				if k == len(target) {
					return 0
				}
				return math.Inf(-1)
			}
			key := [3]int64{int64(t), int64(k), last}
			if y, ok := known[key]; ok {
				return y
			}
			y := logp(t, blank) + rest(t+1, k, blank)
			if last != blank { // the same label is emitted again
				y = logAdd(y, logp(t, last)+rest(t+1, k, last))
			}
			if k < len(target) && target[k] != last {
				y = logAdd(y, logp(t, target[k])+rest(t+1, k+1, target[k]))
			}
			known[key] = y
			return y
		}
		y := math.Inf(1)
		if fits {
			y = -rest(0, 0, blank)
		}
		if math.IsInf(y, 1) && n.Attrs.Bool("zero_infinity") {
			y = 0
		}
		if n.Attrs.Str("reduction") == "mean" {
			y /= float64(max(1, len(target)))
		}
		ys = append(ys, y)
	}
	return reduceLosses(n, ys, float64(len(ys)))
}

// logAdd returns log(exp(a)+exp(b)).
func logAdd(a, b float64) float64 {
	if a == b {
		return a + math.Ln2
	}
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}
