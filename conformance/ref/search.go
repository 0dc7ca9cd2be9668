package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
)

// sorted lists the elements of xs in the order of sort; the second result is whether one of them is NaN.
func sorted(xs []float64) ([]float64, bool) {
	xs = slices.Clone(xs)
	slices.SortFunc(xs, func(a, b float64) int {
		switch {
		case a < b || !math.IsNaN(a) && math.IsNaN(b):
			return -1
		case b < a || math.IsNaN(a) && !math.IsNaN(b):
			return 1
		}
		return 0
	})
	return xs, math.IsNaN(xs[len(xs)-1])
}

// quantile returns the element at q of xs, which are sorted.
func quantile(xs []float64, q float64, interpolation string) float64 {
	h := q * float64(len(xs)-1)
	lo, hi := xs[int(math.Floor(h))], xs[int(math.Ceil(h))]
	switch {
	case interpolation == "lower" || h == math.Floor(h):
		return lo
	case interpolation == "higher":
		return hi
	case interpolation == "nearest":
		return xs[int(math.RoundToEven(h))]
	case interpolation == "midpoint":
		return lo/2 + hi/2
	}
	return lo + (h-math.Floor(h))*(hi-lo)
}

// comoment returns the sum of products of distances from the means of two lists.
func comoment(xs, ys []float64) float64 {
	mx, my := mean(xs), mean(ys)
	var s accumulator
	for i := range xs {
		s.add((xs[i] - mx) * (ys[i] - my))
	}
	return s.value()
}

// linePairs returns a kernel that applies f to pairs of lines of x along its last dimension.
func linePairs(f func(a op.Attrs, xs, ys []float64) float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		s, out := in[0].Desc.Shape, Zeros(n.Outputs[0])
		last := len(s) - 1
		line := func(batch []int, row int) []float64 {
			var xs []float64
			for k := range s[last] {
				xs = append(xs, in[0].F[at(s, slices.Concat(batch, []int{row, k}))])
			}
			return xs
		}
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			out.F[pos] = f(n.Attrs, line(idx[:last-1], idx[last-1]), line(idx[:last-1], idx[last]))
		})
		return out
	})
}

// vectorNorm returns the p-norm of xs.
func vectorNorm(xs []float64, p float64) float64 {
	var abs, powers []float64
	nonzero := 0
	for _, x := range xs {
		abs, powers = append(abs, math.Abs(x)), append(powers, math.Pow(math.Abs(x), p))
		if x != 0 {
			nonzero++
		}
	}
	switch {
	case math.IsInf(p, 1):
		return max(greatest.f(abs), 0)
	case math.IsInf(p, -1):
		return least.f(abs)
	case p == 0:
		return float64(nonzero)
	}
	return math.Pow(total(powers), 1/p)
}

// countBefore counts the elements of line at positions that are before (or, with right, not after) element p of v.
func countBefore(t Tensor, line []int, v Tensor, p int, right bool) (n int64) {
	both := Zeros(op.DescOf(t.Desc.DType, 2))
	both.set(1, v, p)
	for _, q := range line {
		both.set(0, t, q)
		if o := order(both, 0, 1); o < 0 || o == 0 && right {
			n++
		}
	}
	return n
}

// runningIndex returns the kernel that computes, for each element of a line, the index of the first extreme up to it.
func runningIndex(beats func(order int) bool) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			best := 0
			for k, p := range line {
				if !isNaN(in[0], line[best]) && (isNaN(in[0], p) || beats(order(in[0], p, line[best]))) {
					best = k
				}
				out.I[p] = int64(best)
			}
		}
		return out
	})
}

// joined returns a running combination that applies f to all elements so far.
func joined(f func(xs []float64) float64) running {
	return running{f: func() (float64, func(float64) float64) {
		var xs []float64
		return f(nil), func(x float64) float64 {
			xs = append(xs, x)
			return f(xs)
		}
	}}
}

var searchKernels = map[op.Code]kernel{
	op.Std: statistic(func(a op.Attrs, xs []float64) float64 {
		return math.Sqrt(squares(xs) / (float64(len(xs)) - a.Float("correction")))
	}),
	op.Median: statistic(func(_ op.Attrs, xs []float64) float64 {
		xs, nan := sorted(xs)
		if n := len(xs); !nan {
			return xs[(n-1)/2]/2 + xs[n/2]/2
		}
		return math.NaN()
	}),
	op.Quantile: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		all := groups(in[0].Desc.Shape, n.Attrs.Ints("axes"))
		for k, q := range n.Attrs.Floats("q") {
			for i, g := range all {
				xs, nan := sorted(floatsAt(in[0], g))
				out.F[k*len(all)+i] = quantile(xs, q, n.Attrs.Str("interpolation"))
				if nan {
					out.F[k*len(all)+i] = math.NaN()
				}
			}
		}
		return out
	}),
	op.Covariance: linePairs(func(a op.Attrs, xs, ys []float64) float64 {
		return comoment(xs, ys) / (float64(len(xs)) - a.Float("correction"))
	}),
	op.CorrCoef: linePairs(func(_ op.Attrs, xs, ys []float64) float64 {
		return min(max(comoment(xs, ys)/math.Sqrt(squares(xs))/math.Sqrt(squares(ys)), -1), 1)
	}),
	op.Histogram: direct(func(n *op.Node, in []Tensor) Tensor {
		out, bins := Zeros(n.Outputs[0]), n.Outputs[0].Shape[0]
		for k := range bins {
			for p := range in[0].Desc.Shape.Size() {
				three := Zeros(op.DescOf(in[0].Desc.DType, 3))
				three.set(0, in[1], k)
				three.set(1, in[0], p)
				three.set(2, in[1], k+1)
				if isNaN(three, 0) || isNaN(three, 1) || isNaN(three, 2) {
					continue
				}
				if o := order(three, 1, 2); order(three, 0, 1) <= 0 && (o < 0 || o == 0 && k == bins-1) {
					out.I[k]++
				}
			}
		}
		return out
	}),
	op.SearchSorted: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s := Zeros(n.Outputs[0]), in[0].Desc.Shape
		own := lines(s, len(s)-1)
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			line := 0
			if len(s) > 1 {
				line = at(s[:len(s)-1], idx[:len(idx)-1])
			}
			if len(own) > 0 { // an empty dimension has no lines
				out.I[pos] = countBefore(in[0], own[line], in[1], pos, n.Attrs.Bool("right"))
			}
		})
		return out
	}),
	op.ArgSort: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			for k, p := range ranked(in[0], line, n.Attrs.Bool("descending")) {
				place, _ := slices.BinarySearch(line, p) // positions ascend along a line
				out.I[line[k]] = int64(place)
			}
		}
		return out
	}),
	op.LogCumSumExp: scan(joined(func(xs []float64) float64 {
		m := greatest.f(xs)
		if math.IsInf(m, 0) {
			return m
		}
		var s accumulator
		for _, x := range xs {
			s.add(math.Exp(x - m))
		}
		return m + math.Log(s.value())
	})),
	op.CumArgMax:  runningIndex(func(order int) bool { return order > 0 }),
	op.CumArgMin:  runningIndex(func(order int) bool { return order < 0 }),
	op.VectorNorm: statistic(func(a op.Attrs, xs []float64) float64 { return vectorNorm(xs, a.Float("p")) }),
	op.CosineSimilarity: direct(func(n *op.Node, in []Tensor) Tensor {
		out, axis := Zeros(n.Outputs[0]), n.Attrs.Int("axis")
		length := 1 // of the axis in the broadcast shape
		for _, t := range in {
			if d := axis - (len(n.Outputs[0].Shape) + 1 - len(t.Desc.Shape)); d >= 0 && t.Desc.Shape[d] != 1 {
				length = t.Desc.Shape[d]
			}
		}
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			var ab, aa, bb accumulator
			for k := range length {
				full := slices.Insert(slices.Clone(idx), axis, k)
				x, y := in[0].F[stretched(in[0].Desc.Shape, full)], in[1].F[stretched(in[1].Desc.Shape, full)]
				ab.add(x * y)
				aa.add(x * x)
				bb.add(y * y)
			}
			out.F[pos] = ab.value() / max(math.Sqrt(aa.value())*math.Sqrt(bb.value()), n.Attrs.Float("epsilon"))
		})
		return out
	}),
}
