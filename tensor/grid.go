package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// MeshGrid returns, for vectors of lengths n1, n2, ... as many tensors [n1, n2, ...]: element (i, j, ...) of the k-th is the
// element of the k-th vector that its k-th index names. NumPy's indexing "ij".
func MeshGrid(vs ...*Tensor) []*Tensor {
	if len(vs) == 0 {
		fail("mesh_grid: no vectors, want at least one: %w", op.ErrShape)
	}
	return Op(op.MeshGrid, vs)
}

// MeshGridXY is MeshGrid with the first two dimensions exchanged. NumPy's indexing "xy".
func MeshGridXY(vs ...*Tensor) []*Tensor {
	grids := MeshGrid(vs...)
	if len(vs) > 1 {
		for i, g := range grids {
			grids[i] = g.Transpose(0, 1)
			g.Release()
		}
	}
	return grids
}

// MeshGridStack is MeshGrid along a new last axis: element (i, j, ...) is the tuple of the vectors' elements i, j, ...
func MeshGridStack(vs ...*Tensor) *Tensor {
	var m temps
	grids := MeshGrid(vs...)
	for _, g := range grids {
		m.of(g)
	}
	return m.done(Stack(-1, grids...))
}

// CartesianGrid makes all index tuples (i64) of the given dimensions: [dims..., len(dims)].
func (d *Device) CartesianGrid(dims ...int) *Tensor {
	var m temps
	for _, n := range dims {
		m.of(d.Iota(dtype.I64, n))
	}
	return m.done(MeshGridStack(m.made...))
}

// AffineGrid returns the points of a regular grid of the given spatial size, each mapped by t[N, d, d+1]: [N, size..., d].
// With alignCorners -1 and 1 are the centres of the outermost elements, not their outer edges.
func (t *Tensor) AffineGrid(alignCorners bool, size ...int) *Tensor {
	return t.un(op.AffineGrid, op.Ints("size", size...), op.Flag("align_corners", alignCorners))
}

// GridOptions change GridSample. The zero value reads linearly with zeros outside.
type GridOptions struct {
	Mode         string // "linear" (also ""), "nearest" or "cubic"
	Padding      string // what is outside: "zeros" (also ""), "border" or "reflection"
	AlignCorners bool   // -1 and 1 are the centres of the outermost elements, not their outer edges
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// GridSample reads t[N, C, spatial...] at the points of grid[N, out..., d], coordinate 0 being that of the last dimension:
// [N, C, out...]. It has 1 to 3 spatial dimensions.
func (t *Tensor) GridSample(grid *Tensor, o GridOptions) *Tensor {
	return Op(op.GridSample, []*Tensor{t, grid}, op.Str("mode", or(o.Mode, "linear")), op.Str("padding", or(o.Padding, "zeros")),
		op.Flag("align_corners", o.AlignCorners))[0]
}

// InterpolateOptions change Interpolate. The zero value is PyTorch's "nearest".
type InterpolateOptions struct {
	Mode         string    // "nearest" (also ""), "nearest-exact", "linear", "cubic" or "lanczos"
	AlignCorners bool      // the centres of the outermost elements stay where they are
	Antialias    bool      // widen the kernel when shrinking
	Scales       []float64 // factors that places are worked out with; nil for size over dimension
}

// Interpolate samples the last dimensions of t, at most 3, anew to the given size.
func (t *Tensor) Interpolate(o InterpolateOptions, size ...int) *Tensor {
	mode, coordinates, rounding := or(o.Mode, "nearest"), "half_pixel", "round_prefer_ceil"
	switch {
	case mode == "nearest":
		coordinates, rounding = "asymmetric", "floor"
	case mode == "nearest-exact":
		mode = "nearest"
	case o.AlignCorners:
		coordinates = "align_corners"
	}
	return t.un(op.Interpolate, op.Ints("size", size...), op.Str("mode", mode), op.Str("coordinates", coordinates),
		op.Str("rounding", rounding), op.Floats("scales", o.Scales...), op.Flag("antialias", o.Antialias),
		op.Flag("exclude_outside", o.Antialias)) // as Pillow and PyTorch do
}
