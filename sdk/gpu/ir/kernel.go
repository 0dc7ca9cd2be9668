package ir

import "github.com/goburn/burn/core/dtype"

// Value is the number of a value in a kernel. 0 means no value.
type Value int32

// Kernel is a function that runs on every thread of a grid. It is immutable once built, and may be used by several goroutines.
type Kernel struct {
	Name    string
	Threads int // number of threads of a block
	// Members is the number of launches that one launch of the kernel replaces. These launches differ in the arguments of parameters with
	// Each set. 0 means 1. Block and Blocks are numbers within the member to which the block belongs. See Batch.
	Members int
	// Blocks is the number of blocks that should fit on one multiprocessor at a time, as a hint to the compiler; 0 means no hint.
	Blocks int
	// Subgroup is the size of subgroups for which the kernel was built, or 0 if any size is possible.
	Subgroup int
	Params   []Param
	Shared   []Array
	Locals   []Array
	Frags    []Fragments
	Body     []Inst
	// Types is the type of each value; Types[0] is unused.
	Types []dtype.DType
}

// Access says how a kernel accesses a buffer.
type Access uint8

// Kinds of access.
const (
	Read Access = 1 << iota
	Write
	Atomic // changed by atomics; a buffer with other accesses has Read or Write too
)

// Param is a parameter: a buffer of elements, or a scalar where Access is 0.
type Param struct {
	Name   string
	Type   dtype.DType
	Access Access
	// Each says that each member of a batched kernel has its own argument for this parameter.
	Each bool
	// Aliased says that a launch may pass the memory of a written buffer for this buffer, which is only read. For other parameters, a
	// launch must not pass memory that the kernel writes through another parameter, with one exception: a kernel that writes only one
	// buffer may also read each element through another parameter, in the thread that writes the element, to compute the written value.
	Aliased bool
}

// IsBuffer reports whether p is a buffer.
func (p Param) IsBuffer() bool { return p.Access != 0 }

// Array is a shared array of a block or a local array of a thread.
type Array struct {
	Name string
	Type dtype.DType
	Len  int
}

// Role is the place of a fragment in C += A·B.
type Role uint8

// The roles of fragments.
const (
	A Role = iota
	B
	C
)

// Order says which elements of C a thread of a subgroup holds.
type Order uint8

// The orders of accumulators.
const (
	// Pairs is the order of PTX: a thread holds pairs of neighbouring columns.
	Pairs Order = iota
	// Runs is the order of AMD's MFMA and of WMMA since gfx12: each of 16 threads holds neighbouring rows of one of 16 columns.
	Runs
	// Strided is the order of WMMA of gfx11. It is like Runs, but the rows of the groups of 16 threads alternate.
	Strided
	// Quarters is the order of Apple's simdgroup matrices: groups of 8 threads hold quarters of 4 × 4, row by row in pairs of neighbouring
	// columns.
	Quarters
)

// MMA is a form of matrix instruction: C (M×N, f32) += A (M×K) · B (K×N), both of type Type.
type MMA struct {
	M, N, K int
	Type    dtype.DType
	Order   Order
}

// Fragments is an array of fragments of one role.
type Fragments struct {
	Name string
	MMA  MMA
	Role Role
	Len  int
}

// Shape returns the rows and columns of the matrix.
func (f Fragments) Shape() (rows, cols int) {
	switch f.Role {
	case A:
		return f.MMA.M, f.MMA.K
	case B:
		return f.MMA.K, f.MMA.N
	}
	return f.MMA.M, f.MMA.N
}

// Elements returns the number of elements of a fragment that each thread of a subgroup holds.
func (f Fragments) Elements(subgroup int) int {
	rows, cols := f.Shape()
	return rows * cols / subgroup
}

// Accumulator returns the place in C of element e of a thread's part, as FragGet and FragSet number them. In the order Pairs, for subgroups
// of 32 and m16n8, it is the layout of PTX: row lane/4 + 8·(e/2), column 2·(lane%4) + e%2. In larger matrices, further elements are in
// further rows, and then in further groups of 8 columns. In the order Quarters, element e is in the same 8 × 8 part of C, at another place.
func (m MMA) Accumulator(subgroup, lane, e int) (row, col int) {
	switch m.Order {
	case Runs:
		return lane/16*(m.M*16/subgroup) + e, lane % 16
	case Strided:
		return lane/16 + e*(subgroup/16), lane % 16
	case Quarters:
		return lane/16*4 + lane/2%4 + 8*(e/2), lane/8%2*4 + lane%2*2 + e%2
	}
	high := subgroup / 4
	times := max(m.M/high, 1)
	return lane/4 + high*(e/2%times), lane%4*2 + e%2 + 8*(e/2/times)
}

// Inst is an instruction. Its Op says which fields it uses.
type Inst struct {
	Op     Op
	Type   dtype.DType
	Width  int32
	Ref    int32
	Ref2   int32
	Unroll bool
	Imm    uint64
	Out    []Value
	Args   []Value
	Head   []Inst
	Body   []Inst
	Else   []Inst
}

// Launch runs a kernel on a grid of Grid[0]·Grid[1]·Grid[2] blocks.
type Launch struct {
	Kernel *Kernel
	Grid   [3]int
	Args   []Arg // arguments in the order of parameters: one for each parameter, or one for each member if Each is set
	// Starts is the first block of each member of a batched kernel. The last member ends with the grid, which has one row.
	Starts []int32
}

// Arg is the argument of a parameter.
type Arg struct {
	// Slot is the number of the memory of a buffer; the code that builds the launch numbers the memory. Offset is the buffer's first byte.
	Slot   int
	Offset int64
	// Bits is the value of a scalar in the type of the parameter: an integer, sign or zero extended, or the IEEE bits of a float.
	Bits uint64
}

// Work is a sequence of launches that together compute one result. Its slots are the operands, the results, and then temporaries.
type Work struct {
	Launches []Launch
	// Temps holds the size of each temporary in bytes.
	Temps []int64
	// Fault says that the first temporary is one u32, which must be 0 before the work runs. A launch sets this word to 1 if it reads an
	// index that is outside of the indexed dimension; the error is then core.ErrIndex and the results are undefined. Kernels never access
	// memory with such an index.
	Fault bool
}
