package libtorch

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// worker computes on the thread of a queue. A kernel is a function of a worker: it reads n and in, creates tensors with the worker's
// methods, and sets out. Tensors that it creates and does not return in out are deleted afterwards. Methods do nothing once err is set, so
// that a kernel checks err only before it waits or loops.
type worker struct {
	dev    *device
	thread *torch.Thread

	n    *op.Node
	in   []val
	from []*tensor // the tensors of the operands
	out  []val
	err  error
	made []torch.Handle // tensors that the kernel has created

	aside *aside // set by a kernel for its first result, or nil
}

func newWorker(d *device, t *torch.Thread) *worker { return &worker{dev: d, thread: t} }

// node computes a node by the kernel of its op and sets the handles of its results.
func (w *worker) node(c *command) error {
	for _, t := range c.in {
		if t.failed || t.h == 0 {
			return errPoisoned
		}
	}
	k := w.dev.kernel(c.node.Op)
	kind := c.node.Outputs[0].DType
	if len(c.in) > 0 {
		kind = c.in[0].desc.DType
	}
	if k.run == nil || !k.types.Has(kind) {
		return fmt.Errorf("%v of %v: %w", c.node.Op, kind, core.ErrUnsupported)
	}
	return w.compute(c, k.run)
}

// compute computes a node, whose operands exist, by a kernel, and sets the handles of its results.
func (w *worker) compute(c *command, run kernel) error {
	w.n, w.from, w.err, w.aside = &c.node, c.in, nil, nil
	w.in, w.out, w.made = w.in[:0], w.out[:0], w.made[:0]
	for _, t := range c.in {
		w.in = append(w.in, val{t.h, t.desc.DType, t.desc.Shape})
	}
	for range c.out {
		w.out = append(w.out, val{})
	}
	w.guard(run)
	for i, t := range c.out {
		if w.err == nil {
			t.h = w.give(w.out[i], t.desc)
		}
	}
	if a := w.aside; a != nil && w.err == nil {
		c.out[0].aside, w.made = a, slices.DeleteFunc(w.made, func(h torch.Handle) bool { return h == a.h })
	}
	w.thread.Delete(w.made...)
	if w.err != nil {
		for _, t := range c.out {
			if t.h != 0 {
				w.thread.Delete(t.h)
				t.h = 0
			}
		}
		return sentinel(w.err)
	}
	return nil
}

// guard runs a kernel, and converts a panic to an error.
func (w *worker) guard(k kernel) {
	defer func() {
		if r := recover(); r != nil {
			w.err = fmt.Errorf("panic: %v: %w", r, core.ErrKernel)
		}
	}()
	k(w)
}

// give returns the handle of a result: the handle that the kernel created, or a new handle if the tensor belongs to another value.
func (w *worker) give(v val, d op.Desc) torch.Handle {
	if v.h == 0 || v.d != d.DType || !slices.Equal(v.s, d.Shape) {
		w.fail(fmt.Errorf("result is %v%v, want %v: %w", v.d, v.s, d, core.ErrKernel))
		return 0
	}
	if w.dev.check {
		if s, t, err := w.thread.Sizes(v.h); err != nil || t != typeOf[v.d] || !slices.Equal(s, v.s) {
			w.fail(fmt.Errorf("torch made %v of type %d, want %v (%v): %w", s, t, d, err, core.ErrKernel))
			return 0
		}
	}
	if i := slices.Index(w.made, v.h); i >= 0 {
		w.made = slices.Delete(w.made, i, i+1)
		return v.h
	}
	h, err := w.thread.Same(v.h)
	w.fail(err)
	return h
}

// fail records the first error of a kernel.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// keep records a tensor that a kernel created, or the error of its creation.
func (w *worker) keep(h torch.Handle, err error, d dtype.DType, s shape.Shape) val {
	if err != nil {
		w.fail(err)
		return val{0, d, s}
	}
	w.made = append(w.made, h)
	return val{h, d, s}
}

// upload creates a tensor from host memory.
func (w *worker) upload(d op.Desc, data []byte) (torch.Handle, error) {
	w.err, w.made = nil, w.made[:0]
	t := typeOf[d.DType]
	if d.DType == dtype.Bool {
		t = torch.Uint8 // bytes other than 0 become 1
	}
	if len(data) == 0 {
		h, err := w.thread.Empty(d.Shape, typeOf[d.DType], w.dev.on)
		return h, sentinel(err)
	}
	src, err := w.thread.Over(unsafe.Pointer(&data[0]), d.Shape, t)
	if err != nil {
		return 0, sentinel(err)
	}
	h, err := w.thread.Converted(src, d.Shape, typeOf[d.DType], w.dev.on)
	w.thread.Delete(src)
	return h, sentinel(err)
}

// fetch copies the elements of a tensor to host memory.
func (w *worker) fetch(dst []byte, v *tensor) error {
	if v.failed || v.h == 0 {
		return errPoisoned
	}
	if len(dst) == 0 {
		return nil
	}
	h, err := w.thread.Over(unsafe.Pointer(&dst[0]), v.desc.Shape, typeOf[v.desc.DType])
	if err == nil {
		err = w.thread.Copy(h, v.h)
		w.thread.Delete(h)
	}
	return sentinel(err)
}

// sentinel wraps an error of torch with the corresponding error of burn.
func sentinel(err error) error {
	if err == nil {
		return nil
	}
	for _, s := range core.Sentinels() {
		if errors.Is(err, s) {
			return err
		}
	}
	switch {
	case errors.Is(err, torch.ErrOutOfMemory):
		return fmt.Errorf("%w: %w", core.ErrOutOfMemory, err)
	case errors.Is(err, torch.ErrMissing):
		return fmt.Errorf("%w: %w", core.ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", core.ErrKernel, err)
}
