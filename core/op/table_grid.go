package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func grid(r Row) Row {
	r.Class, r.Section, r.Results = Composite, "grid", result
	return r
}

var alignCorners = defaults(Flag("align_corners", false), "-1 and 1 are the centres of the outermost elements, not their outer edges")

var gridRows = []entry{
	{AffineGrid, grid(Row{Name: "affine_grid", Tolerance: perTerm(4), Operands: []Operand{in("theta", dtype.Floats)},
		Doc: "The points of a regular grid of the given size, each mapped by theta[N, d, d+1]: result [N, size..., d]. A point has a coordinate per " +
			"dimension, that of the last dimension first, and 1: of n places, place i has (2i+1)/n-1, or with align_corners 2i/(n-1)-1, 0 for n = 1.",
		Attrs: []AttrSpec{required("size", KindInts, "d sizes"), alignCorners},
		Constraints: []Constraint{{"C1", "size has 1 to 3 entries d, each from 0 to 2^30"}, {"C2", "theta is [N, d, d+1]"},
			{"C3", "the points are a legal shape"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			size, theta := a.Ints("size"), in[0].Shape
			d := len(size)
			if d < 1 || d > 3 {
				return nil, violation(ErrShape, "C1", "size %v, want 1 to 3 entries", size)
			}
			for _, n := range size {
				if n < 0 || n > largest {
					return nil, violation(ErrShape, "C1", "size %v, want entries from 0 to %d", size, largest)
				}
			}
			if len(theta) != 3 || theta[1] != d || theta[2] != d+1 {
				return nil, violation(ErrShape, "C2", "theta is %v, want [N,%d,%d]", theta, d, d+1)
			}
			if _, err := legal("C3", append(shape.Shape(size).Clone(), d+1)); err != nil {
				return nil, err
			}
			return one(in[0].DType, append(append(shape.Of(theta[0]), size...), d)), nil
		}})},
	{GridSample, grid(Row{Name: "grid_sample", Tolerance: perTerm(16), Operands: []Operand{in("x", dtype.Floats), same("grid", 1)},
		Doc: "x[N, C, spatial...] read at the points of grid[N, out..., d]: result [N, C, out...]. Of d spatial dimensions, coordinate 0 belongs to the last. In one of n " +
			"elements, g lies at ((g+1)·n-1)/2, or with align_corners at (g+1)·(n-1)/2, rounded as f32 or wider. nearest takes the element " +
			"there, ties to even, linear and cubic (Keys with parameter cubic_a) the sum of those around it that have a weight other than 0. Elements outside are 0 (zeros), or the " +
			"nearest ones (border), or mirrored at the outer edges, with align_corners at the outermost centres (reflection). With nearest " +
			"and linear the point is moved inside, with cubic each element that it reads.",
		Attrs: []AttrSpec{choice("mode", "linear", "kernel", "nearest", "linear", "cubic"),
			choice("padding", "zeros", "what is outside", "zeros", "border", "reflection"), alignCorners,
			defaults(Float("cubic_a", -0.75), "parameter of cubic")},
		Constraints: []Constraint{{"C1", "x has 1 to 3 spatial dimensions, each from 1 to 2^30"}, {"C2", "grid has the rank and the first dimension of x, and its last dimension is their number"},
			{"C3", "cubic_a is finite"}},
		Domain: []Domain{{}, {Lo: -1.4, Hi: 1.4}}, Infer: inferGridSample})},
	{RoiAlign, grid(Row{Name: "roi_align", Tolerance: perTerm(16),
		Operands: []Operand{in("x", dtype.Floats), in("batch", dtype.Indices), same("rois", 1)},
		Doc: "Regions of x[N, C, H, W] sampled to one size: result [R, C, size...]. Region r is (x1, y1, x2, y2) = scale·rois[r] of image batch[r], moved " +
			"by -1/2 with half_pixel, else at least 1 long each way. It is cut into size cells, each read linearly at a grid of samples by samples " +
			"points; a point beyond -1 or the dimension is 0, others are moved into the image. A cell is the mean of its points (mean) or the greatest of their four " +
			"weighted corners (max). An image outside is ErrIndex.",
		Attrs: []AttrSpec{required("size", KindInts, "cells down and across"), required("samples", KindInt, "points of a cell each way"),
			defaults(Float("scale", 1), "of the coordinates of rois"), defaults(Flag("half_pixel", true), "pixels have their centres at halves"),
			choice("reduce", "mean", "how points join", "mean", "max")},
		Constraints: []Constraint{{"C1", "x has rank 4 and images that are not empty, up to 2^30 each way"}, {"C2", "batch is [R] and rois [R, 4]"},
			{"C3", "size has 2 entries of at least 1; samples is from 1 to 4096"}, {"C4", "the points of all cells are a legal shape"}, {"C5", "scale is finite"}},
		Domain: []Domain{{}, {Index: true}, {Lo: 0.1, Hi: 5}}, Infer: inferRoiAlign})},
	{DeformConv, grid(Row{Name: "deform_conv", Tolerance: perTerm(16),
		Operands: []Operand{in("x", dtype.Floats), same("w", 1), same("offset", 1), optional(same("mask", 1))},
		Doc: "Convolution of x[N, C, H, W] with w[O, C/groups, kh, kw] whose elements of x are read linearly, 0 outside, at places moved by offset[N, G·kh·kw·2, outH, outW] " +
			"(down, then across) and scaled by mask[N, G·kh·kw, outH, outW]; each of G = offset_groups groups of channels has its own.",
		Attrs: []AttrSpec{required("strides", KindInts, "down and across"), required("pad_lo", KindInts, "down and across"),
			required("pad_hi", KindInts, "down and across"), required("dilation", KindInts, "of the kernel"),
			defaults(Int("groups", 1), "channel groups"), defaults(Int("offset_groups", 1), "channel groups that share offsets")},
		Constraints: []Constraint{{"C1", "x and w have rank 4, and no image is empty or above 2^30 each way"}, {"C2", "two entries for each attribute; strides and dilation at least 1, paddings not negative"},
			{"C3", "groups divides C and O, and w[1] is C/groups; offset_groups divides C"}, {"C4", "the kernel is not empty"},
			{"C5", "offset and mask have the shapes that the output and offset_groups give"}, {"C6", "the elements under all kernels are a legal shape"}},
		Domain: []Domain{{}, {}, {Lo: -1.5, Hi: 1.5}}, Infer: inferDeformConv})},
}

func inferGridSample(in []Desc, a Attrs) ([]Desc, error) {
	x, g := in[0].Shape, in[1].Shape
	d := len(x) - 2
	if d < 1 || d > 3 {
		return nil, violation(ErrShape, "C1", "x is %v, want 1 to 3 spatial dimensions", x)
	}
	for _, n := range x[2:] {
		if n < 1 || n > largest {
			return nil, violation(ErrShape, "C1", "x is %v, want spatial dimensions from 1 to %d", x, largest)
		}
	}
	if len(g) != len(x) || g[0] != x[0] || g[len(g)-1] != d {
		return nil, violation(ErrShape, "C2", "grid is %v for x %v, want [%d, out..., %d] of rank %d", g, x, x[0], d, len(x))
	}
	if c := a.Float("cubic_a"); math.IsNaN(c) || math.IsInf(c, 0) {
		return nil, violation(ErrAttr, "C3", "cubic_a is %v, want a finite number", c)
	}
	return one(in[0].DType, append(x[:2:2], g[1:1+d]...)), nil
}

func imageOf(constraint string, x shape.Shape) error {
	if len(x) != 4 || x[2] < 1 || x[3] < 1 || x[2] > largest || x[3] > largest {
		return violation(ErrShape, constraint, "x is %v, want [N,C,H,W] with H and W from 1 to %d", x, largest)
	}
	return nil
}

func inferRoiAlign(in []Desc, a Attrs) ([]Desc, error) {
	x, size, samples := in[0].Shape, a.Ints("size"), a.Int("samples")
	if err := imageOf("C1", x); err != nil {
		return nil, err
	}
	b, r := in[1].Shape, in[2].Shape
	if len(b) != 1 || len(r) != 2 || r[0] != b[0] || r[1] != 4 {
		return nil, violation(ErrShape, "C2", "batch is %v and rois %v, want [R] and [R,4]", b, r)
	}
	if len(size) != 2 || size[0] < 1 || size[1] < 1 || samples < 1 || samples > 4096 {
		return nil, violation(ErrAttr, "C3", "size %v and samples %d, want a size of 2 entries of at least 1, and samples from 1 to 4096", size, samples)
	}
	if size[0] > largest || size[1] > largest {
		return nil, violation(ErrShape, "C4", "size %v, want entries of at most %d", size, largest)
	}
	if _, err := legal("C4", shape.Of(max(1, x[1]), max(1, b[0]), size[0]*samples, size[1]*samples)); err != nil {
		return nil, err
	}
	if s := a.Float("scale"); math.IsNaN(s) || math.IsInf(s, 0) {
		return nil, violation(ErrAttr, "C5", "scale is %v, want a finite number", s)
	}
	return one(in[0].DType, shape.Of(b[0], x[1], size[0], size[1])), nil
}

func inferDeformConv(in []Desc, a Attrs) ([]Desc, error) {
	x, w := in[0].Shape, in[1].Shape
	if err := imageOf("C1", x); err != nil {
		return nil, err
	}
	if len(w) != 4 {
		return nil, violation(ErrShape, "C1", "w is %v, want rank 4", w)
	}
	for _, l := range []struct {
		name  string
		least int
	}{{"strides", 1}, {"dilation", 1}, {"pad_lo", 0}, {"pad_hi", 0}} {
		if err := perSpatial("C2", a, l.name, 2, l.least); err != nil {
			return nil, err
		}
	}
	g, og := a.Int("groups"), a.Int("offset_groups")
	if g < 1 || og < 1 || x[1]%g != 0 || w[0]%g != 0 || w[1] != x[1]/g || x[1]%og != 0 {
		return nil, violation(ErrShape, "C3", "%d groups and %d offset groups for x %v and w %v", g, og, x, w)
	}
	out := shape.Of(x[0], w[0], 0, 0)
	for i := range 2 {
		n, ok := windowed(x[2+i], w[2+i], a.Ints("strides")[i], a.Ints("dilation")[i], a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		if !ok {
			return nil, violation(ErrShape, "C4", "kernel %v", w[2:])
		}
		out[2+i] = n
	}
	taps := w[2:].Size()
	if og > limit/taps {
		return nil, violation(ErrShape, "C6", "%d offset groups of %d elements", og, taps)
	}
	if err := sameShape("C5", "offset", in[2].Shape, shape.Of(x[0], og*taps*2, out[2], out[3])); err != nil {
		return nil, err
	}
	if len(in) > 3 {
		if err := sameShape("C5", "mask", in[3].Shape, shape.Of(x[0], og*taps, out[2], out[3])); err != nil {
			return nil, err
		}
	}
	if _, err := legal("C6", shape.Of(max(1, x[0]), max(1, x[1]), w[2], w[3], max(1, out[2]), max(1, out[3]))); err != nil {
		return nil, err
	}
	return one(in[0].DType, out), nil
}
