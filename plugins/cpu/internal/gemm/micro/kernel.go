package micro

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// Number lists the element types of matrices. Integers wrap around.
type Number interface {
	float32 | float64 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// Kernel is a micro kernel: the innermost product of a packed panel of A and a
// packed panel of B, with the block sizes that suit it. All packing and
// blocking depend on these sizes.
type Kernel[T Number] struct {
	Name string
	// MR and NR are the rows and columns of C that one call computes.
	MR, NR int
	// KC is the greatest number of steps of the inner dimension in one call. MC, a multiple of MR, is the number of rows of A in one block.
	// NC, a multiple of NR, is the number of columns of B in one block.
	KC, MC, NC int
	// Run computes the MR x NR tile c, whose row i begins at c[i*ldc], as the sum
	// over p < k of a[p*MR+i]*b[p*NR+j]. It adds the sum to the tile if accumulate
	// is set, else stores it. len(a) is k*MR and len(b) is k*NR. Run writes no
	// element between the rows of the tile or after them. The order of summation
	// over p depends on k only.
	Run func(k int, a, b, c []T, ldc int, accumulate bool)

	// The following functions are optional. If one is nil, callers compute the result in another way. Without Tile, the operands of all but
	// the smallest products are packed.

	// Tile computes the first rows and columns (rows by cols elements) of a tile, with the same
	// bits as Run, from operands that need not be packed: element (i, p) of A is
	// a[i*aRow+p*aCol] and element (p, j) of B is b[p*bRow+j]. Nothing else is
	// read or written. k, rows and cols are not zero. Tile applies the epilogue e,
	// which may be nil. The first element of c is element (y, x) of the matrix
	// that e describes.
	Tile func(rows, cols, k int, a []T, aRow, aCol int, b []T, bRow int, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int)
	// Panels computes, from packed operands, several rows and the columns of GroupPanels consecutive panels of B, with the same bits as
	// Run. The number of rows (rows) is at most GroupRows. The panels are k*NR elements apart.
	Panels func(rows, k int, a []T, aRow, aCol int, b []T, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int)
	// Indirect is like Tile, for an A that is packed in panels of width rows and a B whose rows begin at arbitrary offsets: element (p, j)
	// of B is src[offsets[p]+j] in the first half of the NR columns and src[offsets[p]+next+j-NR/2] in the second. Offsets are not negative
	// and at most reach.
	Indirect func(rows, cols, k int, a []T, width int, src []T, offsets []int, reach, next int, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int)
	// ApplyEpilogue applies e to rows x cols elements of C. The first is element
	// (i, j) of the matrix that e describes.
	ApplyEpilogue func(rows, cols int, c []T, ldc int, e *Epilogue[T], i, j int)
	// Dot sets out[i] to the dot product of x and the len(x) elements of m that begin at i*row. The order of summation depends on len(x)
	// only.
	Dot func(x, m []T, row int, out []T)
	// Axpy adds to y, for each p in turn, x[p] times the len(y) elements of m that begin at p*col.
	Axpy func(y, x, m []T, col int)
	// Transpose sets dst[p*width+l] to src[l*line+p] for l < lines and p < depth. Both are positive, and lines is at most width.
	Transpose func(dst, src []T, lines, line, depth, width int)
	// Strip sets dst[p*width+l] to src[p*row+l], for the same ranges.
	Strip func(dst, src []T, lines, row, depth, width int)

	// Collect sets dst[p*width+l] to src[offsets[p]+l] for l < lines and
	// p < len(offsets); lines is at most NR and offsets are not negative.
	Collect func(dst, src []T, lines int, offsets []int, width int)
}

// GroupPanels is the number of panels of B, and GroupRows the greatest number of rows of A, for Kernel.Panels.
const (
	GroupPanels = 4
	GroupRows   = 3
)

// candidate is a kernel and whether this processor can run it.
type candidate[T Number] struct {
	kernel *Kernel[T]
	usable func() bool
}

// kernels32 and kernels64 list the kernels of the floating point types, best first. Those in assembly are defined in a file for each
// architecture.
var (
	kernels32 = append(native32(), candidate[float32]{portable[float32](), always})
	kernels64 = append(native64(), candidate[float64]{portable[float64](), always})
)

var (
	active32 atomic.Pointer[Kernel[float32]]
	active64 atomic.Pointer[Kernel[float64]]

	kernelI64 = portable[int64]()
	kernelI32 = portable[int32]()
	kernelI16 = portable[int16]()
	kernelI8  = portable[int8]()
	kernelU64 = portable[uint64]()
	kernelU32 = portable[uint32]()
	kernelU16 = portable[uint16]()
	kernelU8  = portable[uint8]()
)

func always() bool { return true }

// EnvKernel names the environment variable that selects the kernel by name when the program starts. An unknown name is ignored; Select
// returns an error for it.
const EnvKernel = "BURN_CPU_GEMM_KERNEL"

func init() {
	if Select(os.Getenv(EnvKernel)) != nil {
		_ = Select("")
	}
}

// Select sets the kernel of that name for the floating point types that have one, and the best kernel for the other types. The empty name
// selects the best for all. Matrices that are already packed keep their kernel.
func Select(name string) error {
	if name != "" && !slices.Contains(Names(), name) {
		return fmt.Errorf("gemm: kernel, got %q, want one of %q", name, Names())
	}
	active32.Store(choose(kernels32, name))
	active64.Store(choose(kernels64, name))
	return nil
}

// Names lists the kernels that can be selected on this processor.
func Names() []string {
	var names []string
	for _, c := range kernels32 {
		if c.usable() {
			names = append(names, c.kernel.Name)
		}
	}
	for _, c := range kernels64 {
		if c.usable() && !slices.Contains(names, c.kernel.Name) {
			names = append(names, c.kernel.Name)
		}
	}
	return names
}

func choose[T Number](from []candidate[T], name string) *Kernel[T] {
	var best *Kernel[T]
	for _, c := range from {
		if !c.usable() {
			continue
		}
		if c.kernel.Name == name {
			return c.kernel
		}
		if best == nil {
			best = c.kernel
		}
	}
	return best
}

// Active returns the kernel in use for T.
func Active[T Number]() *Kernel[T] {
	var zero T
	var k any
	switch any(zero).(type) {
	case float32:
		k = active32.Load()
	case float64:
		k = active64.Load()
	case int64:
		k = kernelI64
	case int32:
		k = kernelI32
	case int16:
		k = kernelI16
	case int8:
		k = kernelI8
	case uint64:
		k = kernelU64
	case uint32:
		k = kernelU32
	case uint16:
		k = kernelU16
	case uint8:
		k = kernelU8
	}
	return k.(*Kernel[T])
}

// Depth returns the length of the blocks into which an inner dimension of k is divided. Only the last block may be shorter.
func (kern *Kernel[T]) Depth(k int) int {
	if k <= kern.KC {
		return k
	}
	blocks := CeilDiv(k, kern.KC)
	return min(kern.KC, CeilDiv(CeilDiv(k, blocks), 8)*8)
}

// CeilDiv returns a/b, rounded up.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// Balanced returns the kernel for a packed left operand of m rows. If full tiles would leave a last tile of fewer rows, the result has tiles
// of nearly equal height. A tile of few rows is slow, because each multiply-add waits for an earlier sum.
func (kern *Kernel[T]) Balanced(m int) *Kernel[T] {
	if kern.Tile == nil || m <= kern.MR {
		return kern
	}
	rows := CeilDiv(m, CeilDiv(m, kern.MR))
	if rows == kern.MR {
		return kern
	}
	own := *kern
	own.MR, own.MC = rows, kern.MC/rows*rows
	return &own
}
