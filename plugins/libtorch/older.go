package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// What is computed otherwise by a torch of the shim, which is older than 2.9 and was tested as 1.13: on a cpu it has few kernels of f16, and
// those of bf16 round in between or are wrong.

// still are ops that keep elements as they are.
var still = join(creation, movement, indexing, map[op.Code]rule{
	op.Embedding: {}, op.GatherElements: {}, op.Where: {}, op.Tril: {}, op.Triu: {}, op.Sort: {},
})

// older is the rule of an op for such a torch.
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

// short reports whether d is a float of 16 bits.
func short(d dtype.DType) bool { return d == dtype.F16 || d == dtype.BF16 }

// widened computes floats of 16 bits in f32.
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

// shift is shl, or shr for right, with counts that processors do not shift by: beyond the width nothing is left but the sign.
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
