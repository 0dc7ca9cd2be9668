package main

import (
	"slices"

	"github.com/goburn/burn/core/shape"
)

// dots returns the dot products of the rows of a, of length k, with the rows of b: for [batch, m, k] and [batch, n, k] the result is
// [batch, m, n].
func dots[T element, A wide](a, b []T, batches, m, n, k int) []T {
	y := make([]T, 0, batches*m*n)
	for batch := range batches {
		for i := range m {
			row := a[(batch*m+i)*k:][:k]
			for j := range n {
				column, sum := b[(batch*n+j)*k:][:k], A(0)
				for l, v := range row {
					sum += A(v) * A(column[l])
				}
				y = append(y, T(sum))
			}
		}
	}
	return y
}

// matrices returns the elements of an operand as [batch, rows, columns], transposed if transpose is set, with the batch
// dimensions of the result.
func matrices[T element](a array, batch shape.Shape, transpose bool) (data []T, rows, columns int) {
	v, rank := a.view, len(a.view.Shape)
	if transpose {
		v = v.Permute(append(span(0, rank-2), rank-1, rank-2))
	}
	rows, columns = v.Shape[rank-2], v.Shape[rank-1]
	return flat[T](array{a.elements, v.Expand(append(slices.Clone(batch), rows, columns))}), rows, columns
}

func matmul[T element, A wide](c *call) error {
	s := c.Node.Outputs[0].Shape
	batch := s[:len(s)-2]
	a, m, k := matrices[T](c.In[0], batch, c.Node.Attrs.Bool("transpose_a"))
	b, n, _ := matrices[T](c.In[1], batch, !c.Node.Attrs.Bool("transpose_b"))
	return set(c, 0, dots[T, A](a, b, batch.Size(), m, n, k))
}

// windows returns a view of x whose last dimensions are replaced by the dimensions of the window positions, followed by the dimensions of a
// window: [..., positions..., window...].
func windows(x array, positions, window shape.Shape, strides, dilation []int) array {
	v, n := x.view, len(window)
	lead := len(v.Shape) - n
	w := shape.View{Shape: slices.Concat(v.Shape[:lead], positions, window), Strides: slices.Clone(v.Strides[:lead]), Offset: v.Offset}
	for i := range n {
		w.Strides = append(w.Strides, v.Strides[lead+i]*strides[i])
	}
	for i := range n {
		w.Strides = append(w.Strides, v.Strides[lead+i]*dilation[i])
	}
	return array{x.elements, w}
}

// spread returns x with dilation-1 elements of value between its elements along the last dimensions, then padded with value.
func spread[T element](x array, dilation, lo, hi []int, value T) array {
	s, lead := x.view.Shape.Clone(), len(x.view.Shape)-len(lo)
	for i := range lo {
		s[lead+i] = max(0, (s[lead+i]-1)*dilation[i]+1) + lo[i] + hi[i]
	}
	y := dense(slices.Repeat([]T{value}, s.Size()), s)
	place[T](y, x, append(make([]int, lead), lo...), append(slices.Repeat([]int{1}, lead), dilation...))
	return y
}

// conv computes a product of matrices for each group: the windows of x are the rows, and the kernels are the columns.
func conv[T element, A wide](c *call) error {
	a, x, w, y := c.Node.Attrs, c.Descs[0].Shape, c.Descs[1].Shape, c.Node.Outputs[0].Shape
	images, groups, n := x[0], a.Int("groups"), len(x)-2
	channels, outs, positions, kernel := x[1]/groups, w[0]/groups, y[2:], w[2:]
	padded := spread[T](c.In[0], a.Ints("input_dilation"), a.Ints("pad_lo"), a.Ints("pad_hi"), 0)
	cut := windows(padded, positions, kernel, a.Ints("strides"), a.Ints("kernel_dilation"))
	// [images, groups, channels, positions, kernel] becomes [groups, images, positions, channels, kernel].
	cut.view, _ = cut.view.Reshape(slices.Concat(shape.Of(images, groups, channels), positions, kernel))
	cut.view = cut.view.Permute(slices.Concat([]int{1, 0}, span(3, n), []int{2}, span(3+n, n)))
	z := dots[T, A](flat[T](cut), flat[T](c.In[1]), groups, images*positions.Size(), outs, w[1:].Size())
	// [groups, images, positions, outs] becomes [images, groups, outs, positions].
	product := dense(z, shape.Of(groups, images, positions.Size(), outs))
	product.view = product.view.Permute([]int{1, 0, 3, 2})
	return set(c, 0, flat[T](product))
}

// windowReduce reduces windows. The result of a window that contains only padding is the sum or the maximum of no elements.
func windowReduce[T element, A wide](c *call) error {
	a, s, y := c.Node.Attrs, c.Descs[0].Shape, c.Node.Outputs[0].Shape
	window := shape.Shape(a.Ints("window"))
	lead, size := len(y)-len(window), window.Size()
	least, _ := limits[T]()
	if a.Str("reduce") == "sum" {
		return set(c, 0, fold(windowsOf[T](c, c.In[0], 0), size, y.Size(), 0, sum[T, A]))
	}
	x := windowsOf(c, c.In[0], least)
	if err := set(c, 0, fold(x, size, y.Size(), least, greater[T])); err != nil || !a.Bool("indices") {
		return err
	}
	// The same windows over the indices of the elements; the index of padding is -1.
	numbers := dense(make([]int64, s[lead:].Size()), s[lead:])
	for i := range s[lead:].Size() {
		numbers.elements.([]int64)[i] = int64(i)
	}
	at := windowsOf[int64](c, array{numbers.elements, numbers.view.Expand(s)}, -1)
	indices := slices.Repeat([]int64{-1}, y.Size())
	for i := range indices {
		var top T
		for k, p := range at[i*size:][:size] {
			if v := x[i*size+k]; p >= 0 && (indices[i] < 0 || v > top || v != v && top == top) {
				top, indices[i] = v, p
			}
		}
	}
	return set(c, 1, indices)
}

// windowsOf returns the elements of each window of a window_reduce over x, one window after another.
func windowsOf[T element](c *call, x array, padding T) []T {
	a, ones := c.Node.Attrs, slices.Repeat([]int{1}, len(c.Node.Attrs.Ints("window")))
	padded := spread(x, ones, a.Ints("pad_lo"), a.Ints("pad_hi"), padding)
	y := c.Node.Outputs[0].Shape
	return flat[T](windows(padded, y[len(y)-len(ones):], a.Ints("window"), a.Ints("strides"), a.Ints("dilation")))
}
