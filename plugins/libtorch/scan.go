package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var scans = map[op.Code]rule{
	op.CumSum:  {run: func(w *worker) { w.scan(opCumSum, zeroOf) }, types: numbers},
	op.CumProd: {run: func(w *worker) { w.scan(opCumProd, oneOf) }, types: numbers},
	op.CumMax:  {run: func(w *worker) { w.scan(opCumMax, minOf) }, types: numbers},
	op.CumMin:  {run: func(w *worker) { w.scan(opCumMin, greatestOf) }, types: numbers},
}

var (
	opCumSum  = aten("cumsum")
	opCumProd = aten("cumprod")
	opCumMax  = aten("cummax")
	opCumMin  = aten("cummin")
)

func zeroOf(dtype.DType) op.Value       { return op.ScalarInt("", 0).Value }
func oneOf(dtype.DType) op.Value        { return op.ScalarInt("", 1).Value }
func minOf(d dtype.DType) op.Value      { return limit(d, -1) }
func greatestOf(d dtype.DType) op.Value { return limit(d, 1) }

// scan computes a scan along the axis of the node, from the end if the node is reversed. If the scan is exclusive, it shifts the result by
// one and inserts the identity.
func (w *worker) scan(o *torch.Operator, identity func(dtype.DType) op.Value) {
	x, axis, d := w.in[0], w.n.Attrs.Int("axis"), w.n.Outputs[0]
	exclusive, reverse := w.n.Attrs.Bool("exclusive"), w.n.Attrs.Bool("reverse")
	if x.s.Size() == 0 {
		w.out[0] = x
		return
	}
	if reverse {
		x = w.flip(x, axis)
	}
	whole := x
	if exclusive {
		x = w.cut(x, axis, 0, x.s[axis]-1)
	}
	y := x
	if x.s.Size() > 0 {
		switch o {
		case opCumMax, opCumMin:
			k := x
			if x.d.IsFloat() { // torch returns the later one of two zeros of different sign
				k = w.ordered(x, o == opCumMax)
			}
			y, _ = w.pair(o, k.d, dtype.I64, x.s, func(t *torch.Thread) {
				t.Tensor(k.h)
				t.Int(axis)
			})
			if x.d.IsFloat() {
				y = w.unordered(y, x.d)
			}
		default:
			y = w.call(o, x.d, x.s, func(t *torch.Thread) {
				t.Tensor(x.h)
				t.Int(axis)
				t.SomeInt(int(typeOf[x.d]))
			})
		}
	}
	if exclusive {
		z := w.fill(d.DType, d.Shape, identity(d.DType))
		w.assign(w.cut(z, axis, 1, whole.s[axis]), y)
		y = z
	}
	if reverse {
		y = w.flip(y, axis)
	}
	w.out[0] = y
}
