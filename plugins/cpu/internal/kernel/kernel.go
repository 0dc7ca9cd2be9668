// Package kernel defines the types that kernels of the cpu backend use. An Array is a view of a reference-counted buffer. A Call is one
// execution of a kernel. A Rule states the element types for which an op has kernels, and prepares the kernels. Package cpu and the packages
// of kernels import this package. It must not contain kernels of ops.
package kernel

import (
	"slices"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Array is a tensor: the elements of a buffer that View selects. An Array that is kept holds one reference to its buffer.
type Array struct {
	Buf   *mem.Buffer
	DType dtype.DType
	View  shape.View
}

// Data returns the whole buffer of a as elements of type T. The size of T must divide the size of the buffer. The offset of a.View counts
// from the start of the returned slice if T has the size of a.DType.
func Data[T any](a Array) []T {
	var z T
	return unsafe.Slice((*T)(a.Buf.Pointer()), a.Buf.Size()/int(unsafe.Sizeof(z)))
}

// Flat returns the elements of an array whose view is contiguous.
func Flat[T any](a Array) []T {
	n := a.View.Shape.Size()
	if n == 0 {
		return nil // the offset may lie outside
	}
	return Data[T](a)[a.View.Offset:][:n]
}

// Size returns the number of elements.
func (a Array) Size() int { return a.View.Shape.Size() }

// Whole reports whether the view covers the whole buffer in row-major order.
func (a Array) Whole() bool {
	return a.View.Offset == 0 && a.Buf.Size() == a.Size()*a.DType.Size() && a.View.IsContiguous()
}

// Env contains the threads and the memory that kernels use.
type Env struct {
	Pool    *par.Pool
	Account *mem.Account
}

// Func computes a node. It sets every entry of Out with Alloc, Reuse or Give. It must not write to its inputs, except to those whose memory
// Reuse returned for an output. After an error or a panic the outputs are invalid.
type Func func(c *Call) error

// Rule is the cpu backend's implementation of an op.
type Rule struct {
	// Types are the element types of the first operand, or of the result of an op without operands.
	Types dtype.Set
	// Prepare returns the kernel for nodes with exactly these attributes, types and shapes. The kernel may be called any number of times,
	// and concurrently.
	Prepare func(n *op.Node, in []op.Desc) Func
}

// Call is one execution of a kernel. It is made by the executor and used until the kernel returns.
type Call struct {
	*Env
	In   []Array
	Own  uint64 // bit i: the call is the last user of In[i]
	Desc []op.Desc
	Out  []Array
	// Into, if it has a buffer, is the memory that Alloc and Reuse return for output 0. It has the shape of that output.
	Into Array
	// Prefer is the operand whose memory Reuse tries first for output 0, or -1.
	Prefer int

	temps []*mem.Buffer
}

// Begin sets c up for a kernel.
func (c *Call) Begin(env *Env, in []Array, own uint64, desc []op.Desc, out []Array) {
	c.Env, c.In, c.Own, c.Desc, c.Out, c.Into, c.Prefer = env, in, own, desc, out, Array{}, -1
	clear(out)
}

// End releases temporary memory and, if the kernel failed, its outputs.
func (c *Call) End(failed bool) {
	for i, b := range c.temps {
		b.Release()
		c.temps[i] = nil
	}
	c.temps = c.temps[:0]
	if failed {
		for i := range c.Out {
			if c.Out[i].Buf != nil {
				c.Out[i].Buf.Release()
				c.Out[i] = Array{}
			}
		}
	}
}

// NoMemory is the panic value that ends a kernel whose memory could not be allocated.
type NoMemory struct{ Err error }

func (n NoMemory) Error() string { return n.Err.Error() }

// Unwrap returns the cause.
func (n NoMemory) Unwrap() error { return n.Err }

func (c *Call) buffer(size int) *mem.Buffer {
	b, err := c.Account.New(size)
	if err != nil {
		panic(NoMemory{err})
	}
	return b
}

// Alloc sets output i to a new contiguous array with undefined elements.
func (c *Call) Alloc(i int) Array {
	d := c.Desc[i]
	if i == 0 && c.Into.Buf != nil {
		c.Out[0] = Array{Buf: c.Into.Buf.Retain(), DType: d.DType, View: c.Into.View}
		return c.Out[0]
	}
	c.Out[i] = Array{Buf: c.buffer(d.Bytes()), DType: d.DType, View: c.contiguous(d.Shape)}
	return c.Out[i]
}

// contiguous is like shape.Contiguous, but returns the strides of an input of that shape if there is one.
func (c *Call) contiguous(s shape.Shape) shape.View {
	for k := range c.In {
		if v := &c.In[k].View; v.Shape.Equal(s) && v.IsContiguous() {
			return shape.View{Shape: s, Strides: v.Strides}
		}
	}
	return shape.Contiguous(s)
}

// Reuse creates output i in the memory of the first input in from that Own marks and that has the output's shape and element size. The input
// must cover its buffer, and nothing else may refer to that buffer. If there is no such input, Reuse allocates memory. It is for kernels
// that read each element before they write it.
func (c *Call) Reuse(i int, from ...int) Array {
	d := c.Desc[i]
	if i == 0 && c.Into.Buf != nil {
		return c.Alloc(0)
	}
	if i == 0 && c.Prefer >= 0 && slices.Contains(from, c.Prefer) && c.reusable(c.Prefer, d) {
		from = []int{c.Prefer}
	}
	for _, k := range from {
		if c.reusable(k, d) {
			a := c.In[k]
			c.Out[i] = Array{Buf: a.Buf.Retain(), DType: d.DType, View: a.View}
			return c.Out[i]
		}
	}
	return c.Alloc(i)
}

// reusable reports whether d may use the memory of input k.
func (c *Call) reusable(k int, d op.Desc) bool {
	a := c.In[k]
	return c.Own>>k&1 != 0 && a.Buf.Sole() && a.DType.Size() == d.DType.Size() && a.View.Shape.Equal(d.Shape) && a.Whole() && c.once(k)
}

// once reports whether no other input shares the memory of input k.
func (c *Call) once(k int) bool {
	for i := range c.In {
		if i != k && c.In[i].Buf == c.In[k].Buf {
			return false
		}
	}
	return true
}

// Give sets output i to a view of the buffer of a.
func (c *Call) Give(i int, a Array, v shape.View) {
	c.Out[i] = Array{Buf: a.Buf.Retain(), DType: c.Desc[i].DType, View: v}
}

// Temp returns a contiguous array with undefined elements. It is valid until the kernel returns.
func (c *Call) Temp(d dtype.DType, s shape.Shape) Array {
	b := c.buffer(s.Size() * d.Size())
	c.temps = append(c.temps, b)
	return Array{Buf: b, DType: d, View: shape.Contiguous(s)}
}

// TempOf returns n undefined elements. They are valid until the kernel returns.
func TempOf[T any](c *Call, n int) []T {
	var z T
	b := c.buffer(n * int(unsafe.Sizeof(z)))
	c.temps = append(c.temps, b)
	return unsafe.Slice((*T)(b.Pointer()), n)
}

// Contiguous returns a if it is contiguous, else a copy in row-major order. The copy is valid until the kernel returns.
func (c *Call) Contiguous(a Array) Array {
	if a.View.IsContiguous() {
		return a
	}
	t := c.Temp(a.DType, a.View.Shape)
	Copy(c.Pool, t, a)
	return t
}

// Bytes returns s as bytes.
func Bytes[T any](s []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(z)))
}
