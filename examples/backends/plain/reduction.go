package main

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// wide lists the types in which sums and products are accumulated.
type wide interface{ float64 | int64 }

func reductions[T element, A wide]() table {
	lo, hi := limits[T]()
	return table{
		op.Sum: reduction(0, sum[T, A]), op.CumSum: scan(0, sum[T, A]),
		op.Prod: reduction(1, product[T, A]), op.CumProd: scan(1, product[T, A]),
		op.ReduceMax: reduction(lo, greater[T]), op.CumMax: scan(lo, greater[T]),
		op.ReduceMin: reduction(hi, lesser[T]), op.CumMin: scan(hi, lesser[T]),
		op.ArgMax: arg(func(a, b T) bool { return a > b }), op.ArgMin: arg(func(a, b T) bool { return a < b }),
		op.Sort: sort[T],
	}
}

func sum[T element, A wide](s A, v T) A     { return s + A(v) }
func product[T element, A wide](p A, v T) A { return p * A(v) }
func greater[T element](a, b T) T           { return max(a, b) } // of floats: NaN if one is NaN, and +0 above -0
func lesser[T element](a, b T) T            { return min(a, b) }

// fold combines each run of n elements of x, beginning with start.
func fold[T element, A element | wide](x []T, n, runs int, start A, f func(A, T) A) []T {
	y := make([]T, runs)
	for i := range y {
		state := start
		for _, v := range x[i*n:][:n] {
			state = f(state, v)
		}
		y[i] = T(state)
	}
	return y
}

func reduction[T element, A element | wide](start A, f func(A, T) A) func(c *call) error {
	return func(c *call) error {
		axes, s := c.Node.Attrs.Ints("axes"), c.Descs[0].Shape
		order := slices.DeleteFunc(span(0, len(s)), func(axis int) bool { return slices.Contains(axes, axis) })
		x, n := flat[T](array{c.In[0].elements, c.In[0].view.Permute(append(order, axes...))}), 1
		for _, axis := range axes {
			n *= s[axis]
		}
		return set(c, 0, fold(x, n, c.Node.Outputs[0].Shape.Size(), start, f))
	}
}

// arg returns a kernel that finds the position of the first NaN or, if there is none, of the first of the best elements.
func arg[T element](better func(a, b T) bool) func(c *call) error {
	return func(c *call) error {
		axis := c.Node.Attrs.Int("axis")
		x, _ := lines[T](c.In[0], axis)
		y, n := make([]int64, c.Node.Outputs[0].Shape.Size()), c.Descs[0].Shape[axis]
		for i := range y {
			top := x[i*n]
			for k, v := range x[i*n:][:n] {
				if better(v, top) || v != v && top == top {
					top, y[i] = v, int64(k)
				}
			}
		}
		return set(c, 0, y)
	}
}

func scan[T element, A element | wide](start A, f func(A, T) A) func(c *call) error {
	return func(c *call) error {
		x, axis, exclusive := c.In[0], c.Node.Attrs.Int("axis"), c.Node.Attrs.Bool("exclusive")
		reversed := []int{}
		if c.Node.Attrs.Bool("reverse") {
			reversed = append(reversed, axis)
		}
		from, back := lines[T](array{x.elements, x.view.Flip(reversed)}, axis)
		y, n := make([]T, len(from)), x.view.Shape[axis]
		for base := 0; base < len(from); base += n {
			state := start
			for i := base; i < base+n; i++ {
				next := f(state, from[i])
				if y[i] = T(next); exclusive {
					y[i] = T(state)
				}
				state = next
			}
		}
		c.Out[0] = array{y, back.Flip(reversed)}
		return nil
	}
}

// compare orders elements: NaN is the greatest, and -0 equals +0.
func compare[T element](a, b T) int {
	switch {
	case a < b || a == a && b != b:
		return -1
	case a > b || a != a && b == b:
		return 1
	}
	return 0
}

func sort[T element](c *call) error {
	axis, sign := c.Node.Attrs.Int("axis"), 1
	if c.Node.Attrs.Bool("descending") {
		sign = -1
	}
	x, back := lines[T](c.In[0], axis)
	y, at := make([]T, 0, len(x)), make([]int64, 0, len(x))
	for line := range slices.Chunk(x, max(1, c.Descs[0].Shape[axis])) {
		from := len(at)
		for k := range line {
			at = append(at, int64(k))
		}
		slices.SortStableFunc(at[from:], func(i, k int64) int { return sign * compare(line[i], line[k]) })
		for _, k := range at[from:] {
			y = append(y, line[k])
		}
	}
	c.Out[0], c.Out[1] = array{y, back}, array{at, back}
	return nil
}
