package template

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// productKernel is a kernel of a product under construction.
type productKernel struct {
	*maker
	c *product
}

func (c *product) kernel(name string, threads int) *productKernel {
	k := &productKernel{newMaker(c.t, name, threads, 0), c}
	k.Index = c.index
	return k
}

// memory adds a parameter for the memory of a slot, which has elements of type t.
func (k *productKernel) memory(name string, t dtype.DType, a ir.Access, slot int) ir.Buf {
	return k.buffer(name, Operand{Type: t, Slot: slot}, a)
}

// strided is a matrix in a kernel.
type strided struct {
	matrix
	buf ir.Buf
	// base is the offset of the element of the batch. Row and column strides of 0 and 1 have no value here.
	base, rowStride, colStride ir.Value
	outerStrides               []ir.Value
}

// region adds a matrix to the parameters. batch is the position in the batch, one value for each dimension.
func (k *productKernel) region(name string, m matrix, a ir.Access, batch []ir.Value) strided {
	p := strided{matrix: m, buf: k.memory(name, m.typ, a, m.slot)}
	p.base = k.size(name+" offset", m.off)
	for i, s := range m.batch {
		if s != 0 {
			p.base = k.Add(p.base, k.Mul(batch[i], k.size(fmt.Sprintf("%s batch %d", name, i), s)))
		}
	}
	p.rowStride, p.colStride = k.stride(name+" row", m.row), k.stride(name+" column", m.col)
	for i, s := range m.outer {
		p.outerStrides = append(p.outerStrides, k.stride(fmt.Sprintf("%s outer %d", name, i), s))
	}
	return p
}

func (k *productKernel) stride(name string, s int) ir.Value {
	if s == 0 || s == 1 {
		return 0
	}
	return k.size(name, s)
}

// times returns i·stride and true, or false for a stride of 0, with which the term is 0.
func (k *productKernel) times(i, stride ir.Value, s int) (ir.Value, bool) {
	switch s {
	case 0:
		return 0, false
	case 1:
		return i, true
	}
	return k.Mul(i, stride), true
}

// at returns the offset of element (i, j).
func (k *productKernel) at(p strided, i, j ir.Value) ir.Value {
	o := p.base
	if x, ok := k.times(i, p.rowStride, p.row); ok {
		o = k.Add(o, x)
	}
	if x, ok := k.times(j, p.colStride, p.col); ok {
		o = k.Add(o, x)
	}
	return o
}

// position converts the number of an element of the batch to one coordinate for each dimension.
func (k *productKernel) position(number ir.Value, dims []int, name string) []ir.Value {
	out := make([]ir.Value, len(dims))
	for i := len(dims) - 1; i > 0; i-- {
		d := k.size(fmt.Sprintf("%s %d", name, i), dims[i])
		out[i] = k.Rem(number, d)
		number = k.Div(number, d)
	}
	if len(dims) > 0 {
		out[0] = number
	}
	return out
}

// aligned returns the number of neighbouring elements of one access of at most limit bytes, along rows or else columns, where the dimension
// has extent elements. It is a power of two, and 1 if elements are not contiguous.
func (m matrix) aligned(rows bool, extent, limit int, dims []int) int {
	along, other := m.col, m.row
	if rows {
		along, other = m.row, m.col
	}
	w := limit / m.typ.Size()
	fits := func(s int) bool { return s%w == 0 }
	for ; w > 1; w /= 2 {
		ok := along == 1 && extent%w == 0 && fits(m.off) && fits(other)
		for i, s := range m.batch {
			ok = ok && (dims[i] == 1 || fits(s))
		}
		for _, s := range m.outer {
			ok = ok && fits(s)
		}
		if ok {
			return w
		}
	}
	return 1
}
