package torch

import "unsafe"

// Calls of functions that torch generates for operators, one for each kind of device. fn is the address of such a function.

// AddScaled calls add_Tensor and returns a + alpha·b.
func (t *Thread) AddScaled(fn uintptr, a, b Handle, alpha float64) (Handle, error) {
	t.reset()
	out := &t.take(1)[0]
	*out = 0
	f := t.frame(fn)
	f.args = [16]uintptr{uintptr(a), uintptr(b), addressOf(out)}
	f.floats[0] = alpha
	err := t.flush()
	return Handle(*out), err
}

// Convolution holds the parameters of a convolution.
type Convolution struct {
	Strides, Padding, Dilation, OutputPadding []int
	Transposed                                bool
	Groups                                    int
}

// Convolve calls convolution. A bias of 0 means no bias.
func (t *Thread) Convolve(fn uintptr, x, weight, bias Handle, c *Convolution) (Handle, error) {
	t.reset()
	w := t.take(2)
	w[0], w[1] = uint64(bias), 0
	var b uintptr
	if bias != 0 {
		b = addressOf(&w[0])
	}
	transposed := uintptr(0)
	if c.Transposed {
		transposed = 1
	}
	n := uintptr(len(c.Strides))
	f := t.frame(fn)
	f.args = [16]uintptr{uintptr(x), uintptr(weight), b, t.ints(c.Strides), n, t.ints(c.Padding), n, t.ints(c.Dilation), n,
		transposed, t.ints(c.OutputPadding), n, uintptr(c.Groups), addressOf(&w[1])}
	err := t.flush()
	return Handle(w[1]), err
}

// Host returns a vector in host memory that contains a copy of v.
func (t *Thread) Host(v []int64) (Handle, error) {
	src, err := t.Over(unsafe.Pointer(&v[0]), []int{len(v)}, Int64)
	if err != nil {
		return 0, err
	}
	defer t.Delete(src)
	return t.Converted(src, []int{len(v)}, Int64, Device{})
}

// CallList is like Call, for an operator whose result is a list of one tensor.
func (t *Thread) CallList() (Handle, error) {
	var list Handle
	if err := t.Call(&list); err != nil {
		return 0, err
	}
	w := t.take(1)
	w[0] = 0
	t.frame(t.lib.procs.GetItem).args = [16]uintptr{uintptr(list), 0, addressOf(&w[0])}
	t.frame(t.lib.procs.DeleteList).args = [16]uintptr{uintptr(list)}
	err := t.flush()
	return Handle(w[0]), err
}

// ScatterReduce calls scatter_reduce_out with include_self: each result also includes the element of self at its place.
func (t *Thread) ScatterReduce(fn uintptr, out, self Handle, dim int, index, src Handle, reduce string) error {
	t.reset()
	w := t.take(len(reduce)/8 + 1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8)
	b[copy(b, reduce)] = 0
	t.frame(fn).args = [16]uintptr{uintptr(out), uintptr(self), uintptr(dim), uintptr(index), uintptr(src), addressOf(&w[0]), 1}
	return t.flush()
}
