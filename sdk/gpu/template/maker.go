package template

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// maker builds one launch: a kernel together with the arguments of its parameters.
type maker struct {
	*ir.Builder
	t    Target
	args []ir.Arg
}

// slack bounds how far the thread numbers of a launch may exceed its number of elements.
const slack = 1 << 22

// newMaker begins a kernel whose indices and thread numbers stay below elements.
func newMaker(t Target, name string, threads, elements int) *maker {
	m := &maker{Builder: ir.New(name, threads), t: t}
	if elements > math.MaxInt32-slack {
		m.Index = dtype.I64
	}
	return m
}

// buffer adds a parameter for the memory of an operand, from its element with the lowest address on.
func (m *maker) buffer(name string, d Operand, a ir.Access) ir.Buf {
	m.args = append(m.args, ir.Arg{Slot: d.Slot, Offset: int64(lowest(d.View)) * int64(d.Type.Size())})
	return m.Buffer(name, d.Type, a)
}

// number adds a scalar parameter for an operand that is a number.
func (m *maker) number(name string, d Operand) ir.Value {
	m.args = append(m.args, ir.Arg{Bits: *d.Number})
	return m.Scalar(name, d.Type)
}

// size adds a scalar parameter of the type of indices. Kernels that differ only in such sizes are the same kernel.
func (m *maker) size(name string, n int) ir.Value {
	m.args = append(m.args, ir.Arg{Bits: uint64(int64(n))})
	return m.Scalar(name, m.Index)
}

// launch returns the launch of the kernel with grid blocks along each axis.
func (m *maker) launch(grid ...int) ir.Launch {
	g := [3]int{1, 1, 1}
	copy(g[:], grid)
	return ir.Launch{Kernel: m.Kernel(), Grid: g, Args: m.args}
}

// blocks runs body for each block of work below n: in one block of the launch each, or in a loop if the grid cannot have n blocks. It
// returns the size of the grid.
func (m *maker) blocks(n int, body func(block ir.Value)) int {
	if most := m.t.Grid[0]; most > 0 && n > most {
		m.For(m.Block(0), m.size("blocks", n), most, body)
		return most
	}
	body(m.Block(0))
	return n
}

func ceil(a, b int) int { return (a + b - 1) / b }

func numbered(name string, i int) string { return fmt.Sprintf("%s%d", name, i) }
