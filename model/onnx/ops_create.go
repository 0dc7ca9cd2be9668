package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

func init() {
	register("Constant", 1, constantNode)
	register("ConstantOfShape", 9, constantOfShape)
	register("Range", 11, rangeNode)
	register("EyeLike", 9, eyeLike)
	register("Trilu", 14, trilu)
	register("Shape", 1, shapeNode)
	register("Size", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.scalarInt(dtype.I64, int64(n.input(0).shape().Size()))}
	})
}

func constantNode(t *tracer, n *node) []value {
	switch {
	case n.has("value"):
		return []value{t.fromPB(n.tensorAttr("value"))}
	case n.has("sparse_value"):
		return []value{t.fromSparse(n.attr("sparse_value", pb.AttrSparseTensor).SparseTensor)}
	case n.has("value_float"):
		return []value{t.constFloats(dtype.F32, shape.Of(), []float64{n.float("value_float", 0)})}
	case n.has("value_floats"):
		v := n.floats("value_floats")
		return []value{t.constFloats(dtype.F32, shape.Of(len(v)), v)}
	case n.has("value_int"):
		return []value{t.constInts(dtype.I64, shape.Of(), []int{n.int("value_int", 0)})}
	case n.has("value_ints"):
		v := n.ints("value_ints")
		return []value{t.constInts(dtype.I64, shape.Of(len(v)), v)}
	case n.has("value_string"), n.has("value_strings"):
		t.unsupported("a constant of strings")
	}
	t.fail("no attribute holds the value")
	return nil
}

func constantOfShape(t *tracer, n *node) []value {
	t.need(n, 0)
	dims := t.hostDims(n.input(0))
	fill, d := op.ScalarFloat("value", 0), dtype.F32
	if n.has("value") {
		v := t.fromPB(n.tensorAttr("value"))
		if v.shape().Size() != 1 {
			t.fail("value is %v, want one element", v.shape())
		}
		fill, d = t.scalarAttr("value", v), v.dtype()
	}
	return []value{t.do(op.Full, nil, fill, op.Type("dtype", d), op.Ints("shape", dims...))}
}

// rangeNode computes on the host, as the length depends on the values.
func rangeNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	d := n.input(0).dtype()
	if d.IsInt() {
		start, limit, delta := t.hostInt(n.input(0)), t.hostInt(n.input(1)), t.hostInt(n.input(2))
		count := 0
		switch {
		case delta == 0:
			t.fail("delta is 0")
		case delta > 0 && limit > start:
			count = int((uint(limit)-uint(start)-1)/uint(delta)) + 1
		case delta < 0 && limit < start:
			count = int((uint(start)-uint(limit)-1)/-uint(delta)) + 1
		}
		v := make([]int, checkedCount(t, d, float64(count)))
		for i := range v {
			v[i] = start + i*delta
		}
		return []value{t.constInts(d, shape.Of(count), v)}
	}
	var at [3]float64
	for i := range at {
		if n.input(i).shape().Size() != 1 {
			t.fail("input %d is %v, want a scalar", i, n.input(i).shape())
		}
		at[i] = t.hostFloats(n.input(i))[0]
	}
	if at[2] == 0 {
		t.fail("delta is 0")
	}
	v := make([]float64, checkedCount(t, d, math.Ceil((at[1]-at[0])/at[2])))
	for i := range v {
		v[i] = at[0] + float64(i)*at[2]
	}
	return []value{t.constFloats(d, shape.Of(len(v)), v)}
}

// checkedCount returns n as a length, and fails for NaN and for lengths above the tensor limit.
func checkedCount(t *tracer, d dtype.DType, n float64) int {
	if !(n < 1<<56) {
		t.fail("%v elements", n)
	}
	t.reserve(d, int(max(n, 0)))
	return int(max(n, 0))
}

func eyeLike(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	if x.rank() != 2 {
		t.fail("input is %v, want rank 2", x.shape())
	}
	d := x.dtype()
	if n.has("dtype") {
		d = t.elementType(n.int("dtype", 0))
	}
	diagonal := compareDiagonal(t, op.Equal, x.shape(), t.scalarInt(dtype.I64, int64(n.int("k", 0))))
	return []value{t.cast(diagonal, d)}
}

// compareDiagonal compares row+k with column in a matrix of shape s.
func compareDiagonal(t *tracer, c op.Code, s shape.Shape, k value) value {
	row := t.do(op.Iota, nil, op.Type("dtype", dtype.I64), op.Ints("shape", s[0], 1), op.Int("axis", 0))
	col := t.do(op.Iota, nil, op.Type("dtype", dtype.I64), op.Ints("shape", 1, s[1]), op.Int("axis", 1))
	return t.do(c, []value{t.do(op.Add, []value{row, k}), col})
}

func trilu(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	if x.rank() < 2 {
		t.fail("input is %v, want rank 2 or more", x.shape())
	}
	k := t.scalarInt(dtype.I64, 0)
	if n.input(1).present() {
		t.need(n, 1)
		k = t.reshape(t.cast(n.input(1), dtype.I64))
	}
	c := op.LessEqual
	if n.int("upper", 1) == 0 {
		c = op.GreaterEqual
	}
	keep := compareDiagonal(t, c, x.shape()[x.rank()-2:], k)
	zero := t.do(op.Full, nil, op.ScalarInt("value", 0), op.Type("dtype", x.dtype()), op.Ints("shape"))
	return []value{t.do(op.Where, []value{keep, x, zero})}
}

func shapeNode(t *tracer, n *node) []value {
	t.need(n, 0)
	s := n.input(0).shape()
	bring := func(i int) int {
		if i < 0 {
			i += len(s)
		}
		return min(max(i, 0), len(s))
	}
	start, end := bring(n.int("start", 0)), bring(n.int("end", len(s)))
	s = s[start:max(start, end)]
	return []value{t.constInts(dtype.I64, shape.Of(len(s)), s)}
}
