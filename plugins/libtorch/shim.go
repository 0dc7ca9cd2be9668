package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// shims contains the addresses of functions of torch that accept numbers, which the dispatcher does not accept, or that are faster because
// they borrow their arguments. An address is 0 if the function is missing.
type shims struct {
	add           uintptr
	convolution   uintptr
	scatterReduce uintptr
}

func newShims(lib *torch.Library, kind string) shims {
	return shims{
		add:           lib.Symbol("aoti_torch_" + kind + "_add_Tensor"),
		convolution:   lib.Symbol("aoti_torch_" + kind + "_convolution"),
		scatterReduce: lib.Symbol("aoti_torch_scatter_reduce_out"),
	}
}

// addFloat returns a + alpha·b for floats.
func (w *worker) addFloat(a, b val, alpha float64) val {
	s := w.broadcast(a.s, b.s)
	if w.err != nil {
		return val{0, a.d, s}
	}
	h, err := w.thread.AddScaled(w.dev.shim.add, a.h, b.h, alpha)
	return w.keep(h, err, a.d, s)
}

var opAddcmul = aten("_foreach_addcmul.Tensor")

// addInt returns a + alpha·b for integers. It uses the only operator for integer sums that can be called through torch's ABI, whose
// operands are lists of tensors and whose factor is a tensor.
func (w *worker) addInt(a, b val, alpha int) val {
	s := w.broadcast(a.s, b.s)
	if w.err != nil {
		return val{0, a.d, s}
	}
	if !w.dev.lists {
		return w.addParts(a, b, alpha)
	}
	one := w.whole(a.d, 1)
	factor := w.hostNumber(alpha)
	a = w.expand(a, s)
	if w.err != nil {
		return val{0, a.d, s}
	}
	w.thread.Begin(opAddcmul)
	w.thread.Tensors(a.h)
	w.thread.Tensors(b.h)
	w.thread.Tensors(one.h)
	w.thread.Tensor(factor.h)
	h, err := w.thread.CallList()
	return w.keep(h, err, a.d, s)
}

// hostNumber returns an i64 vector of one element, which is in host memory on every device. It is cached.
func (w *worker) hostNumber(i int) val {
	k := key{dtype.I64, uint64(int64(i)), -1}
	w.dev.mu.Lock()
	h, ok := w.dev.consts[k]
	w.dev.mu.Unlock()
	if ok || w.err != nil {
		return val{h, dtype.I64, shape.Of(1)}
	}
	h, err := w.thread.Host([]int64{int64(i)})
	if err != nil {
		w.fail(err)
		return val{0, dtype.I64, shape.Of(1)}
	}
	w.dev.mu.Lock()
	defer w.dev.mu.Unlock()
	if old, ok := w.dev.consts[k]; ok {
		w.thread.Delete(h)
		h = old
	} else {
		w.dev.consts[k] = h
	}
	return val{h, dtype.I64, shape.Of(1)}
}
