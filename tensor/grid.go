package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// MeshGrid returns one tensor [n1, n2, ...] for each of the vectors of lengths n1, n2, ...: element (i, j, ...) of the k-th
// tensor is the element of the k-th vector at the k-th index. This is NumPy's indexing "ij".
func MeshGrid(vs ...*Tensor) []*Tensor {
	if len(vs) == 0 {
		fail("mesh_grid: no vectors, want at least one: %w", op.ErrShape)
	}
	return Op(op.MeshGrid, vs)
}

// MeshGridXY returns the tensors of MeshGrid with the first two dimensions exchanged. This is NumPy's indexing "xy".
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

// MeshGridStack returns the tensors of MeshGrid stacked along a new last axis: element (i, j, ...) is the tuple of the vectors'
// elements i, j, ...
func MeshGridStack(vs ...*Tensor) *Tensor {
	var m temps
	grids := MeshGrid(vs...)
	for _, g := range grids {
		m.of(g)
	}
	return m.done(Stack(-1, grids...))
}

// CartesianGrid returns all index tuples of the given dimensions, as i64 [dims..., len(dims)].
func (d *Device) CartesianGrid(dims ...int) *Tensor {
	var m temps
	for _, n := range dims {
		m.of(d.Iota(dtype.I64, n))
	}
	return m.done(MeshGridStack(m.made...))
}

// AffineGrid maps the points of a regular grid of the given spatial size by the matrices t[N, d, d+1], and returns them as [N,
// size..., d]. With alignCorners, the coordinates -1 and 1 are the centres of the outermost elements instead of their outer
// edges.
func (t *Tensor) AffineGrid(alignCorners bool, size ...int) *Tensor {
	return t.un(op.AffineGrid, op.Ints("size", size...), op.Flag("align_corners", alignCorners))
}

// GridOptions configures GridSample. The zero value interpolates linearly with zeros outside.
type GridOptions struct {
	Mode         string // "linear" (also ""), "nearest" or "cubic"
	Padding      string // values outside: "zeros" (also ""), "border" or "reflection"
	AlignCorners bool   // -1 and 1 are the centres of the outermost elements instead of their outer edges
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// GridSample returns samples [N, C, out...] of t[N, C, spatial...] at the points of grid[N, out..., d], whose coordinate 0 is for
// the last dimension. It supports 1 to 3 spatial dimensions.
func (t *Tensor) GridSample(grid *Tensor, o GridOptions) *Tensor {
	return Op(op.GridSample, []*Tensor{t, grid}, op.Str("mode", or(o.Mode, "linear")), op.Str("padding", or(o.Padding, "zeros")),
		op.Flag("align_corners", o.AlignCorners))[0]
}

// InterpolateOptions configures Interpolate. The zero value is PyTorch's "nearest".
type InterpolateOptions struct {
	Mode         string    // "nearest" (also ""), "nearest-exact", "linear", "cubic" or "lanczos"
	AlignCorners bool      // keeps the positions of the centres of the outermost elements
	Antialias    bool      // widen the kernel when shrinking
	Scales       []float64 // factors from which positions are computed; nil means size/dimension
}

// Interpolate resamples the last dimensions of t, at most 3, to the given size.
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
