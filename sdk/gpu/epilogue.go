package gpu

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
)

// epilogue adds the nodes after the anchor to the offer, as long as a library's epilogue can compute them: a bias, a residual, and last an
// activation. All other nodes become rest, including nodes that read an output of the group.
func (b *builder) epilogue(o *offered, x *group.Group) {
	rest := x.Epilogue
	if o.attention != nil || o.convolution != nil && o.convolution.Kind != Forward {
		o.rest = rest
		return
	}
	last := false // an activation was added
	for len(rest) > 0 && len(x.Epilogue)-len(rest) < o.most && !last && !b.leaves(x, o.out.ID) {
		n := &b.g.Nodes[rest[0]]
		if !b.sole(o.out.ID, rest[0]) || n.Outputs[0].DType != o.out.DType || !n.Outputs[0].Shape.Equal(o.out.Shape) {
			break
		}
		switch n.Op {
		case op.Add:
			if !b.takeSum(o, n) {
				o.rest = rest
				return
			}
		case op.Relu:
			o.activate(ReLU)
			last = true
		case op.Gelu:
			o.activate(GELU)
			if n.Attrs.Str("approximate") == "tanh" {
				o.activate(GELUTanh)
			}
			last = true
		default:
			o.rest = rest
			return
		}
		o.out, rest = n.Outputs[0], rest[1:]
	}
	o.rest = rest
}

// leaves reports whether id is an output of the group.
func (b *builder) leaves(x *group.Group, id op.TensorID) bool {
	return slices.ContainsFunc(x.Outputs, func(d op.Desc) bool { return d.ID == id })
}

// sole reports whether node k is the only reader of id, and reads it once.
func (b *builder) sole(id op.TensorID, k int) bool {
	u, ok := b.g.Sole(id)
	return ok && u == k
}

// takeSum adds the addition of a bias or a residual to the offer, if the offer can contain it.
func (b *builder) takeSum(o *offered, n *op.Node) bool {
	other := n.Inputs[0]
	if other == o.out.ID {
		other = n.Inputs[1]
	}
	t, ok := b.at[other]
	if !ok || t.buffer == none || b.g.Desc(other).DType != o.out.DType {
		return false
	}
	axis := len(o.out.Shape) - 1
	if o.convolution != nil {
		axis = 1
	}
	if o.bias == 0 && b.setBias(o, other, axis) {
		return true
	}
	strides := o.out.Shape.Strides()
	if o.convolution != nil {
		strides = o.convolution.OutStrides
	}
	if o.residual != 0 || !t.view.Shape.Equal(o.out.Shape) || !slices.Equal(t.view.Strides, strides) {
		return false
	}
	o.residual = other
	if o.product != nil {
		o.product.Residual = true
	} else {
		o.convolution.Residual = true
	}
	return true
}

// setBias makes id the bias, if it has one element for each index along axis of the result.
func (b *builder) setBias(o *offered, id op.TensorID, axis int) bool {
	t, result := b.at[id], o.out.Shape
	if axis < 0 || t.buffer == none || !t.view.IsContiguous() || t.view.Shape.Size() != result[axis] {
		return false
	}
	if at := axis - (len(result) - len(t.view.Shape)); result[axis] > 1 && (at < 0 || t.view.Shape[at] != result[axis]) {
		return false
	}
	o.bias = id
	if d := b.g.Desc(id).DType; o.product != nil {
		o.product.Bias = d
	} else {
		o.convolution.Bias = d
	}
	return true
}

func (o *offered) activate(a Activation) {
	if o.product != nil {
		o.product.Activation = a
	} else {
		o.convolution.Activation = a
	}
}
