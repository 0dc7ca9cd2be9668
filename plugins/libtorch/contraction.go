package libtorch

import (
	"slices"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var contractions = map[op.Code]rule{
	op.MatMul: {run: matmul, types: numbers},
	op.Conv:   {run: conv, types: numbers},
}

var (
	opMatMul = aten("matmul")
	opSumAll = aten("sum")
)

func swapped(rank int) []int {
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	axes[rank-1], axes[rank-2] = rank-2, rank-1
	return axes
}

func matmul(w *worker) {
	a, b, at := w.dense(w.in[0]), w.dense(w.in[1]), w.n.Attrs
	if at.Bool("transpose_a") {
		a = w.permute(a, swapped(len(a.s)))
	}
	if at.Bool("transpose_b") {
		b = w.permute(b, swapped(len(b.s)))
	}
	w.out[0] = w.product(a, b, w.n.Outputs[0].Shape)
}

// dense returns x, or a copy of x if a row or a column of its matrices is a broadcast element. torch would copy such a matrix too, in an
// unspecified order.
func (w *worker) dense(x val) val {
	v := w.view(x)
	for i := len(x.s) - 2; i < len(x.s); i++ {
		if i >= 0 && x.s[i] > 1 && v.Strides[i] == 0 {
			return w.convert(x, x.d)
		}
	}
	return x
}

func (w *worker) product(a, b val, s shape.Shape) val {
	if a.s[len(a.s)-1] == 0 || s.Size() == 0 {
		return w.fill(a.d, s, op.ScalarInt("", 0).Value)
	}
	if !a.d.IsFloat() && !w.dev.reads {
		return w.summed(a, b, s)
	}
	return w.call(opMatMul, a.d, s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Tensor(b.h)
	})
}

// maxSummed is the greatest number of elementwise products that summed computes at once; a single row may have more.
const maxSummed = 1 << 24

// summed returns a product of integer matrices as sums of elementwise products. On devices other than the cpu, torch has only float matrix
// products.
func (w *worker) summed(a, b val, s shape.Shape) val {
	ra, rb := len(a.s), len(b.s)
	k := a.s[ra-1]
	step := max(1, maxSummed/s.Size())
	var sum val
	for lo := 0; lo < k; lo += step {
		hi := min(k, lo+step)
		left := w.reshape(w.cut(a, ra-1, lo, hi), slices.Concat(a.s[:ra-1], shape.Of(hi-lo, 1)))
		right := w.reshape(w.cut(b, rb-2, lo, hi), slices.Concat(b.s[:rb-2], shape.Of(1, hi-lo, b.s[rb-1])))
		x := w.bin(opMul, left, right, a.d)
		if w.err != nil {
			return val{0, a.d, s}
		}
		x = w.reshape(w.sums(x, []int{len(x.s) - 2}), s)
		if lo > 0 {
			x = w.add(sum, x)
		}
		sum = x
	}
	return sum
}

// finite reports whether no element of operand i is NaN or infinite. The answer is cached in the tensor.
func (w *worker) finite(i int) bool {
	t := w.from[i]
	switch t.finite.Load() {
	case 1:
		return true
	case 2:
		return false
	}
	if w.settled(w.in[i]) {
		t.finite.Store(1)
		return true
	}
	t.finite.Store(2)
	return false
}

// settled reports whether the sum of x is finite, which implies that no element is NaN or infinite.
func (w *worker) settled(x val) bool {
	if x.s.Size() == 0 {
		return true
	}
	s := w.call(opSumAll, x.d, nil, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.None()
	})
	v := w.read(s)
	return w.err == nil && v-v == 0
}

// read returns the element of a tensor that has one element. It waits for the device.
func (w *worker) read(x val) float64 {
	x = w.to(x, dtype.F64)
	if w.err != nil {
		return 0
	}
	v := []float64{0}
	h, err := w.thread.Over(unsafe.Pointer(&v[0]), nil, torch.Float64)
	if err == nil {
		err = w.thread.Copy(h, x.h)
		w.thread.Delete(h)
	}
	w.fail(err)
	return v[0]
}

// convolution contains the attributes of a conv node.
type convolution struct {
	strides, lo, hi, dilation, input []int
	groups                           int
}

func conv(w *worker) {
	a, x, k, d := w.n.Attrs, w.in[0], w.in[1], w.n.Outputs[0]
	c := convolution{a.Ints("strides"), a.Ints("pad_lo"), a.Ints("pad_hi"), a.Ints("kernel_dilation"), a.Ints("input_dilation"), a.Int("groups")}
	n := len(c.strides)
	if d.Shape.Size() == 0 || x.s.Size() == 0 || k.s.Size() == 0 {
		w.out[0] = w.fill(d.DType, d.Shape, op.ScalarInt("", 0).Value)
		return
	}
	native := d.DType.IsFloat() && n <= 3 && w.dev.shim.convolution != 0
	if native && d.DType.Size() == 2 && !(w.finite(0) && w.finite(1)) { // torch's bf16 kernels turn infinity into NaN
		x, k = w.wide(x), w.wide(k)
	}
	defer func() { w.out[0] = w.to(w.out[0], d.DType) }()
	if native {
		if t, ok := c.transposed(k.s); ok && w.finite(1) {
			if d.DType == dtype.F16 { // torch adds the products of an element in f16
				x, k = w.wide(x), w.wide(k)
			}
			w.out[0] = w.convolve(x, w.mirrored(k, c.groups), 0, t, d.Shape)
			return
		}
	}
	even := slices.Equal(c.lo, c.hi)
	padded := false
	for i := range n {
		even = even && c.lo[i] >= 0 && c.input[i] == 1
		padded = padded || c.lo[i] > 0
	}
	if native && even && (!padded || w.finite(1)) {
		w.out[0] = w.convolve(x, k, 0, &torch.Convolution{Strides: c.strides, Padding: c.lo, Dilation: c.dilation, OutputPadding: make([]int, n), Groups: c.groups}, d.Shape)
		return
	}
	x = w.spread(x, c.input, c.lo, c.hi, op.ScalarInt("", 0).Value)
	if native {
		w.out[0] = w.convolve(x, k, 0, &torch.Convolution{Strides: c.strides, Padding: make([]int, n), Dilation: c.dilation, OutputPadding: make([]int, n), Groups: c.groups}, d.Shape)
		return
	}
	w.out[0] = w.unrolled(x, k, &c, d.Shape)
}

// transposed returns the transposed convolution with strides c.input that equals c if its kernel, of shape k, is mirrored. It exists only
// for a dilated input that is not cropped.
func (c *convolution) transposed(k shape.Shape) (*torch.Convolution, bool) {
	t := &torch.Convolution{Strides: c.input, Dilation: c.dilation, Transposed: true, Groups: c.groups}
	dilated := false
	for i := range c.input {
		reach := c.dilation[i] * (k[i+2] - 1)
		p, out := reach-c.lo[i], c.hi[i]-c.lo[i]
		if c.strides[i] != 1 || p < 0 || out < 0 || out >= max(c.input[i], c.dilation[i]) {
			return nil, false
		}
		dilated = dilated || c.input[i] > 1
		t.Padding, t.OutputPadding = append(t.Padding, p), append(t.OutputPadding, out)
	}
	return t, dilated
}

// mirrored converts a kernel [O, C/groups, ...] to the kernel [C, O/groups, ...] of the transposed convolution, with its spatial axes
// flipped.
func (w *worker) mirrored(k val, groups int) val {
	o, c := k.s[0], k.s[1]
	space := k.s[2:]
	axes := []int{0, 2, 1}
	var flipped []int
	for i := range space {
		axes, flipped = append(axes, 3+i), append(flipped, 2+i)
	}
	k = w.permute(w.reshape(k, slices.Concat(shape.Of(groups, o/groups, c), space)), axes)
	return w.flip(w.reshape(k, slices.Concat(shape.Of(groups*c, o/groups), space)), flipped...)
}

func (w *worker) convolve(x, k val, bias torch.Handle, c *torch.Convolution, s shape.Shape) val {
	if w.err != nil {
		return val{0, x.d, s}
	}
	h, err := w.thread.Convolve(w.dev.shim.convolution, x.h, k.h, bias, c)
	return w.keep(h, err, x.d, s)
}

// unrolled computes a convolution of the padded tensor x as a matrix product, whose rows are the windows of x and whose columns are the
// kernels.
func (w *worker) unrolled(x, k val, c *convolution, y shape.Shape) val {
	images, g, n := x.s[0], c.groups, len(c.strides)
	channels, outs, at, kernel := x.s[1]/g, k.s[0]/g, y[2:], k.s[2:]
	cut := w.windows(x, at, kernel, c.strides, c.dilation)
	cut = w.reshape(cut, slices.Concat(shape.Of(images, g, channels), at, kernel))
	axes := []int{1, 0} // [groups, images, positions, channels, kernel]
	for i := range n {
		axes = append(axes, 3+i)
	}
	axes = append(axes, 2)
	for i := range n {
		axes = append(axes, 3+n+i)
	}
	size := channels * kernel.Size()
	rows := w.reshape(w.permute(cut, axes), shape.Of(g, images*at.Size(), size))
	columns := w.permute(w.reshape(k, shape.Of(g, outs, size)), []int{0, 2, 1})
	z := w.product(rows, columns, shape.Of(g, images*at.Size(), outs))
	z = w.permute(w.reshape(z, shape.Of(g, images, at.Size(), outs)), []int{1, 0, 3, 2})
	return w.reshape(z, y)
}

// windows returns a view of x in which its last dimensions are replaced by the dimensions of the window positions, followed by the
// dimensions of a window.
func (w *worker) windows(x val, at, window shape.Shape, strides, dilation []int) val {
	v, n := w.view(x), len(window)
	lead := len(x.s) - n
	r := shape.View{Shape: slices.Concat(x.s[:lead], at, window), Strides: slices.Clone(v.Strides[:lead])}
	for i := range n {
		r.Strides = append(r.Strides, v.Strides[lead+i]*strides[i])
	}
	for i := range n {
		r.Strides = append(r.Strides, v.Strides[lead+i]*dilation[i])
	}
	return w.seen(x, r)
}
