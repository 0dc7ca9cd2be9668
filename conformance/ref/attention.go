package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// scoreScale returns the factor of the scores.
func scoreScale(n *op.Node, q Tensor) float64 {
	if scale := n.Attrs.Float("scale"); scale != 0 {
		return scale
	}
	return 1 / math.Sqrt(float64(max(1, q.Desc.Shape[3])))
}

// scores returns the score of each key for query i of head h, -Inf for keys that are not seen, and its derivative with respect to the
// scaled product. mask has one element or none.
func scores(n *op.Node, in, mask []Tensor, b, h, i int) (out, slopes []float64) {
	q, k := in[0].Desc.Shape, in[1].Desc.Shape
	scale := scoreScale(n, in[0])
	for j := range k[2] {
		var dot accumulator
		for d := range q[3] {
			dot.add(in[0].F[at(q, []int{b, h, i, d})] * scale * in[1].F[at(k, []int{b, h / (q[1] / k[1]), j, d})])
		}
		s, slope := dot.value(), 1.0
		if c := n.Attrs.Float("softcap"); c != 0 {
			u := math.Tanh(s / c)
			s, slope = c*u, 1-u*u
		}
		seen := true
		for _, m := range mask {
			p := stretched(m.Desc.Shape, []int{b, h, i, j})
			if m.Desc.DType == dtype.Bool {
				seen = m.I[p] != 0
			} else {
				s += m.F[p]
			}
		}
		ahead := j - (i + n.Attrs.Int("past"))
		w := n.Attrs.Int("window")
		if n.Attrs.Bool("causal") && ahead > 0 || w > 0 && (ahead >= w || -ahead >= w) || !seen {
			s = math.Inf(-1)
		}
		out, slopes = append(out, s), append(slopes, slope)
	}
	return out, slopes
}

// weigh replaces scores by the weights of the values (softmax). All are 0 if no key is seen.
func weigh(scores []float64) {
	top := greatest.f(scores)
	if math.IsInf(top, -1) {
		clear(scores)
		return
	}
	var sum accumulator
	for _, score := range scores {
		sum.add(math.Exp(score - top))
	}
	for j, score := range scores {
		scores[j] = math.Exp(score-top) / sum.value()
	}
}

// attentionGradient computes the gradients of queries, keys and values. It iterates over queries, and adds the contribution of each to the
// gradients of the keys and values that it sees.
func attentionGradient(n *op.Node, in []Tensor) ([]Tensor, error) {
	q, k, v := in[0].Desc.Shape, in[1].Desc.Shape, in[2].Desc.Shape
	y, dy, scale := in[3], in[4], scoreScale(n, in[0])
	out := make([]Tensor, 3)
	sums := make([][]accumulator, 3)
	for r := range out {
		out[r] = Zeros(n.Outputs[r])
		sums[r] = make([]accumulator, n.Outputs[r].Shape.Size())
	}
	each(q[:3], func(_ int, idx []int) {
		b, h, i := idx[0], idx[1], idx[2]
		from := h / (q[1] / k[1])
		p, slopes := scores(n, in, in[5:], b, h, i)
		weigh(p)
		var mean accumulator // of the gradients of the weights
		for e := range v[3] {
			at := at(y.Desc.Shape, []int{b, h, i, e})
			mean.add(dy.F[at] * y.F[at])
		}
		for j, weight := range p {
			var dp accumulator
			for e := range v[3] {
				g, to := dy.F[at(dy.Desc.Shape, []int{b, h, i, e})], at(v, []int{b, from, j, e})
				dp.add(g * in[2].F[to])
				sums[2][to].add(weight * g)
			}
			ds := weight * (dp.value() - mean.value()) * slopes[j] * scale
			for d := range q[3] {
				x, to := at(q, []int{b, h, i, d}), at(k, []int{b, from, j, d})
				sums[0][x].add(ds * in[1].F[to])
				sums[1][to].add(ds * in[0].F[x])
			}
		}
	})
	for r := range out {
		for i := range sums[r] {
			out[r].F[i] = sums[r][i].value()
		}
	}
	return out, nil
}

var attentionKernels = map[op.Code]kernel{
	op.Attention: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s := Zeros(n.Outputs[0]), n.Outputs[0].Shape
		v := in[2].Desc.Shape
		each(s[:3], func(_ int, idx []int) {
			p, _ := scores(n, in, in[3:], idx[0], idx[1], idx[2])
			weigh(p)
			for e := range s[3] {
				var mean accumulator
				for j, weight := range p {
					mean.add(weight * in[2].F[at(v, []int{idx[0], idx[1] / (s[1] / v[1]), j, e})])
				}
				out.F[at(s, append(slices.Clone(idx), e))] = mean.value()
			}
		})
		return out
	}),
	op.AttentionGradient: attentionGradient,
	op.CacheWrite: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out, s, axis := in[0].Clone(), in[0].Desc.Shape, n.Attrs.Int("axis")
		var err error
		each(in[2].Desc.Shape, func(pos int, idx []int) {
			to := slices.Clone(idx)
			start := in[1].I[0]
			if len(in[1].Desc.Shape) > 0 {
				start = in[1].I[idx[0]]
			}
			k := start + int64(idx[axis])
			if k < 0 || k >= int64(s[axis]) {
				err = outside(n, k, s[axis])
				return
			}
			to[axis] = int(k)
			out.set(at(s, to), in[2], pos)
		})
		return []Tensor{out}, err
	},
	op.RotaryEmbedding: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s := in[0].Clone(), in[0].Desc.Shape
		c := in[1].Desc.Shape
		last, r := len(s)-1, c[len(c)-1]
		each(append(s[:last:last], r), func(_ int, idx []int) {
			p, q := slices.Clone(idx), slices.Clone(idx)
			q[last] += r
			if n.Attrs.Bool("interleaved") {
				p[last], q[last] = 2*idx[last], 2*idx[last]+1
			}
			a, b := in[0].F[at(s, p)], in[0].F[at(s, q)]
			cos, sin := in[1].F[stretched(c, idx)], in[2].F[stretched(c, idx)]
			out.F[at(s, p)] = a*cos - b*sin
			out.F[at(s, q)] = a*sin + b*cos
		})
		return out
	}),
	op.RNN: recurrent(4, func(c cell, x []float64, state [][]float64) [][]float64 {
		h := make([]float64, c.hidden)
		for j := range h {
			h[j] = c.gate(0, j, x) + c.recur(0, j, state[0])
			if c.n.Attrs.Str("activation") == "relu" {
				h[j] = max(h[j], 0)
			} else {
				h[j] = math.Tanh(h[j])
			}
		}
		return [][]float64{h}
	}),
	op.Embedding: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out, width := Zeros(n.Outputs[0]), in[0].Desc.Shape[1]
		for i, k := range in[1].I {
			if k < 0 || k >= int64(in[0].Desc.Shape[0]) {
				return nil, outside(n, k, in[0].Desc.Shape[0])
			}
			for e := range width {
				if k != int64(n.Attrs.Int("padding")) {
					out.set(i*width+e, in[0], int(k)*width+e)
				}
			}
		}
		return []Tensor{out}, nil
	},
}
