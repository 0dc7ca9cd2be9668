package torch

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Empty returns a new tensor with uninitialized elements, in row-major order.
func (t *Thread) Empty(shape []int, d Type, on Device) (Handle, error) {
	t.reset()
	out := t.empty(shape, d, on)
	err := t.flush()
	return Handle(*out), err
}

// empty appends a call that creates a tensor, and returns the word in which its handle will be stored.
func (t *Thread) empty(shape []int, d Type, on Device) *uint64 {
	n := len(shape)
	w := t.take(2*n + 2)
	stride := uint64(1)
	for i := n - 1; i >= 0; i-- {
		w[i], w[n+i] = uint64(shape[i]), stride
		stride *= uint64(max(shape[i], 1))
	}
	out := &w[2*n]
	*out = 0
	f := t.frame(t.lib.procs.Empty)
	f.args = [16]uintptr{uintptr(n), addressOf(&w[0]), addressOf(&w[n]), uintptr(d), uintptr(on.Kind), uintptr(on.Index), addressOf(out)}
	return out
}

// View returns a tensor over the memory of h with the given sizes and strides, which are in elements. Its first element is offset
// elements after the first element of h.
func (t *Thread) View(h Handle, sizes, strides []int, offset int) (Handle, error) {
	t.reset()
	out := &t.take(1)[0]
	*out = 0
	s, st := t.ints(sizes), t.ints(strides)
	f := t.frame(t.lib.procs.View)
	f.args = [16]uintptr{uintptr(h), uintptr(len(sizes)), s, st, uintptr(offset), addressOf(out)}
	err := t.flush()
	return Handle(*out), err
}

// Strides stores the stride of each dimension of h, in elements, in strides.
func (t *Thread) Strides(h Handle, strides []int) error {
	if len(strides) == 0 {
		return nil
	}
	t.reset()
	out := &t.take(1)[0]
	t.frame(t.lib.procs.Strides).args = [16]uintptr{uintptr(h), addressOf(out)}
	if err := t.flush(); err != nil {
		return err
	}
	at := uintptr(*out)
	for i, s := range unsafe.Slice(*(**int64)(unsafe.Pointer(&at)), len(strides)) {
		strides[i] = int(s)
	}
	return nil
}

// Sizes returns the sizes and the element type of h. It is for tests and checks.
func (t *Thread) Sizes(h Handle) ([]int, Type, error) {
	t.reset()
	w := t.take(3)
	w[2] = 0
	t.frame(t.lib.procs.Dim).args = [16]uintptr{uintptr(h), addressOf(&w[0])}
	t.frame(t.lib.procs.Sizes).args = [16]uintptr{uintptr(h), addressOf(&w[1])}
	t.frame(t.lib.procs.DType).args = [16]uintptr{uintptr(h), addressOf(&w[2])}
	if err := t.flush(); err != nil {
		return nil, 0, err
	}
	sizes := make([]int, int64(w[0]))
	if len(sizes) > 0 {
		at := uintptr(w[1])
		for i, s := range unsafe.Slice(*(**int64)(unsafe.Pointer(&at)), len(sizes)) {
			sizes[i] = int(s)
		}
	}
	return sizes, Type(int32(w[2])), nil
}

// Data returns the address of the first element of h.
func (t *Thread) Data(h Handle) (unsafe.Pointer, error) {
	t.reset()
	out := &t.take(1)[0]
	t.frame(t.lib.procs.DataPtr).args = [16]uintptr{uintptr(h), addressOf(out)}
	err := t.flush()
	at := uintptr(*out)
	return *(*unsafe.Pointer)(unsafe.Pointer(&at)), err
}

// Over returns a tensor that uses host memory, in row-major order. The memory must stay valid until the tensor and all of its views are
// deleted.
func (t *Thread) Over(data unsafe.Pointer, shape []int, d Type) (Handle, error) {
	t.reset()
	out := t.over(data, shape, d)
	err := t.flush()
	return Handle(*out), err
}

func (t *Thread) over(data unsafe.Pointer, shape []int, d Type) *uint64 {
	t.held = data
	n := len(shape)
	w := t.take(2*n + 2)
	stride := uint64(1)
	for i := n - 1; i >= 0; i-- {
		w[i], w[n+i] = uint64(shape[i]), stride
		stride *= uint64(max(shape[i], 1))
	}
	out := &w[2*n]
	*out = 0
	f := t.frame(t.lib.procs.Blob)
	f.args = [16]uintptr{uintptr(data), uintptr(n), addressOf(&w[0]), addressOf(&w[n]), 0, uintptr(d), uintptr(CPU), 0, addressOf(out)}
	return out
}

// Copy copies the elements of src to dst, with broadcasting and conversion.
func (t *Thread) Copy(dst, src Handle) error {
	t.reset()
	t.frame(t.lib.procs.Copy).args = [16]uintptr{uintptr(dst), uintptr(src)}
	return t.flush()
}

// Converted returns a copy of src in row-major order, with the given shape, element type and device.
func (t *Thread) Converted(src Handle, shape []int, d Type, on Device) (Handle, error) {
	t.reset()
	out := t.empty(shape, d, on)
	f := t.frame(t.lib.procs.Copy)
	f.args = [16]uintptr{addressOf(out), uintptr(src)}
	f.load = 1
	err := t.flush()
	if err != nil && *out != 0 {
		t.Delete(Handle(*out))
		return 0, err
	}
	return Handle(*out), err
}

// Same returns another handle of the tensor.
func (t *Thread) Same(h Handle) (Handle, error) {
	t.reset()
	out := &t.take(1)[0]
	*out = 0
	t.frame(t.lib.procs.NewHandle).args = [16]uintptr{uintptr(h), addressOf(out)}
	err := t.flush()
	return Handle(*out), err
}

// Delete releases handles.
func (t *Thread) Delete(hs ...Handle) {
	for _, h := range hs {
		if h != 0 {
			t.frame(t.lib.procs.Delete).args = [16]uintptr{uintptr(h)}
		}
	}
	_ = t.flush() // the deletion of a handle that is owned cannot fail
}

// Delete releases a handle, on any thread.
func (l *Library) Delete(h Handle) { purego.SyscallN(l.procs.Delete, uintptr(h)) }
