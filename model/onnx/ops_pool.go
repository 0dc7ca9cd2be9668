package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	register("MaxPool", 1, maxPoolNode)
	register("AveragePool", 1, averagePoolNode)
	register("LpPool", 1, lpPoolNode)
	register("GlobalAveragePool", 1, func(t *tracer, n *node) []value {
		return []value{t.reduce(op.Mean, t.pooledInput(n), true, span(2, n.input(0).rank())...)}
	})
	register("GlobalMaxPool", 1, func(t *tracer, n *node) []value {
		return []value{t.reduce(op.ReduceMax, t.pooledInput(n), true, span(2, n.input(0).rank())...)}
	})
	register("GlobalLpPool", 1, func(t *tracer, n *node) []value {
		x := t.pooledInput(n)
		return []value{t.powerNorm(x, t.order(n), func(x value) value { return calc{t}.sum(x, true, span(2, x.rank())...) })}
	})
	register("MaxUnpool", 9, maxUnpoolNode)
}

// pooledInput returns input 0 and checks that it has at least one spatial dimension.
func (t *tracer) pooledInput(n *node) value {
	t.need(n, 0)
	x := n.input(0)
	if x.rank() < 3 {
		t.fail("x is %v, want rank 3 or more", x.shape())
	}
	return x
}

// pool reads the geometry of a pooling node. overhang contains, for each spatial dimension, the padding at the end that the number of
// windows defined by ONNX needs in addition to the padding of the node.
func (t *tracer) pool(n *node, x value) (w window, overhang []int) {
	spatial := x.shape()[2:]
	w = t.window(n, spatial, n.ints("kernel_shape"))
	ceil := n.int("ceil_mode", 0) != 0
	overhang = make([]int, len(spatial))
	for i, d := range spatial {
		out, reach := w.pooled(i, d, ceil)
		if out < 1 {
			t.fail("kernel %v over %v padded by %v and %v does not fit", w.kernel, spatial, w.lo, w.hi)
		}
		overhang[i] = max(0, reach-w.hi[i])
		w.hi[i] = max(0, min(w.hi[i], reach))
	}
	return w, overhang
}

func (c calc) windowReduce(x value, reduce string, w window, hi []int, indices bool) []value {
	return c.all(op.WindowReduce, []value{x}, op.Str("reduce", reduce), op.Ints("window", w.kernel...), op.Ints("strides", w.strides...),
		op.Ints("pad_lo", w.lo...), op.Ints("pad_hi", hi...), op.Ints("dilation", w.dilation...), op.Flag("indices", indices))
}

func maxPoolNode(t *tracer, n *node) []value {
	x := t.pooledInput(n)
	w, overhang := t.pool(n, x)
	c := calc{t}
	y := c.windowReduce(x, "max", w, plus(w.hi, overhang), n.wants(1))
	if !n.wants(1) {
		return y
	}
	// Positions index the whole tensor; with storage_order 1, the first spatial dimension varies fastest.
	spatial, at := x.shape()[2:], y[1]
	if n.int("storage_order", 0) != 0 {
		rest, sum, stride := at, value{}, product(spatial)
		for i := len(spatial) - 1; i >= 0; i-- {
			d := c.like(rest, float64(spatial[i]))
			stride /= spatial[i]
			digit := c.mulN(c.bin(op.Rem, rest, d), float64(stride))
			if sum.present() {
				digit = c.add(sum, digit)
			}
			sum, rest = digit, c.div(rest, d)
		}
		at = sum
	}
	planes := x.shape()[:2]
	t.scratch(8, planes...)
	offsets := span(0, planes.Size())
	for i := range offsets {
		offsets[i] *= product(spatial)
	}
	return []value{y[0], c.add(at, t.constInts(dtype.I64, append(planes.Clone(), ones(len(spatial))...), offsets))}
}

func plus(a, b []int) []int {
	s := slices.Clone(a)
	for i := range s {
		s[i] += b[i]
	}
	return s
}

func averagePoolNode(t *tracer, n *node) []value {
	x := t.pooledInput(n)
	w, overhang := t.pool(n, x)
	return []value{t.do(op.AvgPool, []value{x}, op.Ints("window", w.kernel...), op.Ints("strides", w.strides...),
		op.Ints("pad_lo", w.lo...), op.Ints("pad_hi", w.hi...), op.Ints("overhang", overhang...), op.Ints("dilation", w.dilation...),
		op.Flag("count_pad", n.int("count_include_pad", 0) != 0))}
}

// order returns the attribute p, which is a float in opset 1.
func (t *tracer) order(n *node) float64 {
	if n.opset() < 2 {
		return n.float("p", 2)
	}
	return float64(n.int("p", 2))
}

// powerNorm returns sum(|x|^p)^(1/p).
func (t *tracer) powerNorm(x value, p float64, sum func(value) value) value {
	c := calc{t}
	if p != 2 {
		x = c.abs(x)
	}
	return c.pow(sum(c.pow(x, p)), 1/p)
}

func lpPoolNode(t *tracer, n *node) []value {
	x := t.pooledInput(n)
	w, overhang := t.pool(n, x)
	return []value{t.do(op.LpPool, []value{x}, op.Float("p", t.order(n)), op.Ints("window", w.kernel...), op.Ints("strides", w.strides...),
		op.Ints("pad_lo", w.lo...), op.Ints("pad_hi", w.hi...), op.Ints("overhang", overhang...), op.Ints("dilation", w.dilation...))}
}

// maxUnpoolNode writes the values to the positions in their indices, which index the whole tensor that was pooled. If
// output_shape is greater than the shape of that tensor, zeros follow in each dimension.
func maxUnpoolNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, indices := n.input(0), n.input(1)
	if !x.shape().Equal(indices.shape()) || x.rank() < 3 {
		t.fail("x is %v and indices %v, want the same shape of rank 3 or more", x.shape(), indices.shape())
	}
	w := t.window(n, x.shape()[2:], n.ints("kernel_shape"))
	s := x.shape().Clone()
	for i := range w.kernel {
		s[2+i] = (s[2+i]-1)*w.strides[i] + w.kernel[i] - w.lo[i] - w.hi[i]
		if s[2+i] < 0 {
			t.fail("the result is %v", s)
		}
	}
	count := x.shape().Size()
	y := t.do(op.Scatter, []value{calc{t}.zeros(x.dtype(), []int{s.Size()}), t.reshape(indices, count), t.reshape(x, count)},
		op.Int("axis", 0))
	y = t.reshape(y, s...)
	if shape := n.input(2); shape.present() {
		want := t.hostInts(shape)
		if len(want) != len(s) {
			t.fail("output_shape is %v, want %d entries", want, len(s))
		}
		hi := make([]int, len(s))
		for i := range s {
			hi[i] = want[i] - s[i]
		}
		y = t.pad(y, make([]int, len(s)), hi, op.ScalarInt("value", 0))
	}
	return []value{y}
}
