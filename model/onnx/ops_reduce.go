package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// reduction reduces axes of x. With no axes, only the elementwise steps around the reduction remain.
type reduction func(t *tracer, x value, keep bool, axes []int) value

// reductions lists the reduction operators and the opset in which their axes became an input.
var reductions = []struct {
	name  string
	input int
	f     reduction
}{
	{"ReduceSum", 13, plain(op.Sum)},
	{"ReduceProd", 18, plain(op.Prod)},
	{"ReduceMax", 18, ofBools(plain(op.ReduceMax))},
	{"ReduceMin", 18, ofBools(plain(op.ReduceMin))},
	{"ReduceMean", 18, mean},
	{"ReduceL1", 18, func(t *tracer, x value, keep bool, axes []int) value {
		return sum(t, t.do(op.Abs, []value{x}), keep, axes)
	}},
	{"ReduceSumSquare", 18, wide(true, func(t *tracer, x value, keep bool, axes []int) value {
		return sum(t, t.do(op.Square, []value{x}), keep, axes)
	})},
	{"ReduceL2", 18, wide(false, func(t *tracer, x value, keep bool, axes []int) value {
		return t.do(op.Sqrt, []value{sum(t, t.do(op.Square, []value{x}), keep, axes)})
	})},
	{"ReduceLogSum", 18, wide(false, func(t *tracer, x value, keep bool, axes []int) value {
		return t.do(op.Log, []value{sum(t, x, keep, axes)})
	})},
	{"ReduceLogSumExp", 18, wide(false, plain(op.LogSumExp))},
}

func init() {
	for _, r := range reductions {
		register(r.name, 1, func(t *tracer, n *node) []value {
			t.need(n, 0)
			return reduceNode(t, n, r.f, n.ints("axes"), false)
		})
		register(r.name, r.input, func(t *tracer, n *node) []value {
			t.need(n, 0)
			var axes []int
			if n.input(1).present() {
				axes = t.hostDims(n.input(1))
			}
			return reduceNode(t, n, r.f, axes, n.int("noop_with_empty_axes", 0) != 0)
		})
	}
	register("ArgMax", 1, argOf(op.ArgMax))
	register("ArgMin", 1, argOf(op.ArgMin))
	register("CumSum", 11, scanOf(op.CumSum))
	register("CumProd", 26, scanOf(op.CumProd))
}

func reduceNode(t *tracer, n *node, f reduction, axes []int, none bool) []value {
	x := n.input(0)
	switch {
	case len(axes) > 0:
		axes = t.axes(axes, x.rank())
	case !none:
		axes = span(0, x.rank())
	}
	return []value{f(t, x, n.int("keepdims", 1) != 0, axes)}
}

func plain(c op.Code) reduction {
	return func(t *tracer, x value, keep bool, axes []int) value { return t.reduce(c, x, keep, axes...) }
}

func sum(t *tracer, x value, keep bool, axes []int) value { return t.reduce(op.Sum, x, keep, axes...) }

// ofBools computes on bytes if x is bool.
func ofBools(f reduction) reduction {
	return func(t *tracer, x value, keep bool, axes []int) value {
		if x.dtype() != dtype.Bool {
			return f(t, x, keep, axes)
		}
		return t.cast(f(t, t.cast(x, dtype.U8), keep, axes), dtype.Bool)
	}
}

// wide computes narrow floats in f32. It computes integers in f64 unless ints is set, which means that f accepts them.
func wide(ints bool, f reduction) reduction {
	return func(t *tracer, x value, keep bool, axes []int) value {
		d := x.dtype()
		switch {
		case d == dtype.F16 || d == dtype.BF16:
			x = t.cast(x, dtype.F32)
		case d.IsInt() && !ints:
			x = t.cast(x, dtype.F64)
		}
		return t.cast(f(t, x, keep, axes), d)
	}
}

func mean(t *tracer, x value, keep bool, axes []int) value {
	if x.dtype().IsFloat() {
		return t.reduce(op.Mean, x, keep, axes...)
	}
	count := 1
	for _, a := range axes {
		count *= x.shape()[a]
	}
	return t.do(op.Div, []value{sum(t, x, keep, axes), t.scalarInt(x.dtype(), int64(count))})
}

// argOf converts ArgMax and ArgMin. For select_last_index, it finds the first element in the flipped tensor.
func argOf(c op.Code) converter {
	return func(t *tracer, n *node) []value {
		t.need(n, 0)
		x := n.input(0)
		if x.rank() == 0 {
			t.fail("data is a scalar, want rank 1 or more")
		}
		axis := t.axis(n.int("axis", 0), x.rank())
		last := n.int("select_last_index", 0) != 0
		if last {
			x = t.do(op.Flip, []value{x}, op.Ints("axes", axis))
		}
		y := t.do(c, []value{x}, op.Int("axis", axis), op.Flag("keep_dims", n.int("keepdims", 1) != 0))
		if last {
			y = t.do(op.Sub, []value{t.scalarInt(dtype.I64, int64(x.shape()[axis]-1)), y})
		}
		return []value{y}
	}
}

func scanOf(c op.Code) converter {
	return func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		x := n.input(0)
		return []value{t.do(c, []value{x}, op.Int("axis", t.axis(t.hostInt(n.input(1)), x.rank())),
			op.Flag("exclusive", n.int("exclusive", 0) != 0), op.Flag("reverse", n.int("reverse", 0) != 0))}
	}
}

// hostInt returns the only element of v.
func (t *tracer) hostInt(v value) int {
	if !v.isTensor() || v.shape().Size() != 1 {
		t.fail("want a scalar, got %v", v.shape())
	}
	return t.hostInts(v)[0]
}
