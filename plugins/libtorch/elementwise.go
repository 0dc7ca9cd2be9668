package libtorch

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Elementwise composites that torch computes by one operator, or by fewer operators than the decomposition.

var elementwise = join(
	unary(floats, map[op.Code]string{
		op.Reciprocal: "reciprocal", op.Rsqrt: "rsqrt", op.Trunc: "trunc", op.Asinh: "asinh", op.Acosh: "acosh", op.Atanh: "atanh",
		op.Exp2: "exp2", op.Log2: "log2", op.Log10: "log10", op.Sigmoid: "sigmoid", op.Mish: "mish",
		op.LogSigmoid: "log_sigmoid",
	}),
	comparisons(map[op.Code]string{op.Greater: "gt.Tensor", op.GreaterEqual: "ge.Tensor", op.LessEqual: "le.Tensor"}, numbers),
	comparisons(map[op.Code]string{op.NotEqual: "ne.Tensor"}, anyType),
	map[op.Code]rule{
		op.Square:   {run: func(w *worker) { w.out[0] = w.bin(opMul, w.in[0], w.in[0], w.in[0].d) }, types: numbers},
		op.IsFinite: {run: func(w *worker) { w.out[0] = w.unTo(opIsFinite, w.in[0], dtype.Bool) }, types: floats},
		op.Relu:     {run: relu, types: numbers, needs: needsAdd},
		op.Silu:     {run: silu, types: floats},
		op.Gelu:     {run: gelu, types: floats, needs: needsLists},
		op.Clamp:    {run: clamp, types: numbers},
		op.Tril:     {run: func(w *worker) { w.triangle(opTril) }, types: anyType},
		op.Triu:     {run: func(w *worker) { w.triangle(opTriu) }, types: anyType},
	},
)

var (
	opRelu     = aten("relu")
	opIsFinite = aten("isfinite")
	opSilu     = aten("silu")
	opSigmoid  = aten("sigmoid")
	opGelu     = aten("gelu")
	opClamp    = aten("clamp.Tensor")
	opTril     = aten("tril")
	opTriu     = aten("triu")
)

// comparisons returns the rules of ops that torch computes by a binary operator with a bool result.
func comparisons(names map[op.Code]string, types dtype.Set) map[op.Code]rule {
	m := map[op.Code]rule{}
	for code, name := range names {
		o := aten(name)
		m[code] = rule{run: func(w *worker) { w.out[0] = w.bin(o, w.in[0], w.in[1], dtype.Bool) }, types: types}
	}
	return m
}

func silu(w *worker) {
	x, alpha := w.in[0], w.n.Attrs.Float("alpha")
	if alpha == 1 {
		w.out[0] = w.un(opSilu, x)
		return
	}
	d := x.d
	x = w.wide(x)
	w.out[0] = w.to(w.bin(opMul, x, w.un(opSigmoid, w.bin(opMul, x, w.real(x.d, alpha), x.d)), x.d), d)
}

// wide returns x, converted to f32 if its type is narrower.
func (w *worker) wide(x val) val {
	if x.d == dtype.F16 || x.d == dtype.BF16 {
		return w.to(x, dtype.F32)
	}
	return x
}

// relu calls torch's operator and adds 0 for floats, because torch returns -0 for -0.
func relu(w *worker) {
	y := w.un(opRelu, w.in[0])
	if y.d.IsFloat() {
		y = w.addFloat(y, w.real(y.d, 0), 1)
	}
	w.out[0] = y
}

// gelu corrects infinities, for which torch returns NaN on a cpu.
func gelu(w *worker) {
	x, how := w.in[0], w.n.Attrs.Str("approximate")
	if x.d == dtype.F32 && how == "none" && w.dev.fuses && w.dev.reads {
		w.out[0] = w.geluOfRows(x)
	} else {
		w.out[0] = w.geluOf(x, how)
	}
	if w.dev.reads && !w.settled(w.out[0]) {
		top := w.real(x.d, math.Inf(1))
		w.out[0] = w.where(w.bin(opEqual, x, top, dtype.Bool), top, w.out[0])
	}
}

func (w *worker) geluOf(x val, how string) val {
	return w.call(opGelu, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Text(how)
	})
}

// geluOfRows computes gelu of a tensor of f32 without oneDNN, whose results near -3.5 have an absolute error of 1.25e-6. torch calls oneDNN
// for contiguous tensors, so it gets the transposed matrix of the elements. A number of elements without a small factor is computed in
// f64.
func (w *worker) geluOfRows(x val) val {
	n := x.s.Size()
	rows := smallFactor(n)
	switch {
	case n <= 1: // torch does not call oneDNN
		return w.geluOf(x, "none")
	case rows == 0:
		return w.to(w.geluOf(w.to(x, dtype.F64), "none"), x.d)
	}
	y := w.geluOf(w.permute(w.reshape(x, shape.Of(rows, n/rows)), []int{1, 0}), "none")
	return w.reshape(w.permute(y, []int{1, 0}), x.s)
}

// smallFactor returns the least proper factor of n above 1, or 0 if no such factor is below 64.
func smallFactor(n int) int {
	for f := 2; f < min(64, n); f++ {
		if n%f == 0 {
			return f
		}
	}
	return 0
}

// clamp omits a minimum of -Inf and a maximum of +Inf.
func clamp(w *worker) {
	x, a := w.in[0], w.n.Attrs
	lo, hi := a.Value("min"), a.Value("max")
	var l, h val
	if lo.Float() > math.Inf(-1) || lo.Float() != lo.Float() {
		l = w.number(x.d, lo)
	}
	if hi.Float() < math.Inf(1) || hi.Float() != hi.Float() {
		h = w.number(x.d, hi)
	}
	if l.h == 0 && h.h == 0 {
		w.out[0] = x
		return
	}
	w.out[0] = w.call(opClamp, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeTensor(l.h)
		t.SomeTensor(h.h)
	})
}

func (w *worker) triangle(o *torch.Operator) {
	x, k := w.in[0], w.n.Attrs.Int("offset")
	w.out[0] = w.call(o, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(k)
	})
}
