package onnx

import (
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Slice", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return sliceNode(t, n, n.ints("starts"), n.ints("ends"), n.ints("axes"), nil)
	})
	register("Slice", 10, func(t *tracer, n *node) []value {
		t.need(n, 0, 1, 2)
		return sliceNode(t, n, t.hostDims(n.input(1)), t.hostDims(n.input(2)), t.optionalInts(n, 3), t.optionalInts(n, 4))
	})
	register("Split", 2, func(t *tracer, n *node) []value { return splitNode(t, n, n.ints("split")) })
	register("Split", 13, func(t *tracer, n *node) []value { return splitNode(t, n, t.optionalInts(n, 1)) })
}

func sliceNode(t *tracer, n *node, starts, ends, axes, steps []int) []value {
	x := n.input(0)
	if axes == nil {
		axes = span(0, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || steps != nil && len(steps) != len(starts) {
		t.fail("%d starts, %d ends, %d axes, %d steps, want as many of each", len(starts), len(ends), len(axes), len(steps))
	}
	axes = t.axes(axes, x.rank())
	start, size, step := whole(x.shape())
	for i, a := range axes {
		by := 1
		if steps != nil {
			by = steps[i]
		}
		if by == 0 {
			t.fail("step of axis %d is 0", a)
		}
		start[a], size[a] = clampRange(x.shape()[a], starts[i], ends[i], by)
		if step[a] = by; size[a] < 2 {
			step[a] = 1 // one element: the step is irrelevant, and may exceed the dimension
		}
	}
	return []value{t.slice(x, start, size, step)}
}

// whole returns the start, size and step of a slice that contains all of s.
func whole(s shape.Shape) (start, size, step []int) {
	start, size, step = make([]int, len(s)), s.Clone(), make([]int, len(s))
	for i := range step {
		step[i] = 1
	}
	return start, size, step
}

// clampRange returns the first index and the number of elements of the range [start, end) by step over d elements, by the rules
// of Slice. They are the rules of Python, except that a start before the first element is the first element for a negative step too. start
// and end may be any int, and step any int except 0.
func clampRange(d, start, end, step int) (first, count int) {
	low, high := 0, d
	if step < 0 {
		low, high = -1, d-1
	}
	bring := func(i, low int) int {
		if i < 0 {
			i += d
		}
		return min(max(i, low), high)
	}
	first, last := bring(start, 0), bring(end, low)
	span := last - first
	if step < 0 {
		span = -span
	}
	if span <= 0 {
		return 0, 0
	}
	by := uint(step)
	if step < 0 {
		by = -by // also correct for the least int
	}
	return first, int((uint(span)-1)/by) + 1
}

// splitNode splits x into one part per output of the node. The parts have the given sizes, or equal sizes with a smaller last part.
func splitNode(t *tracer, n *node, sizes []int) []value {
	t.need(n, 0)
	x, parts := n.input(0), len(n.pb.Outputs)
	axis := t.axis(n.int("axis", 0), x.rank())
	d := x.shape()[axis]
	if sizes == nil {
		if n.has("num_outputs") {
			if c := n.int("num_outputs", 0); c != parts {
				t.fail("num_outputs is %d for %d outputs", c, parts)
			}
		} else if d%parts != 0 {
			t.fail("%d elements in %d equal parts", d, parts)
		}
		sizes = evenly(d, (d+parts-1)/parts, parts)
	}
	if len(sizes) < len(n.pb.Outputs) {
		t.fail("%d sizes for %d outputs", len(sizes), len(n.pb.Outputs))
	}
	return cut(t, x, axis, sizes)
}

// evenly splits d elements into a number of parts and returns their sizes: each, as long as enough elements are left, then the rest and 0.
func evenly(d, each, parts int) []int {
	sizes := make([]int, parts)
	for i := range sizes {
		sizes[i] = max(0, min(each, d-i*each))
	}
	return sizes
}

func cut(t *tracer, x value, axis int, sizes []int) []value {
	total, out := 0, make([]value, len(sizes))
	for i, s := range sizes {
		if s < 0 || total+s > x.shape()[axis] {
			t.fail("parts of %v from %d elements", sizes, x.shape()[axis])
		}
		out[i] = t.narrow(x, axis, total, s)
		total += s
	}
	if total != x.shape()[axis] {
		t.fail("parts of %v from %d elements", sizes, x.shape()[axis])
	}
	return out
}
