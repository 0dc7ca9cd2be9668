package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("GridSample", 16, gridSampleNode)
	register("AffineGrid", 20, affineGridNode)
	register("DeformConv", 19, deformConvNode)
}

// gridSampleNode samples x at normalised points: -1 and 1 are the ends of a dimension, and the coordinate in the last dimension comes
// first.
func gridSampleNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, grid := n.input(0), n.input(1)
	s := sampler{calc: calc{t}, padding: n.str("padding_mode", "zeros"), align: n.int("align_corners", 0) != 0}
	spatial := x.rank() - 2
	if spatial < 1 || grid.rank() != x.rank() || grid.shape()[x.rank()-1] != spatial || grid.shape()[0] != x.shape()[0] {
		t.fail("grid %v for x %v", grid.shape(), x.shape())
	}
	switch mode := n.str("mode", "linear"); mode {
	case "bilinear", "linear":
		s.method = "linear"
	case "bicubic", "cubic":
		s.method = "cubic"
	case "nearest":
		s.method = mode
	default:
		t.fail("mode is %q", mode)
	}
	if !slices.Contains([]string{"zeros", "border", "reflection"}, s.padding) {
		t.fail("padding_mode is %q", s.padding)
	}
	s.dims = x.shape()[2:]
	if spatial <= 3 && product(s.dims) > 0 && x.dtype() == grid.dtype() {
		return []value{t.do(op.GridSample, []value{x, grid}, op.Str("mode", s.method), op.Str("padding", s.padding), op.Flag("align_corners", s.align))}
	}
	out := grid.shape()[1 : 1+spatial]
	grid = t.reshape(s.wide(grid), grid.shape()[0], out.Size(), spatial)
	at := make([]value, spatial)
	for d, size := range s.dims {
		g := s.addN(t.squeeze(t.narrow(grid, 2, spatial-1-d, 1), 2), 1)
		if s.align {
			at[d] = s.mulN(g, float64(size-1)/2)
		} else {
			at[d] = s.mulN(s.addN(s.mulN(g, float64(size)), -1), 0.5)
		}
	}
	y := s.sample(x, at)
	return []value{t.reshape(y, append(x.shape()[:2:2], out...)...)}
}

// affineGridNode maps the points of a regular grid by theta [N, d, d+1].
func affineGridNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	theta, size := n.input(0), t.hostDims(n.input(1))
	d := len(size) - 2
	if d < 1 || theta.rank() != 3 || theta.shape()[1] != d || theta.shape()[2] != d+1 {
		t.fail("theta %v for size %v", theta.shape(), size)
	}
	dims := shape.Shape(size[2:])
	t.reserve(dtype.F64, append(dims.Clone(), d+1)...)
	align := n.int("align_corners", 0) != 0
	points := make([]float64, 0, dims.Size()*(d+1))
	index := make([]int, d)
	for range dims.Size() {
		for k := d - 1; k >= 0; k-- { // the last dimension first
			p := (2*float64(index[k])+1)/float64(dims[k]) - 1
			if align && dims[k] > 1 {
				p = 2*float64(index[k])/float64(dims[k]-1) - 1
			}
			points = append(points, p)
		}
		points = append(points, 1)
		for k := d - 1; k >= 0; k-- {
			if index[k]++; index[k] < dims[k] {
				break
			}
			index[k] = 0
		}
	}
	grid := t.constFloats(theta.dtype(), []int{dims.Size(), d + 1}, points)
	y := calc{t}.matmul(grid, theta, false, true)
	return []value{t.reshape(y, append(append([]int{theta.shape()[0]}, dims...), d)...)}
}

// deformConvNode returns a convolution whose every kernel element is displaced, for every output, by an offset and scaled by a
// mask; both are shared by the channels of an offset group.
func deformConvNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x, w, offset, mask := n.input(0), n.input(1), n.input(2), n.input(4)
	g, og := t.convGeometry(n, x, w), n.int("offset_group", 1)
	s := sampler{calc: calc{t}, dims: x.shape()[2:], method: "linear", padding: "zeros"}
	batch, channels, rank := x.shape()[0], x.shape()[1], len(s.dims)
	if og < 1 || channels%og != 0 || g.groups < 1 || channels != g.groups*w.shape()[1] || w.shape()[0]%g.groups != 0 {
		t.fail("x %v and w %v with group %d and offset_group %d", x.shape(), w.shape(), g.groups, og)
	}
	kernel, out := shape.Shape(g.kernel), make(shape.Shape, rank)
	for i, d := range s.dims {
		if out[i], _ = g.pooled(i, d, false); out[i] < 1 {
			t.fail("the kernel does not fit dimension %d", i)
		}
	}
	taps, points := kernel.Size(), out.Size()
	want := append(shape.Of(batch, og*taps*rank), out...)
	if !offset.shape().Equal(want) {
		t.fail("offset is %v, want %v", offset.shape(), want)
	}
	if rank == 2 && product(s.dims) > 0 {
		y := t.do(op.DeformConv, []value{x, w, offset, mask}, op.Ints("strides", g.strides...), op.Ints("pad_lo", g.lo...), op.Ints("pad_hi", g.hi...),
			op.Ints("dilation", g.dilation...), op.Int("groups", g.groups), op.Int("offset_groups", og))
		return []value{t.biased(y, n.input(3))}
	}
	offset = t.reshape(s.wide(offset), batch*og, taps, rank, points)
	at := make([]value, rank)
	for d := range rank {
		t.reserve(dtype.I64, taps, points)
		base := make([]int, 0, taps*points)
		for k := range taps {
			for p := range points {
				base = append(base, digit(out, p, d)*g.strides[d]-g.lo[d]+digit(kernel, k, d)*g.dilation[d])
			}
		}
		v := s.add(t.squeeze(t.narrow(offset, 2, d, 1), 2), t.constInts(offset.dtype(), []int{taps, points}, base))
		at[d] = t.reshape(v, batch*og, taps*points)
	}
	y := s.sample(t.reshape(x, append([]int{batch * og, channels / og}, s.dims...)...), at)
	if mask.present() {
		y = t.reshape(y, batch*og, channels/og, taps*points)
		y = s.mul(y, t.reshape(mask, batch*og, 1, taps*points))
	}
	y = t.reshape(y, batch, g.groups, channels/g.groups*taps, points)
	m := w.shape()[0]
	y = s.matmul(t.reshape(w, g.groups, m/g.groups, w.shape()[1]*taps), y, false, false)
	y = t.reshape(y, append([]int{batch, m}, out...)...)
	return []value{t.biased(y, n.input(3))}
}

// digit returns the index along dimension d of element i in row-major order.
func digit(s shape.Shape, i, d int) int { return i / s[d+1:].Size() % s[d] }
