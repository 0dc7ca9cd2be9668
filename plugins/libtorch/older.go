package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Ops that are computed differently with a torch that needs the shim. Such a torch is older than 2.9; version 1.13 was tested. On a cpu it
// has few kernels for f16, and its kernels for bf16 round intermediate results or are wrong.

// still contains the ops that need no f32 for 16-bit floats: most of them only create, copy or select elements.
var still = join(creation, movement, indexing, map[op.Code]rule{
	op.Embedding: {}, op.GatherElements: {}, op.Where: {}, op.Tril: {}, op.Triu: {}, op.Sort: {},
})

// older returns the rule of an op for a torch that needs the shim.
func older(code op.Code, r rule) rule {
	switch code {
	case op.Shl:
		r.run = func(w *worker) { w.shift(false) }
	case op.Shr:
		r.run = func(w *worker) { w.shift(true) }
	}
	if _, ok := still[code]; !ok {
		r.run = widened(r.run)
	}
	return r
}

// short reports whether d is a 16-bit float type.
func short(d dtype.DType) bool { return d == dtype.F16 || d == dtype.BF16 }

// widened returns a kernel that computes 16-bit floats in f32.
func widened(run kernel) kernel {
	return func(w *worker) {
		n := w.n
		wide := *n
		wide.Outputs = slices.Clone(n.Outputs)
		for i := range wide.Outputs {
			if d := &wide.Outputs[i]; short(d.DType) {
				d.DType = dtype.F32
			}
		}
		for i := range w.in {
			w.in[i] = w.wide(w.in[i])
		}
		w.n = &wide
		defer func() { w.n = n }()
		run(w)
		for i := range w.out {
			if short(n.Outputs[i].DType) {
				w.out[i] = w.to(w.out[i], n.Outputs[i].DType)
			}
		}
	}
}

// shift computes shl, or shr if right is true, also for counts that are negative or at least the width of the type, for which processors do
// not shift: the result is then 0, or -1 for shr of a negative number.
func (w *worker) shift(right bool) {
	a, b := w.in[0], w.in[1]
	last := a.d.Size()*8 - 1
	in := w.bin(opLess, b, w.whole(b.d, last+1), dtype.Bool)
	if b.d.Class() == dtype.Signed {
		in = w.bin(opAnd, in, w.bin(opLess, w.whole(b.d, -1), b, dtype.Bool), dtype.Bool)
	}
	o, beyond := opShl, w.whole(a.d, 0)
	if right {
		o = opShr
		if a.d.Class() == dtype.Signed {
			beyond = w.bin(opShr, a, w.whole(a.d, last), a.d)
		}
	}
	w.out[0] = w.where(in, w.bin(o, a, w.where(in, b, w.whole(b.d, 0)), a.d), beyond)
}
