package kerneltest

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
)

// layout describes how a tensor is stored in memory: its strides, the index of its first element and the number of elements of its buffer.
type layout struct {
	name   string
	of     func(s shape.Shape) (strides []int, offset, size int)
	guards bool // the buffer is adjacent to an inaccessible page
	before bool // the page is before the buffer, else after it
}

// layouts lists the layouts in which operands are checked. The first must be the contiguous one.
var layouts = []layout{
	{name: "contiguous", of: contiguous},
	{name: "unaligned", of: func(s shape.Shape) ([]int, int, int) {
		strides, _, size := contiguous(s)
		return strides, 3, size + 3
	}},
	{name: "transposed", of: func(s shape.Shape) ([]int, int, int) {
		strides, step := make([]int, len(s)), 1
		for i, d := range s {
			strides[i] = step
			step *= max(d, 1)
		}
		return strides, 0, s.Size()
	}},
	{name: "reversed", of: func(s shape.Shape) ([]int, int, int) {
		strides, _, size := contiguous(s)
		for i := range strides {
			strides[i] = -strides[i]
		}
		return strides, max(size-1, 0), size
	}},
	{name: "with gaps", of: func(s shape.Shape) ([]int, int, int) {
		strides, _, size := contiguous(s)
		for i := range strides {
			strides[i] *= 2
		}
		return strides, 1, 2*size + 1
	}},
	{name: "before a guarded page", of: contiguous, guards: true},
	{name: "behind a guarded page", of: contiguous, guards: true, before: true},
}

func contiguous(s shape.Shape) ([]int, int, int) {
	strides, step := make([]int, len(s)), 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(s[i], 1)
	}
	return strides, 0, s.Size()
}

// place returns an array with the elements of an operand. All other bits of its buffer are ones, so that other floats are NaN.
func (l layout) place(t testing.TB, env *kernel.Env, o Operand) kernel.Array {
	t.Helper()
	strides, offset, count := l.of(o.Desc.Shape)
	a := kernel.Array{DType: o.Desc.DType, View: shape.View{Shape: o.Desc.Shape, Strides: strides, Offset: offset}}
	var err error
	if size := count * a.DType.Size(); l.guards && size > 0 {
		a.Buf, err = guarded(t, env.Account, size, l.before)
	} else {
		a.Buf, err = env.Account.New(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill(a.Buf.Bytes())
	if a.View.IsContiguous() {
		copy(a.Buf.Bytes()[offset*a.DType.Size():], o.Data)
	} else {
		each(a, func(i int, at []byte) { copy(at, o.Data[i*len(at):]) })
	}
	return a
}

// gather returns the elements of a in row-major order.
func gather(a kernel.Array) []byte {
	size := a.Size() * a.DType.Size()
	if size > 0 && a.View.IsContiguous() {
		return bytes.Clone(a.Buf.Bytes()[a.View.Offset*a.DType.Size():][:size])
	}
	data := make([]byte, 0, size)
	each(a, func(_ int, at []byte) { data = append(data, at...) })
	return data
}

// each calls visit for the elements of a in row-major order. i is the number of the element.
func each(a kernel.Array, visit func(i int, at []byte)) {
	size, s, strides := a.DType.Size(), a.View.Shape, a.View.Strides
	index, pos := make([]int, len(s)), a.View.Offset
	for i := range a.Size() {
		visit(i, unsafe.Slice((*byte)(unsafe.Add(a.Buf.Pointer(), pos*size)), size))
		for d := len(s) - 1; d >= 0; d-- {
			index[d]++
			pos += strides[d]
			if index[d] < s[d] {
				break
			}
			pos -= s[d] * strides[d]
			index[d] = 0
		}
	}
}

// guarded returns a buffer beside an inaccessible page, if the system supports that.
func guarded(t testing.TB, account *mem.Account, size int, before bool) (*mem.Buffer, error) {
	data, release := Guarded(t, size, before)
	return account.Adopt(data, release)
}
