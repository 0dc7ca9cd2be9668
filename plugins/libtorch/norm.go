package libtorch

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Normalisations and statistics.

var norms = map[op.Code]rule{
	op.Softmax:    {run: func(w *worker) { w.softmax(opSoftmax) }, types: floats},
	op.LogSoftmax: {run: func(w *worker) { w.softmax(opLogSoftmax) }, types: floats},
	op.LogSumExp:  {run: logSumExp, types: floats, needs: needsLists},
	op.Mean:       {run: mean, types: floats, needs: needsLists},
	op.Variance:   {run: variance, types: floats, needs: needsLists},
	op.BatchNorm:  {run: batchNorm, types: floats, needs: needsAdd},
	op.LayerNorm:  {run: layerNorm, types: floats, needs: needsLists},
	op.RMSNorm:    {run: rmsNorm, types: floats, needs: needsLists},
	op.GroupNorm:  {run: groupNorm, types: floats},
}

var (
	opSoftmax    = aten("_softmax")
	opLogSoftmax = aten("_log_softmax")
	opLogSumExp  = aten("logsumexp")
	opMean       = aten("mean.dim")
	opVar        = aten("var.dim")
	opBatchNorm  = aten("_native_batch_norm_legit_no_training")
	opLayerNorm  = aten("native_layer_norm")
	opRMSNorm    = aten("rms_norm")
	opGroupNorm  = aten("group_norm")
	opSqrt       = aten("sqrt")
	opMinAll     = aten("min")
)

// softmax calls the operator o. It computes log_softmax of 16-bit floats in f32, because torch's kernel for the cpu rounds intermediate
// results.
func (w *worker) softmax(o *torch.Operator) {
	x, axis := w.in[0], w.n.Attrs.Int("axis")
	d := x.d
	if o == opLogSoftmax {
		x = w.wide(x)
	}
	y := w.call(o, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(axis)
		t.Bool(false)
	})
	w.out[0] = w.to(y, d)
}

func logSumExp(w *worker) {
	x, axes, d := w.in[0], w.n.Attrs.Ints("axes"), w.n.Outputs[0]
	if len(axes) == 0 {
		w.out[0] = x
		return
	}
	keep := len(d.Shape) == len(x.s)
	w.out[0] = w.call(opLogSumExp, x.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(axes...)
		t.Bool(keep)
	})
}

func mean(w *worker) {
	x, axes, d := w.in[0], w.n.Attrs.Ints("axes"), w.n.Outputs[0]
	if len(axes) == 0 {
		w.out[0] = x
		return
	}
	keep := len(d.Shape) == len(x.s)
	w.out[0] = w.call(opMean, x.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeInts(axes...)
		t.Bool(keep)
		t.None()
	})
}

// variance computes the population variance and multiplies it by the factor of the correction: torch accepts corrections other than 0 and 1
// only as a boxed number.
func variance(w *worker) {
	x, axes, d, c := w.in[0], w.n.Attrs.Ints("axes"), w.n.Outputs[0], w.n.Attrs.Float("correction")
	n := 1
	for _, a := range axes {
		n *= x.s[a]
	}
	if len(axes) == 0 { // each variance is over one element
		axes = []int{len(x.s)}
		x = w.reshape(x, append(x.s.Clone(), 1))
	}
	keep := len(d.Shape) == len(x.s)
	x = w.wide(x)
	if n == 0 || d.Shape.Size() == 0 {
		w.out[0] = w.fill(d.DType, d.Shape, op.ScalarFloat("", math.NaN()).Value)
		return
	}
	sample := c == 1 && n > 1
	y := w.call(opVar, x.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeInts(axes...)
		t.Bool(sample)
		t.Bool(keep)
	})
	if c != 0 && !sample {
		y = w.bin(opMul, y, w.real(x.d, float64(n)), x.d)
		y = w.bin(opDiv, y, w.real(x.d, float64(n)-c), x.d)
	}
	w.out[0] = w.to(y, d.DType)
}

// triple is like call, for an operator with three results. It returns the first result.
func (w *worker) triple(o *torch.Operator, d dtype.DType, s shape.Shape, f func(t *torch.Thread)) val {
	if w.err != nil {
		return val{0, d, s}
	}
	w.thread.Begin(o)
	f(w.thread)
	var h, i, k torch.Handle
	err := w.thread.Call(&h, &i, &k)
	if err == nil {
		w.made = append(w.made, i, k)
	}
	return w.keep(h, err, d, s)
}

// batchNorm computes in f32 or wider. torch computes one factor and one offset per channel, which may not be finite if a parameter is not
// finite or a variance is not positive. The op is then computed by its formula instead.
func batchNorm(w *worker) {
	eps, d := w.n.Attrs.Float("epsilon"), w.in[0].d
	if w.in[0].s.Size() == 0 {
		w.out[0] = w.empty(d, w.in[0].s)
		return
	}
	var in [5]val
	for i := range in {
		in[i] = w.wide(w.in[i])
	}
	x := in[0]
	if w.finite(1) && w.finite(2) && w.finite(3) && w.finite(4) && w.positive(4) {
		w.out[0] = w.to(w.triple(opBatchNorm, x.d, x.s, func(t *torch.Thread) {
			t.Tensor(x.h)
			t.SomeTensor(in[1].h)
			t.SomeTensor(in[2].h)
			t.Tensor(in[3].h)
			t.Tensor(in[4].h)
			t.Float(0)
			t.Float(eps)
		}), d)
		return
	}
	s := shape.Shape(ones(len(x.s)))
	s[1] = x.s[1]
	for i := 1; i < 5; i++ {
		in[i] = w.reshape(in[i], s)
	}
	y := w.bin(opDiv, w.sub(x, in[3]), w.un(opSqrt, w.add(in[4], w.real(x.d, eps))), x.d)
	w.out[0] = w.to(w.add(w.bin(opMul, y, in[1], x.d), in[2]), d)
}

// positive reports whether all elements of operand i, which must be finite, are greater than zero. The answer is cached in the tensor.
func (w *worker) positive(i int) bool {
	t, x := w.from[i], w.in[i]
	switch t.positive.Load() {
	case 1:
		return true
	case 2:
		return false
	}
	least := 1.0
	if x.s.Size() > 0 {
		least = w.read(w.call(opMinAll, x.d, nil, func(t *torch.Thread) { t.Tensor(x.h) }))
	}
	if least > 0 {
		t.positive.Store(1)
		return true
	}
	t.positive.Store(2)
	return false
}

// operand returns an optional operand, expanded to s and in row-major order, or handle 0 if the operand is absent.
func (w *worker) operand(i int, s shape.Shape) val {
	if i >= len(w.in) {
		return val{}
	}
	x := w.in[i]
	if x.s.Equal(s) {
		return x
	}
	return w.convert(w.expand(x, s), x.d)
}

func layerNorm(w *worker) {
	x, axis, eps := w.in[0], w.n.Attrs.Int("axis"), w.n.Attrs.Float("epsilon")
	inner := x.s[axis:]
	if x.s.Size() == 0 {
		w.out[0] = w.empty(x.d, x.s)
		return
	}
	if inner.Size() == 1 { // the element is its own mean; torch's difference may not be exactly 0
		x = w.sub(x, x)
	}
	scale, bias := w.operand(1, inner), w.operand(2, inner)
	w.out[0] = w.triple(opLayerNorm, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(inner...)
		t.SomeTensor(scale.h)
		t.SomeTensor(bias.h)
		t.Float(eps)
	})
}

func rmsNorm(w *worker) {
	x, axis, eps := w.in[0], w.n.Attrs.Int("axis"), w.n.Attrs.Float("epsilon")
	inner := x.s[axis:]
	if x.s.Size() == 0 {
		w.out[0] = w.empty(x.d, x.s)
		return
	}
	scale := w.operand(1, inner)
	w.out[0] = w.call(opRMSNorm, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(inner...)
		t.SomeTensor(scale.h)
		t.SomeFloat(eps)
	})
}

func groupNorm(w *worker) {
	x, a := w.in[0], w.n.Attrs
	if x.s.Size() == 0 {
		w.out[0] = w.empty(x.d, x.s)
		return
	}
	w.out[0] = w.call(opGroupNorm, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(a.Int("groups"))
		t.SomeTensor(w.in[1].h)
		t.SomeTensor(w.in[2].h)
		t.Float(a.Float("epsilon"))
		t.Bool(true)
	})
}
