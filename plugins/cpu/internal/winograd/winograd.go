// Package winograd computes 3x3 convolutions of float32 for package conv, with a quarter of the multiplications: Y = Aᵀ[(GgGᵀ)⊙(BᵀdB)]A
// over tiles of 4x4 outputs and 6x6 inputs (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016). The transforms
// interpolate at 0, ±√½, ±√2 and infinity, which costs about one bit of accuracy (for the choice of points see Barabasz, Anderson,
// Soodhalter and Gregg, "Error analysis and improving the accuracy of Winograd convolution for deep neural networks", 2020).
//
// All outputs of a tile depend on all its inputs: errors are relative to the greatest products of the tile, and an infinity or NaN would
// affect all of its outputs. Therefore Run refuses inputs that are not finite or so large that a sum might overflow, and Pack refuses such
// weights.
package winograd

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

const (
	side     = 4             // length and width of a tile of outputs
	reach    = side + 2      // length and width of a tile of inputs
	elements = reach * reach // elements of a transformed tile
)

// Shape is a convolution of one image and group, of stride one. The input is padded with Top rows and Left columns of zeros before it, and
// as many after it as the outputs need.
type Shape struct {
	Channels, Outputs   int
	Height, Width       int
	Top, Left           int
	OutHeight, OutWidth int
}

// Plan is a convolution of a given shape, none of whose sizes is zero. It is
// immutable and safe for concurrent use.
type Plan struct {
	Shape
	rows, cols int // rows and columns of tiles
	span       int // tiles from one row to the next, padding included
	shared     int // rows of tiles that share a vector
	units      int // units that contain all tiles
	block      int // units that are transformed at a time
	pitch      int // elements in a row of the padded input

	scratch sync.Pool // *scratch
	runs    sync.Pool // *run
}

// blockElements bounds the transformed inputs that are multiplied at a time. They exceed the L2 cache: smaller blocks are slower, because
// weights are read from the L3 cache more often.
const blockElements = 192 << 10

// New returns the plan of a convolution. It returns nil if this processor has no
// kernels for it, or if direct sums are faster.
func New(s Shape) *Plan {
	if !usable(micro.Active[float32]()) || s.Channels < active.minChannels || s.Outputs < active.minOutputs {
		return nil
	}
	p := newPlan(s)
	if s.OutHeight*s.OutWidth*100 < p.units*active.unit*active.lanes*side*side*minFull {
		return nil
	}
	return p
}

// minFull is the least percentage of the computed outputs that must be wanted.
const minFull = 45

func newPlan(s Shape) *Plan {
	p := &Plan{Shape: s, rows: ceil(s.OutHeight, side), cols: ceil(s.OutWidth, side)}
	p.units, p.span, p.shared = p.unitsOf(p.cols), p.cols, 1
	for _, span := range []int{4, 8} {
		if p.cols <= span && span <= active.lanes && p.unitsOf(span) == p.units {
			p.span, p.shared = span, active.lanes/span
			break
		}
	}
	p.pitch = side*p.span + reach - side
	p.block = max(blockElements/(elements*s.Channels*active.lanes*2), 1) * 2 / active.unit
	return p
}

// unitsOf returns the number of units that hold all tiles of rows that are span
// apart.
func (p *Plan) unitsOf(span int) int {
	return ceil((p.rows-1)*span+p.cols, active.unit*active.lanes)
}

// tiles returns the number of tiles from the first to the last, padding included.
func (p *Plan) tiles() int { return (p.rows-1)*p.span + p.cols }

// usable reports whether a kernel of the matrix product fits the transforms.
func usable(k *micro.Kernel[float32]) bool {
	return active != nil && vector.Has() && k.Tile != nil && k.NR == 2*active.lanes
}

// native contains the transforms of a level. They do not check their arguments.
type native struct {
	lanes int
	unit  int // vectors of tiles that are computed together

	minChannels, minOutputs int // least sizes for which the algorithm is faster

	greatest func(n int, x *float32) uint32
	split    func(rows, cols int, src *float32, srcRow, near, far int, dst *float32, dstRow, plane int)
	input    func(count int, src *float32, row, col, down int, dst *float32, step, pair int)
	output   func(count int, src *float32, step int, dst *float32, row int)
	// product[n-1], where it is not nil, multiplies 2n rows by one vector.
	product    [tallRows / 2]productFunc
	storeTiles func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, accumulate bool, bias, lo, hi float32)
}

type productFunc func(depth int, a *float32, aCol int, b *float32, bRow int, c *float32, ldc int)

// tallRows is the greatest number of rows of a product of one vector.
const tallRows = 28

// active is nil on processors without these transforms.
var active = nativeTransforms()

func ceil(n, d int) int { return (n + d - 1) / d }
