package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// backwards contains, by op of the forward pass, the gradients that torch computes by one operator. These gradients apply to f32 and f64
// only: the gradient rules round 16-bit floats at places where torch's operators do not.
var backwards = map[op.Code]backward{
	op.Gelu: {fits: wide, run: func(w *worker, g *found) {
		g.only(w, opGeluBackward, g.dy(), g.x(0), func(t *torch.Thread) { t.Text(g.node.Attrs.Str("approximate")) })
	}},
	op.Silu: {fits: func(n *op.Node, in []op.Desc) bool { return wideAndFull(in) && n.Attrs.Float("alpha") == 1 }, run: func(w *worker, g *found) {
		g.only(w, opSiluBackward, g.dy(), g.x(0), nil)
	}},
	op.Sigmoid:    {fits: wide, run: func(w *worker, g *found) { g.only(w, opSigmoidBackward, g.dy(), g.y(), nil) }},
	op.Tanh:       {fits: wide, run: func(w *worker, g *found) { g.only(w, opTanhBackward, g.dy(), g.y(), nil) }},
	op.Softmax:    {fits: wide, run: func(w *worker, g *found) { g.overAxis(w, opSoftmaxBackward) }},
	op.LogSoftmax: {fits: wide, run: func(w *worker, g *found) { g.overAxis(w, opLogSoftmaxBackward) }},
	op.LayerNorm: {
		fits: func(n *op.Node, in []op.Desc) bool {
			inner := in[0].Shape[n.Attrs.Int("axis"):]
			for _, d := range in[1:] {
				if !d.Shape.Equal(inner) {
					return false
				}
			}
			return wideAndFull(in) && inner.Size() > 1
		},
		run:     layerNormBackward,
		forward: layerNormKeeping,
		keeps: func(n *op.Node, in []op.Desc) []op.Desc {
			s := in[0].Shape.Clone()
			for i := n.Attrs.Int("axis"); i < len(s); i++ {
				s[i] = 1
			}
			d := op.Desc{DType: in[0].DType, Shape: s}
			return []op.Desc{d, d}
		},
	},
	op.Conv: {fits: func(n *op.Node, in []op.Desc) bool {
		a := n.Attrs
		lo := a.Ints("pad_lo")
		return wideAndFull(append(in, n.Outputs[0])) && len(lo) <= 3 && slices.Equal(lo, a.Ints("pad_hi")) && slices.Min(append(lo[:len(lo):len(lo)], 0)) == 0 &&
			slices.Equal(a.Ints("input_dilation"), ones(len(lo)))
	}, run: convBackward, whole: true},
}

var (
	opGeluBackward       = aten("gelu_backward")
	opSiluBackward       = aten("silu_backward")
	opSigmoidBackward    = aten("sigmoid_backward")
	opTanhBackward       = aten("tanh_backward")
	opSoftmaxBackward    = aten("_softmax_backward_data")
	opLogSoftmaxBackward = aten("_log_softmax_backward_data")
	opLayerNormBackward  = aten("native_layer_norm_backward")
	opConvBackward       = aten("convolution_backward")
)

// wide reports whether the operands are non-empty tensors of f32 or f64.
func wide(_ *op.Node, in []op.Desc) bool { return wideAndFull(in) }

// only computes the gradient of a unary node by an operator of the tensors a and b. f appends further arguments, and may be nil.
func (g *found) only(w *worker, o *torch.Operator, a, b val, f func(t *torch.Thread)) {
	w.out[0] = w.call(o, a.d, a.s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Tensor(b.h)
		if f != nil {
			f(t)
		}
	})
}

// overAxis is like only, for an operator that has an axis as a parameter.
func (g *found) overAxis(w *worker, o *torch.Operator) {
	g.only(w, o, g.dy(), g.y(), func(t *torch.Thread) {
		t.Int(g.node.Attrs.Int("axis"))
		t.Int(int(typeOf[g.dy().d]))
	})
}

// layerNormKeeping is like layerNorm, and keeps the mean and the reciprocal of the standard deviation for the gradient.
func layerNormKeeping(w *worker) {
	axis := w.n.Attrs.Int("axis")
	inner := w.in[0].s[axis:]
	copy(w.out, w.normalised(w.in[0], w.operand(1, inner), w.operand(2, inner), axis, w.n.Attrs.Float("epsilon")))
}

// normalised returns the layer norm of x, and its means and the reciprocals of its standard deviations. scale and bias may be absent.
func (w *worker) normalised(x, scale, bias val, axis int, eps float64) []val {
	one := x.s.Clone()
	for i := axis; i < len(one); i++ {
		one[i] = 1
	}
	d := op.Desc{DType: x.d, Shape: one}
	return w.several(opLayerNorm, []op.Desc{{DType: x.d, Shape: x.s}, d, d}, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(x.s[axis:]...)
		t.SomeTensor(scale.h)
		t.SomeTensor(bias.h)
		t.Float(eps)
	})
}

// layerNormBackward calls torch's operator, which reads only the shape of the bias. Outside of programs it computes the mean and the
// deviation again.
func layerNormBackward(w *worker, g *found) {
	x, dy := g.x(0), g.dy()
	axis := g.node.Attrs.Int("axis")
	inner := x.s[axis:]
	var scale, bias val
	if len(g.t.x) > 1 {
		scale = g.x(1)
	}
	if len(g.t.x) > 2 {
		bias = scale
	}
	kept := g.kept
	if len(kept) == 0 {
		kept = w.normalised(x, val{}, val{}, axis, g.node.Attrs.Float("epsilon"))[1:]
	}
	g.masked(w, opLayerNormBackward, func(t *torch.Thread) {
		t.Tensor(dy.h)
		t.Tensor(x.h)
		t.Ints(inner...)
		t.Tensor(kept[0].h)
		t.Tensor(kept[1].h)
		t.SomeTensor(scale.h)
		t.SomeTensor(bias.h)
	})
}

// masked calls an operator that returns three gradients. Its last argument is a mask that selects the gradients to compute.
func (g *found) masked(w *worker, o *torch.Operator, f func(t *torch.Thread)) {
	ds := make([]op.Desc, 3)
	mask := make([]int, 3)
	for _, k := range g.needs {
		ds[k], mask[k] = op.Desc{DType: g.t.roots[k].DType, Shape: g.t.roots[k].Shape}, 1
	}
	v := w.several(o, ds, func(t *torch.Thread) {
		f(t)
		t.Ints(mask...)
	})
	for i, k := range g.needs {
		w.out[i] = v[k]
	}
}

// convBackward calls torch's operator only if all elements that padding is multiplied with are finite, because torch skips these products.
func convBackward(w *worker, g *found) {
	a := g.node.Attrs
	x, k, dy := g.x(0), g.x(1), g.dy()
	padded := slices.Max(append([]int{0}, a.Ints("pad_lo")...)) > 0
	at := func(id op.TensorID) int { return slices.Index(g.ids, id) }
	if slices.Contains(g.needs, 0) && !w.finite(at(g.t.x[1].ID)) || padded && slices.Contains(g.needs, 1) && !w.finite(at(g.t.dy.ID)) {
		g.asRecorded(w)
		return
	}
	g.masked(w, opConvBackward, func(t *torch.Thread) {
		t.Tensor(dy.h)
		t.Tensor(x.h)
		t.Tensor(k.h)
		t.None()
		t.Ints(a.Ints("strides")...)
		t.Ints(a.Ints("pad_lo")...)
		t.Ints(a.Ints("kernel_dilation")...)
		t.Bool(false)
		t.Ints(make([]int, len(a.Ints("strides")))...)
		t.Int(a.Int("groups"))
	})
}
