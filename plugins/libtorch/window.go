package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var windows = map[op.Code]rule{
	op.WindowReduce: {run: windowReduce, types: numbers},
}

// windowReduce reduces a view of all windows of the padded operand.
func windowReduce(w *worker) {
	a, d := w.n.Attrs, w.n.Outputs[0]
	if a.Str("reduce") != "sum" {
		if !a.Bool("indices") && w.dev.lists && plane(w) {
			w.maxPool()
			return
		}
		w.maxima(a.Ints("pad_hi"))
		return
	}
	if d.Shape.Size() == 0 {
		w.out[0] = w.empty(d.DType, d.Shape)
		return
	}
	v, axes := w.windowsOf(a.Ints("pad_hi"), op.ScalarInt("", 0).Value)
	w.out[0] = w.reshape(w.sums(v, axes), d.Shape)
}

// windowsOf returns the windows of the operand of a pooling node, padded with value, and the axes of a window.
func (w *worker) windowsOf(hi []int, value op.Value) (v val, axes []int) {
	a, x, s := w.n.Attrs, w.in[0], w.n.Outputs[0].Shape
	window := shape.Shape(a.Ints("window"))
	p := w.spread(x, nil, a.Ints("pad_lo"), hi, value)
	v = w.windows(p, s[len(s)-len(window):], window, a.Ints("strides"), a.Ints("dilation"))
	for i := range window {
		axes = append(axes, len(s)+i)
	}
	return v, axes
}

// maxima computes the greatest element of each window and, if the node has a second result, its position.
func (w *worker) maxima(hi []int) {
	a, x, d := w.n.Attrs, w.in[0], w.n.Outputs[0]
	window, lo := shape.Shape(a.Ints("window")), a.Ints("pad_lo")
	lead := len(x.s) - len(window)
	if d.Shape.Size() == 0 {
		for i, o := range w.n.Outputs {
			w.out[i] = w.empty(o.DType, o.Shape)
		}
		return
	}
	v, axes := w.windowsOf(hi, limit(x.d, -1))
	at := d.Shape[lead:]
	if !a.Bool("indices") {
		w.out[0] = w.outer(opAmax, v, axes, d.Shape)
		return
	}
	v = w.reshape(v, append(d.Shape.Clone(), window.Size()))
	top, k := w.pair(opMaxDim, x.d, dtype.I64, d.Shape, func(t *torch.Thread) {
		t.Tensor(v.h)
		t.Int(len(d.Shape))
		t.Bool(false)
	})
	w.out[0], w.out[1] = top, w.places(x.s[lead:], lo, at, window, k)
}

// places returns the positions of maxima in the dimensions s, or -1 for windows of padding only. k contains the position of each maximum in
// its window. torch may find padding before an element that equals it; the result is then the position of the first element of the window.
func (w *worker) places(s shape.Shape, lo []int, at, window shape.Shape, k val) val {
	a := w.n.Attrs
	strides, dilation := a.Ints("strides"), a.Ints("dilation")
	size, n := window.Size(), len(window)
	table, first := make([]int64, at.Size()*size), make([]int64, at.Size())
	index, place := make([]int, n), make([]int, n)
	for p := range first {
		unravel(p, at, index)
		first[p] = -1
		for j := range size {
			unravel(j, window, place)
			where, inside := 0, true
			for i := range n {
				q := index[i]*strides[i] + place[i]*dilation[i] - lo[i]
				inside = inside && q >= 0 && q < s[i]
				where = where*s[i] + q
			}
			if !inside {
				where = -1
			}
			table[p*size+j] = int64(where)
			if first[p] < 0 {
				first[p] = int64(where)
			}
		}
	}
	wide := append(k.s.Clone(), size)
	t := w.expand(w.host(dtype.I64, append(at.Clone(), size), dtype.Bytes(table)), wide)
	f := w.expand(w.host(dtype.I64, at, dtype.Bytes(first)), k.s)
	column := w.reshape(k, append(k.s.Clone(), 1))
	found := w.call(opGather, dtype.I64, column.s, func(th *torch.Thread) {
		th.Tensor(t.h)
		th.Int(len(k.s))
		th.Tensor(column.h)
		th.Bool(false)
	})
	found = w.reshape(found, k.s)
	return w.where(w.bin(opEqual, found, w.whole(dtype.I64, -1), dtype.Bool), f, found)
}

// unravel sets index to the coordinates of element i of a tensor of shape s in row-major order.
func unravel(i int, s shape.Shape, index []int) {
	for k := len(s) - 1; k >= 0; k-- {
		index[k] = i % s[k]
		i /= s[k]
	}
}
