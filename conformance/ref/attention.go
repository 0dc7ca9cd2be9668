package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// scores gives the score of each key for query i of head h; -Inf for keys that are not seen.
func scores(n *op.Node, in []Tensor, b, h, i int) []float64 {
	q, k := in[0].Desc.Shape, in[1].Desc.Shape
	scale := n.Attrs.Float("scale")
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(1, q[3])))
	}
	var out []float64
	for j := range k[2] {
		var dot accumulator
		for d := range q[3] {
			dot.add(in[0].F[at(q, []int{b, h, i, d})] * scale * in[1].F[at(k, []int{b, h / (q[1] / k[1]), j, d})])
		}
		s := dot.value()
		if c := n.Attrs.Float("softcap"); c != 0 {
			s = c * math.Tanh(s/c)
		}
		seen := true
		if len(in) > 3 {
			p := stretched(in[3].Desc.Shape, []int{b, h, i, j})
			if in[3].Desc.DType == dtype.Bool {
				seen = in[3].I[p] != 0
			} else {
				s += in[3].F[p]
			}
		}
		ahead := j - (i + n.Attrs.Int("past"))
		w := n.Attrs.Int("window")
		if n.Attrs.Bool("causal") && ahead > 0 || w > 0 && (ahead >= w || -ahead >= w) || !seen {
			s = math.Inf(-1)
		}
		out = append(out, s)
	}
	return out
}

var attentionKernels = map[op.Code]kernel{
	op.Attention: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s := Zeros(n.Outputs[0]), n.Outputs[0].Shape
		v := in[2].Desc.Shape
		each(s[:3], func(_ int, idx []int) {
			y := scores(n, in, idx[0], idx[1], idx[2])
			top := greatest.f(y)
			if math.IsInf(top, -1) {
				return // no key is seen
			}
			var sum accumulator
			for _, score := range y {
				sum.add(math.Exp(score - top))
			}
			for e := range s[3] {
				var mean accumulator
				for j, score := range y {
					mean.add(math.Exp(score-top) / sum.value() * in[2].F[at(v, []int{idx[0], idx[1] / (s[1] / v[1]), j, e})])
				}
				out.F[at(s, append(slices.Clone(idx), e))] = mean.value()
			}
		})
		return out
	}),
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
