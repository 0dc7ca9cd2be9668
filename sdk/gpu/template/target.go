// Package template builds kernels: each template is a schedule, such as "one row per block", and accepts the computation of an element as
// a function. Package lower, which knows the rows of the op table, calls templates, and templates build kernels with package ir. Sizes of
// blocks and grids depend only on shapes and the Target, so that equal shapes give bitwise equal results. A template must not know any op
// or hardware.
package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Target describes the hardware to templates.
type Target struct {
	Subgroup int    // threads in a subgroup, a power of two; 1 if there are no subgroups
	Threads  int    // most threads in a block
	Shared   int    // most bytes of shared memory in a block
	Units    int    // number of multiprocessors
	Blocks   int    // blocks of 256 threads that one multiprocessor holds
	Grid     [3]int // most blocks along each axis of a grid; 0 means no limit
	Wide     int    // bytes of the widest access to memory
	Params   int    // most bytes of the parameters of a kernel; 0: no batched kernels are built
	// Types are the types that kernels may load and store. Math are the types that they may compute with.
	Types, Math dtype.Set
	MMA         []ir.MMA  // matrix instructions
	Async       bool      // whether asynchronous copies to shared memory are faster than synchronous copies
	Atomics     dtype.Set // types of atomic operations

	// Tiles, if set, replaces the choices of tiles for products with sums of 4 bytes.
	Tiles []Tile
	// Unrolled says that kernels contain copies of the body in place of loops with a known number of iterations, because the language has
	// no directive for unrolling.
	Unrolled bool

	// Products says that every convolution is computed as a product of matrices, even a convolution for which Convolution.Direct would
	// report true.
	Products bool

	// Words says that memory consists of words of 32 bits: package narrow rewrites kernels and provides integers of 64 bits. Types
	// are then the types of values.
	Words   bool
	Align   int   // alignment of offsets of buffers in bytes; 0 means the size of an element
	Buffers int   // most buffers of a kernel; 0 means no limit
	Bytes   int64 // most bytes of a tensor; 0 means no limit
	// Flushes are the types whose subnormal numbers arithmetic may replace by zeros, in operands and in results.
	Flushes dtype.Set
	// Apart says that memory which a kernel writes may not be passed for another parameter of the same launch.
	Apart bool
}

// Operand is the place of the elements of an operand or result: a view with the shape of the iteration space, with strides of 0
// where it is broadcast, and an offset, all in elements.
type Operand struct {
	Type dtype.DType
	View shape.View
	// Slot is the operand's number in the launch, for templates that take lists of operands.
	Slot int
	// Number, if set, is the value of an operand without memory, in the bits of ir.Arg. All elements have this value.
	Number *uint64
}

// Body computes, for one element, the values of results from the values of operands. index returns the index of the element along
// an axis of the iteration space.
type Body func(b *ir.Builder, in []ir.Value, index func(axis int) ir.Value) []ir.Value

// sharedSize returns the size of an element in shared memory, in bytes.
func (t Target) sharedSize(d dtype.DType) int {
	if t.Words {
		return max(4, d.Size())
	}
	return d.Size()
}
