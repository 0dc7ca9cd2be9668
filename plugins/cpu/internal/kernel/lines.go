package kernel

import (
	"slices"

	"github.com/goburn/burn/core/shape"
)

// Lines divides a tensor into Count lines of N elements. A line contains the elements along some of the axes.
type Lines struct {
	Count, N int
	axes     []int // permutation that moves the axes of the lines to the end
	moved    bool
}

// LinesOf divides a tensor of shape s into lines along axes.
func LinesOf(s shape.Shape, axes ...int) *Lines {
	l := &Lines{Count: 1, N: 1}
	for i, d := range s {
		if !slices.Contains(axes, i) {
			l.axes = append(l.axes, i)
			l.Count *= d
		}
	}
	for i, d := range s {
		if slices.Contains(axes, i) {
			l.axes = append(l.axes, i)
			l.N *= d
		}
	}
	l.moved = !slices.IsSorted(l.axes)
	return l
}

// Input returns the lines of a, line i at [i*N, (i+1)*N). It copies a unless its lines are stored in this order.
func Input[T any](c *Call, l *Lines, a Array) []T {
	if l.moved {
		a.View = a.View.Permute(l.axes)
	}
	return Flat[T](c.Contiguous(a))
}

// Output returns memory for the lines of output i and a function that stores them in the output. The caller must call the function when the
// lines are complete. Output i must have the shape that was divided. The memory may be that of input number reuse; -1 allows none. An input
// whose lines were copied is not reused.
func Output[T any](c *Call, l *Lines, i, reuse int) ([]T, func()) {
	if !l.moved {
		if reuse >= 0 {
			return Flat[T](c.Reuse(i, reuse)), func() {}
		}
		return Flat[T](c.Alloc(i)), func() {}
	}
	out := c.Alloc(i)
	view := out
	view.View = out.View.Permute(l.axes)
	tmp := c.Temp(out.DType, view.View.Shape)
	return Flat[T](tmp), func() { Copy(c.Pool, view, tmp) }
}
