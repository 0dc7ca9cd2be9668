package main

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// element lists the Go types of elements. bool is stored as uint8, 0 or 1.
type element interface {
	float32 | int32 | int64 | uint8
}

// array is the value of a tensor: a slice of elements of some type, viewed through a shape and strides. Elements do not change
// after the kernel that created them, so that arrays may share them.
type array struct {
	elements any
	view     shape.View
}

// dense returns an array of data in row-major order.
func dense[T element](data []T, s shape.Shape) array { return array{data, shape.Contiguous(s)} }

// set sets result i of a call to data, in row-major order.
func set[T element](c *call, i int, data []T) error {
	c.Out[i] = dense(data, c.Node.Outputs[i].Shape)
	return nil
}

// offsets calls f with the offset of each element of v, in row-major order.
func offsets(v shape.View, f func(at int)) {
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == len(v.Shape) {
			f(at)
			return
		}
		for i := range v.Shape[axis] {
			walk(axis+1, at+i*v.Strides[axis])
		}
	}
	walk(0, v.Offset)
}

// flat returns the elements of a in row-major order: the slice of a itself, which must not be changed, or a copy.
func flat[T element](a array) []T {
	data, n := a.elements.([]T), a.view.Shape.Size()
	if n == 0 {
		return nil
	}
	if a.view.IsContiguous() {
		return data[a.view.Offset:][:n]
	}
	out := make([]T, 0, n)
	offsets(a.view, func(at int) { out = append(out, data[at]) })
	return out
}

// lines returns the elements of a with an axis moved to the end, and a view of them with the axis in its original position.
func lines[T element](a array, axis int) (data []T, back shape.View) {
	rank := len(a.view.Shape)
	moved := a.view.Permute(append(slices.Delete(span(0, rank), axis, axis+1), axis))
	return flat[T](array{a.elements, moved}), shape.Contiguous(moved.Shape).Permute(slices.Insert(span(0, rank-1), axis, rank-1))
}

// span returns n consecutive numbers from first.
func span(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	return out
}

// formats converts arrays from and to the format of core.Stream.Write.
var formats = map[dtype.DType]struct {
	upload   func(d op.Desc, data []byte) array
	download func(a array) []byte
}{
	dtype.F32: {upload[float32], download[float32]}, dtype.I32: {upload[int32], download[int32]},
	dtype.I64: {upload[int64], download[int64]}, dtype.U8: {upload[uint8], download[uint8]},
	dtype.Bool: {func(d op.Desc, data []byte) array {
		return dense(apply(data, func(v uint8) uint8 { return truth(v != 0) }), d.Shape)
	}, download[uint8]},
}

func upload[T element](d op.Desc, data []byte) array {
	elements := make([]T, d.Shape.Size())
	copy(dtype.Bytes(elements), data)
	return dense(elements, d.Shape)
}

func download[T element](a array) []byte { return dtype.Bytes(flat[T](a)) }

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
