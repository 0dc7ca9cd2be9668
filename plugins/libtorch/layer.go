package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Composites for layers: products with a bias, embedding tables, pooling, triangular systems.

var layers = map[op.Code]rule{
	op.Linear:          {run: linear, types: numbers, needs: needsAdd},
	op.Embedding:       {run: embedding, types: anyType},
	op.GatherElements:  {run: gatherElements, types: anyType},
	op.MaxPool:         {run: maxPool, types: numbers, needs: needsLists},
	op.AvgPool:         {run: avgPool, types: floats, needs: needsLists},
	op.TriangularSolve: {run: triangularSolve, types: dtype.SetOf(dtype.F32, dtype.F64)},
}

var (
	opLinear     = aten("linear")
	opMaxPool2   = aten("max_pool2d")
	opAvgPool2   = aten("avg_pool2d")
	opTriangular = aten("linalg_solve_triangular")
)

func linear(w *worker) {
	x, k, d := w.in[0], w.dense(w.in[1]), w.n.Outputs[0]
	if !w.n.Attrs.Bool("transpose_w") {
		k = w.permute(k, []int{1, 0}) // torch has [N, K]
	}
	var bias val
	if len(w.in) > 2 {
		bias = w.in[2]
	}
	if x.d.IsFloat() && x.s.Size() > 0 && k.s.Size() > 0 {
		w.out[0] = w.call(opLinear, x.d, d.Shape, func(t *torch.Thread) {
			t.Tensor(x.h)
			t.Tensor(k.h)
			t.SomeTensor(bias.h)
		})
		return
	}
	n := len(x.s) - 1
	rows := shape.Of(x.s[:n].Size(), x.s[n])
	y := w.product(w.reshape(x, rows), w.permute(k, []int{1, 0}), shape.Of(rows[0], k.s[0]))
	if bias.h != 0 {
		y = w.add(y, bias)
	}
	w.out[0] = w.reshape(y, d.Shape)
}

func embedding(w *worker) {
	x, idx, d, padding := w.in[0], w.in[1], w.n.Outputs[0], w.n.Attrs.Int("padding")
	if d.Shape.Size() == 0 {
		w.out[0] = w.empty(d.DType, d.Shape)
		return
	}
	i, _ := w.indices(idx, x.s[0])
	y := w.call(opIndexSelect, x.d, shape.Of(i.s[0], x.s[1]), func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(0)
		t.Tensor(i.h)
	})
	if padding >= 0 {
		none := w.bin(opEqual, w.reshape(i, shape.Of(i.s[0], 1)), w.whole(dtype.I64, padding), dtype.Bool)
		y = w.where(none, w.whole(x.d, 0), y)
	}
	w.out[0] = w.reshape(y, d.Shape)
}

func gatherElements(w *worker) {
	x, idx, axis := w.in[0], w.in[1], w.n.Attrs.Int("axis")
	if idx.s.Size() == 0 {
		w.out[0] = w.empty(x.d, idx.s)
		return
	}
	i, _ := w.indices(idx, x.s[axis])
	i = w.reshape(i, idx.s)
	w.out[0] = w.call(opGather, x.d, idx.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(axis)
		t.Tensor(i.h)
		t.Bool(false)
	})
}

// plane reports whether torch's pooling over two dimensions can compute the node. torch pads both ends by pad_lo. The result is the same if
// torch has as many windows as the node, because they are then at the same positions.
func plane(w *worker) bool {
	a, x, y := w.n.Attrs, w.in[0], w.n.Outputs[0].Shape
	window, strides, lo, dilation := a.Ints("window"), a.Ints("strides"), a.Ints("pad_lo"), a.Ints("dilation")
	if len(window) != 2 || len(x.s) != 3 && len(x.s) != 4 || !x.d.IsFloat() || x.s.Size() == 0 || y.Size() == 0 {
		return false
	}
	for i := range window {
		axis := len(x.s) - 2 + i
		room := x.s[axis] + 2*lo[i] - (dilation[i]*(window[i]-1) + 1)
		if lo[i] < 0 || 2*lo[i] > window[i] || room < 0 || room/strides[i]+1 != y[axis] {
			return false
		}
	}
	return true
}

func maxPool(w *worker) {
	if a := w.n.Attrs; !plane(w) || a.Bool("indices") {
		w.maxima(sums(a.Ints("pad_hi"), a.Ints("overhang")))
		return
	}
	w.maxPool()
}

// maxPool calls torch's operator for a node that plane accepts.
func (w *worker) maxPool() {
	a, x, d := w.n.Attrs, w.in[0], w.n.Outputs[0]
	w.out[0] = w.call(opMaxPool2, x.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(a.Ints("window")...)
		t.Ints(a.Ints("strides")...)
		t.Ints(a.Ints("pad_lo")...)
		t.Ints(a.Ints("dilation")...)
		t.Bool(false)
	})
}

func sums(a, b []int) []int {
	y := make([]int, len(a))
	for i := range a {
		y[i] = a[i] + b[i]
	}
	return y
}

func avgPool(w *worker) {
	a, x, d := w.n.Attrs, w.in[0], w.n.Outputs[0]
	native := plane(w)
	for i, n := range a.Ints("dilation") {
		native = native && n == 1 && (a.Ints("overhang")[i] == 0 || !a.Bool("count_pad")) // torch counts an overhang as padding
	}
	if native {
		w.out[0] = w.call(opAvgPool2, x.d, d.Shape, func(t *torch.Thread) {
			t.Tensor(x.h)
			t.Ints(a.Ints("window")...)
			t.Ints(a.Ints("strides")...)
			t.Ints(a.Ints("pad_lo")...)
			t.Bool(false)
			t.Bool(a.Bool("count_pad"))
			t.None()
		})
		return
	}
	if d.Shape.Size() == 0 {
		w.out[0] = w.empty(d.DType, d.Shape)
		return
	}
	window := shape.Shape(a.Ints("window"))
	lead := len(x.s) - len(window)
	at := d.Shape[lead:]
	x = w.spread(w.wide(x), nil, a.Ints("pad_lo"), sums(a.Ints("pad_hi"), a.Ints("overhang")), op.ScalarInt("", 0).Value)
	v := w.windows(x, at, window, a.Ints("strides"), a.Ints("dilation"))
	axes := make([]int, len(window))
	for i := range axes {
		axes[i] = len(d.Shape) + i
	}
	total := w.reshape(w.sums(v, axes), d.Shape)
	counts := make([]float64, at.Size())
	index, place := make([]int, len(at)), make([]int, len(at))
	for p := range counts {
		unravel(p, at, index)
		for j := range window.Size() {
			unravel(j, window, place)
			if w.counts(index, place, lead) {
				counts[p]++
			}
		}
	}
	n := w.to(w.host(dtype.F64, at, dtype.Bytes(counts)), x.d)
	w.out[0] = w.to(w.bin(opDiv, total, n, x.d), d.DType)
}

// counts reports whether position place of window index counts in the divisor of avg_pool.
func (w *worker) counts(index, place []int, lead int) bool {
	a := w.n.Attrs
	strides, dilation, lo, hi := a.Ints("strides"), a.Ints("dilation"), a.Ints("pad_lo"), a.Ints("pad_hi")
	for i := range index {
		q := index[i]*strides[i] + place[i]*dilation[i] - lo[i]
		n := w.in[0].s[lead+i]
		if a.Bool("count_pad") {
			if q >= n+hi[i] {
				return false
			}
		} else if q < 0 || q >= n {
			return false
		}
	}
	return true
}

func triangularSolve(w *worker) {
	a, b, at, d := w.in[0], w.in[1], w.n.Attrs, w.n.Outputs[0]
	upper := at.Bool("upper")
	if at.Bool("transpose") {
		a = w.permute(a, swapped(len(a.s)))
		upper = !upper
	}
	w.out[0] = w.call(opTriangular, a.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Tensor(b.h)
		t.Bool(upper)
		t.Bool(true)
		t.Bool(at.Bool("unit"))
	})
}
