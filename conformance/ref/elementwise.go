package ref

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// scalarRule computes one element of the result from one element of each operand, after broadcasting. The type of the first operand
// selects f or i. Predicates return 1 or 0. A nil function marks a class of types that the row does not accept.
type scalarRule struct {
	f func(e element, x []float64) float64
	i func(e element, x []int64) int64
}

// element contains the type of the first operand and the attributes of the node, for rules that need them.
type element struct {
	dtype dtype.DType
	attrs op.Attrs
}

// number returns a float attribute rounded to the element type, as exact rows demand.
func (e element) number(name string) float64 { return Round(e.dtype, e.attrs.Float(name)) }

func elementwise(r scalarRule) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		e := element{in[0].Desc.DType, n.Attrs}
		var fs []float64
		var is []int64
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			fs, is = fs[:0], is[:0]
			for _, t := range in {
				p := stretched(t.Desc.Shape, idx)
				if t.Desc.DType.IsFloat() {
					fs = append(fs, t.F[p])
				} else {
					is = append(is, t.I[p])
				}
			}
			switch {
			case !e.dtype.IsFloat():
				out.I[pos] = Wrap(n.Outputs[0].DType, r.i(e, is))
			case out.Desc.DType.IsFloat():
				out.F[pos] = r.f(e, fs)
			default:
				out.I[pos] = int64(r.f(e, fs))
			}
		})
		return out
	})
}

// floats returns the kernel of an elementwise function of one float operand.
func floats(f func(x float64) float64) kernel {
	return elementwise(scalarRule{f: func(_ element, x []float64) float64 { return f(x[0]) }})
}

func bool01(b bool) float64 { return float64(truth(b)) }
