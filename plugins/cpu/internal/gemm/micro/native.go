package micro

import (
	"math"
)

// Float is the constraint of the types that have kernels in assembly.
type Float interface{ float32 | float64 }

const (
	// MaxRows is the greatest number of rows of a tile in assembly.
	MaxRows     = 14
	maxPartRows = 4
)

// TileFunc computes a tile in assembly. Strides are in elements.
type TileFunc[T Float] func(k int, a, b, c *T, aRow, aCol, bRow, ldc, cols int, accumulate, finish bool, biasRow, biasCol *T, lo, hi T)

type (
	panelsFunc[T Float]   func(k int, a, b, c *T, aRow, aCol, bPanel, ldc int, accumulate, finish bool, biasRow, biasCol *T, lo, hi T)
	indirectFunc[T Float] func(k int, a *T, aCol int, src *T, offsets *int, next int, c *T, ldc, cols int, accumulate, finish bool,
		biasRow, biasCol *T, lo, hi T)
)

// native adapts functions in assembly to the functions of a Kernel. It checks the lengths of slices, because the assembly does not.
type native[T Float] struct {
	// tile[r-1] computes r rows. part[r-1] computes r rows of a tile with fewer
	// than cols columns. If masked is set, tile does that too, and part is not
	// needed. half[r-1], which may be nil, computes at most the first half of the
	// columns.
	tile   [MaxRows]TileFunc[T]
	half   [MaxRows]TileFunc[T]
	part   [maxPartRows]TileFunc[T]
	cols   int
	masked bool

	// panels[r-1] computes r rows of four panels; nil where there are none.
	panels [GroupRows]panelsFunc[T]

	// indirect[r-1] computes r rows; nil where there are none.
	indirect [MaxRows]indirectFunc[T]

	epilogue func(rows, cols int, c *T, ldc int, biasRow, biasCol *T, lo, hi T)

	dot4, dot1   func(n int, x, m *T, row int, out *T)
	axpy8, axpy1 func(n int, y, x, m *T, col int)

	packing[T]
}

// kernel sets the optional functions of k and returns it.
func (n *native[T]) kernel(k Kernel[T]) *Kernel[T] {
	k.Tile, k.ApplyEpilogue, k.Dot, k.Axpy = n.runTile, n.runEpilogue, n.runDot, n.runAxpy
	k.Transpose, k.Strip, k.Collect = n.runTranspose, n.runStrip, n.runCollect
	if n.panels[0] != nil {
		k.Panels = n.runPanels
	}
	if n.indirect[0] != nil {
		k.Indirect = n.runIndirect
	}
	k.Run = func(depth int, a, b, c []T, ldc int, accumulate bool) {
		n.runTile(k.MR, k.NR, depth, a, 1, k.MR, b, k.NR, c, ldc, accumulate, nil, 0, 0)
	}
	return &k
}

func (n *native[T]) runTile(rows, cols, k int, a []T, aRow, aCol int, b []T, bRow int, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int) {
	_, _, _ = a[(rows-1)*aRow+(k-1)*aCol], b[(k-1)*bRow+cols-1], c[(rows-1)*ldc+cols-1]
	biasRow, biasCol, lo, hi := e.native(rows, cols, y, x)
	if half := n.half[rows-1]; half != nil && cols <= n.cols/2 {
		half(k, &a[0], &b[0], &c[0], aRow, aCol, bRow, ldc, cols, accumulate, e != nil, biasRow, biasCol, lo, hi)
		return
	}
	if n.masked || cols == n.cols {
		n.tile[rows-1](k, &a[0], &b[0], &c[0], aRow, aCol, bRow, ldc, cols, accumulate, e != nil, biasRow, biasCol, lo, hi)
		return
	}
	for i := 0; i < rows; i += maxPartRows {
		part := min(rows-i, maxPartRows)
		biasRow, biasCol, lo, hi = e.native(part, cols, y+i, x)
		n.part[part-1](k, &a[i*aRow], &b[0], &c[i*ldc], aRow, aCol, bRow, ldc, cols, accumulate, e != nil, biasRow, biasCol, lo, hi)
	}
}

func (n *native[T]) runPanels(rows, k int, a []T, aRow, aCol int, b []T, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int) {
	_, _, _ = a[(rows-1)*aRow+(k-1)*aCol], b[GroupPanels*k*n.cols-1], c[(rows-1)*ldc+GroupPanels*n.cols-1]
	biasRow, biasCol, lo, hi := e.native(rows, GroupPanels*n.cols, y, x)
	n.panels[rows-1](k, &a[0], &b[0], &c[0], aRow, aCol, k*n.cols, ldc, accumulate, e != nil, biasRow, biasCol, lo, hi)
}

func (n *native[T]) runIndirect(rows, cols, k int, a []T, width int, src []T, offsets []int, reach, next int, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int) {
	last := cols - 1
	if half := n.cols / 2; cols > half {
		last = max(half-1, next+cols-half-1)
	}
	_, _, _, _ = a[(k-1)*width+rows-1], src[reach+last], offsets[k-1], c[(rows-1)*ldc+cols-1]
	biasRow, biasCol, lo, hi := e.native(rows, cols, y, x)
	n.indirect[rows-1](k, &a[0], width, &src[0], &offsets[0], next, &c[0], ldc, cols, accumulate, e != nil, biasRow, biasCol, lo, hi)
}

// native returns e in the form of arguments for assembly, for the rows x cols elements that begin at element (i, j).
func (e *Epilogue[T]) native(rows, cols, i, j int) (biasRow, biasCol *T, lo, hi T) {
	if e == nil {
		return nil, nil, 0, 0
	}
	if e.HasClamp {
		lo, hi = e.Lo, e.Hi
	} else {
		infinity := math.Inf(1) // a variable, because T may be an integer type, for which this code is compiled but not run
		lo, hi = T(-infinity), T(infinity)
	}
	if e.BiasRow != nil {
		biasRow = &e.BiasRow[i : i+rows][0]
	}
	if e.BiasCol != nil {
		biasCol = &e.BiasCol[j : j+cols][0]
	}
	return biasRow, biasCol, lo, hi
}

func (n *native[T]) runEpilogue(rows, cols int, c []T, ldc int, e *Epilogue[T], i, j int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	_ = c[(rows-1)*ldc+cols-1]
	biasRow, biasCol, lo, hi := e.native(rows, cols, i, j)
	n.epilogue(rows, cols, &c[0], ldc, biasRow, biasCol, lo, hi)
}

func (n *native[T]) runDot(x, m []T, row int, out []T) {
	k := len(x)
	if k == 0 {
		clear(out)
		return
	}
	i := 0
	for ; i+4 <= len(out); i += 4 {
		_ = m[(i+3)*row+k-1]
		n.dot4(k, &x[0], &m[i*row], row, &out[i])
	}
	for ; i < len(out); i++ {
		_ = m[i*row+k-1]
		n.dot1(k, &x[0], &m[i*row], row, &out[i])
	}
}

func (n *native[T]) runAxpy(y, x, m []T, col int) {
	if len(y) == 0 {
		return
	}
	p := 0
	for ; p+8 <= len(x); p += 8 {
		_ = m[(p+7)*col+len(y)-1]
		n.axpy8(len(y), &y[0], &x[p], &m[p*col], col)
	}
	for ; p < len(x); p++ {
		_ = m[p*col+len(y)-1]
		n.axpy1(len(y), &y[0], &x[p], &m[p*col], col)
	}
}

// MaskedTile returns a function for Kernel.Tile that calls functions in assembly. tile[r-1] computes r rows of up to cols columns.
// half[r-1], which may be nil, computes r rows of up to cols/2 columns.
func MaskedTile[T Float](cols int, tile, half [MaxRows]TileFunc[T]) func(rows, cols, k int, a []T, aRow, aCol int, b []T, bRow int, c []T, ldc int, accumulate bool, e *Epilogue[T], y, x int) {
	return (&native[T]{tile: tile, half: half, cols: cols, masked: true}).runTile
}
