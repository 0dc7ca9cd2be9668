package graphs

import (
	"math/rand/v2"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
)

// Model draws a small network in f32: layers of random number, kind and width, with weights between -1 and 1, and a softmax at the
// end. It is a convolutional network with residuals, or one of attention and linear layers. Equal generators result in equal models.
func Model(r *rand.Rand) *Graph {
	d := &drawer{r: r, g: &Graph{Program: &program.Program{Name: "model"}}}
	d.b = op.NewBuilder(func() op.TensorID { d.last++; return d.last })
	var x op.Desc
	if r.IntN(2) == 0 {
		x = d.convolutional()
	} else {
		x = d.attentive()
	}
	x = d.layer(x, func(x op.Desc) op.Desc { return d.b.Un(op.Softmax, x, op.Int("axis", len(x.Shape)-1)) })
	d.g.Nodes, d.g.Outputs = d.b.Nodes, []op.TensorID{x.ID}
	return d.g
}

// layer appends f's nodes on x and returns their result. If they do not fit or the result is too large, it appends none and returns x.
func (d *drawer) layer(x op.Desc, f func(x op.Desc) op.Desc) op.Desc {
	before := d.b.Nodes
	y := f(x)
	if d.b.Err() != nil || y.ID == 0 || y.Shape.Size() > 1<<14 {
		d.b = op.NewBuilder(func() op.TensorID { d.last++; return d.last })
		d.b.Nodes = before
		return x
	}
	return y
}

// convolutional returns a network of convolutions, from [N,C,H,W] to [N,K].
func (d *drawer) convolutional() op.Desc {
	between := func(lo, hi int) int { return lo + d.r.IntN(hi-lo+1) }
	x := d.source(dtype.F32, shape.Of(between(1, 3), between(1, 4), between(4, 9), between(4, 9)))
	for range between(1, 4) {
		x = d.layer(x, d.convolution)
		if d.r.IntN(2) == 0 { // scale and shift of each channel
			x = d.layer(x, func(x op.Desc) op.Desc {
				c := shape.Of(1, x.Shape[1], 1, 1)
				return d.bounded(d.b.Do(op.Add, d.b.Do(op.Mul, x, d.source(x.DType, c)), d.source(x.DType, c)))
			})
		}
	}
	x = d.layer(x, func(x op.Desc) op.Desc { return d.b.Reduce(op.Mean, x, false, 2, 3) })
	return d.layer(x, d.product)
}

// attentive returns a network of attention and linear layers with residuals, from [N,T,D] to [N,T,D].
func (d *drawer) attentive() op.Desc {
	between := func(lo, hi int) int { return lo + d.r.IntN(hi-lo+1) }
	width := between(3, 12)
	x := d.source(dtype.F32, shape.Of(between(1, 3), between(2, 9), width))
	weight := func() op.Desc { return d.source(dtype.F32, shape.Of(width, width)) }
	for range between(1, 3) {
		if d.r.IntN(2) == 0 {
			x = d.layer(x, func(x op.Desc) op.Desc {
				q, k, v := d.b.Do(op.MatMul, x, weight()), d.b.Do(op.MatMul, x, weight()), d.b.Do(op.MatMul, x, weight())
				scores := d.b.Do(op.Mul, d.b.With(op.MatMul, []op.Desc{q, k}, op.Flag("transpose_b", true)), d.b.Like(x, 0.25))
				return d.bounded(d.b.Do(op.Add, x, d.b.Do(op.MatMul, d.b.Un(op.Softmax, d.bounded(scores), op.Int("axis", 2)), v)))
			})
		}
		x = d.layer(x, func(x op.Desc) op.Desc {
			hidden := d.b.Do([]op.Code{op.Relu, op.Gelu, op.Silu, op.Tanh}[d.r.IntN(4)], d.b.Do(op.MatMul, x, weight()))
			return d.bounded(d.b.Do(op.Add, x, d.b.Do(op.MatMul, hidden, weight())))
		})
	}
	return x
}
