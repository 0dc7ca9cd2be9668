package onnx

import (
	"slices"

	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Identity", 1, func(t *tracer, n *node) []value {
		if !n.input(0).present() {
			t.fail("input 0 is missing")
		}
		return []value{n.input(0)}
	})
	register("Reshape", 5, reshapeNode)
	register("Flatten", 1, flatten)
	register("Squeeze", 1, func(t *tracer, n *node) []value { return squeezeNode(t, n, n.ints("axes")) })
	register("Squeeze", 13, func(t *tracer, n *node) []value { return squeezeNode(t, n, t.optionalInts(n, 1)) })
	register("Unsqueeze", 1, func(t *tracer, n *node) []value { return unsqueezeNode(t, n, n.ints("axes")) })
	register("Unsqueeze", 13, func(t *tracer, n *node) []value {
		t.need(n, 1)
		return unsqueezeNode(t, n, t.hostDims(n.input(1)))
	})
	register("Transpose", 1, transpose)
	register("Expand", 8, expandNode)
	register("Tile", 6, tile)
	register("Concat", 4, func(t *tracer, n *node) []value { return concatNode(t, n, 0) })
	register("DepthToSpace", 1, depthToSpace)
	register("SpaceToDepth", 1, spaceToDepth)
}

// optionalInts returns the content of an input, or nil if it is absent.
func (t *tracer) optionalInts(n *node, i int) []int {
	if !n.input(i).present() {
		return nil
	}
	return t.hostInts(n.input(i))
}

func reshapeNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	return reshapeTo(t, n, t.hostDims(n.input(1)))
}

func reshapeTo(t *tracer, n *node, want []int) []value {
	x := n.input(0)
	dims, err := reshapeDims(x.shape(), want, n.int("allowzero", 0) != 0)
	if other := t.s.model.rebatched(want); err != "" && other != nil {
		dims, err = reshapeDims(x.shape(), other, n.int("allowzero", 0) != 0)
	}
	if err != "" {
		t.fail("shape %v: %s for %v", want, err, x.shape())
	}
	return []value{t.reshape(x, dims...)}
}

// reshapeDims resolves the entries 0 (the dimension of s, unless literal) and -1 (computed from the remaining elements). The text
// is empty, or describes the error.
func reshapeDims(s shape.Shape, want []int, literal bool) ([]int, string) {
	dims, rest, known, left := slices.Clone(want), -1, 1, 1
	for i, d := range s {
		if literal || i >= len(want) || want[i] != 0 {
			left *= d
		}
	}
	for i, d := range want {
		switch {
		case d == 0 && !literal && i >= len(s):
			return nil, "a zero beyond the rank"
		case d == 0 && !literal:
			dims[i] = s[i]
		case d == -1 && rest >= 0:
			return nil, "more than one -1"
		case d == -1:
			rest = i
		case d < 0:
			return nil, "a negative dimension"
		default:
			known *= d
		}
	}
	if rest >= 0 {
		if known == 0 {
			return nil, "-1 together with an empty dimension"
		}
		dims[rest] = left / known
	}
	if shape.Shape(dims).Size() != s.Size() {
		return nil, "the elements do not fit"
	}
	return dims, ""
}

func flatten(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	axis := n.int("axis", 1)
	if axis < 0 {
		axis += x.rank()
	}
	if axis < 0 || axis > x.rank() {
		t.fail("axis is %d, want one in [%d,%d]", n.int("axis", 1), -x.rank(), x.rank())
	}
	rows, cols := matrixOf(x.shape(), axis)
	return []value{t.reshape(x, rows, cols)}
}

// squeezeNode removes axes, or all axes of length 1 if none are given.
func squeezeNode(t *tracer, n *node, axes []int) []value {
	t.need(n, 0)
	x := n.input(0)
	if axes == nil {
		for i, d := range x.shape() {
			if d == 1 {
				axes = append(axes, i)
			}
		}
	}
	axes = t.axes(axes, x.rank())
	for _, a := range axes {
		if x.shape()[a] != 1 {
			t.fail("axis %d of %v is not 1", a, x.shape())
		}
	}
	return []value{t.squeeze(x, axes...)}
}

func unsqueezeNode(t *tracer, n *node, axes []int) []value {
	t.need(n, 0)
	x := n.input(0)
	axes = t.axes(axes, x.rank()+len(axes))
	slices.Sort(axes)
	return []value{t.unsqueeze(x, axes...)}
}

func transpose(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	axes := n.ints("perm")
	if axes == nil {
		for i := range x.rank() {
			axes = append(axes, x.rank()-1-i)
		}
	}
	return []value{t.permute(x, t.axes(axes, x.rank())...)}
}

func expandNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x := n.input(0)
	s, err := shape.Broadcast(x.shape(), shape.Shape(t.hostDims(n.input(1))))
	if err != nil {
		t.fail("%v", err)
	}
	return []value{t.expand(x, s)}
}

func tile(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	return tileBy(t, n.input(0), t.hostDims(n.input(1)))
}

func tileBy(t *tracer, x value, reps []int) []value {
	if len(reps) != x.rank() {
		t.fail("repeats has %d entries, want %d", len(reps), x.rank())
	}
	for i, r := range reps {
		switch {
		case r < 0:
			t.fail("repeats is %v, want none negative", reps)
		case r != 1: // rank 3 suffices for one axis
			s := x.shape()
			x = t.reshape(x, s[:i].Size(), 1, s[i:].Size())
			x = t.expand(x, shape.Of(s[:i].Size(), r, s[i:].Size()))
			out := s.Clone()
			out[i] *= r
			x = t.reshape(x, out...)
		}
	}
	return []value{x}
}

func concatNode(t *tracer, n *node, def int) []value {
	t.need(n, 0)
	for i := range n.in {
		t.need(n, i)
	}
	return []value{t.concat(t.axis(n.int("axis", def), n.input(0).rank()), n.in...)}
}

func depthToSpace(t *tracer, n *node) []value {
	t.need(n, 0)
	x, s, b := blocks(t, n)
	if s[1]%(b*b) != 0 {
		t.fail("%d channels for blocks of %d by %d", s[1], b, b)
	}
	c := s[1] / (b * b)
	switch mode := n.str("mode", "DCR"); mode {
	case "DCR":
		x = t.permute(t.reshape(x, s[0], b, b, c, s[2], s[3]), 0, 3, 4, 1, 5, 2)
	case "CRD":
		x = t.permute(t.reshape(x, s[0], c, b, b, s[2], s[3]), 0, 1, 4, 2, 5, 3)
	default:
		t.fail("mode is %q, want DCR or CRD", mode)
	}
	return []value{t.reshape(x, s[0], c, s[2]*b, s[3]*b)}
}

// spaceToDepth is the inverse of depthToSpace; the mode is an attribute since opset 28.
func spaceToDepth(t *tracer, n *node) []value {
	t.need(n, 0)
	x, s, b := blocks(t, n)
	if s[2]%b != 0 || s[3]%b != 0 {
		t.fail("blocks of %d for %d by %d", b, s[2], s[3])
	}
	h, w := s[2]/b, s[3]/b
	x = t.reshape(x, s[0], s[1], h, b, w, b)
	switch mode := n.str("mode", "DCR"); mode {
	case "DCR":
		x = t.permute(x, 0, 3, 5, 1, 2, 4)
	case "CRD":
		x = t.permute(x, 0, 1, 3, 5, 2, 4)
	default:
		t.fail("mode is %q, want DCR or CRD", mode)
	}
	return []value{t.reshape(x, s[0], s[1]*b*b, h, w)}
}

func blocks(t *tracer, n *node) (x value, s shape.Shape, b int) {
	x, b = n.input(0), n.int("blocksize", 0)
	if x.rank() != 4 {
		t.fail("input is %v, want rank 4", x.shape())
	}
	if b < 1 {
		t.fail("blocksize is %d, want 1 or more", b)
	}
	return x, x.shape(), b
}

// linePermutation returns the permutation that moves axis to the position to and keeps the order of the other axes, and its inverse.
func linePermutation(rank, axis, to int) (there, back []int) {
	for i := range rank {
		if i != axis {
			there = append(there, i)
		}
	}
	there = slices.Insert(there, to, axis)
	back = make([]int, rank)
	for i, a := range there {
		back[a] = i
	}
	return there, back
}
