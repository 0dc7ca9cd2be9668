package data

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Stack returns one tensor [len(items), dims...] of the elements that elements returns for each item, in row-major order. All elements are
// written in one transfer. Without dims the items are vectors of equal length. If an item has another size, the error wraps core.ErrShape.
func Stack[T any, E dtype.Native](dev *tensor.Device, items []T, elements func(T) []E, dims ...int) (*tensor.Tensor, error) {
	flat, size, err := gather(items, elements, dims, func(dst, src []E) { copy(dst, src) })
	if err != nil {
		return nil, err
	}
	return made(dev, flat, shaped(len(items), size, dims))
}

// StackBytes is like Stack for bytes, which it converts to float32: in channel c to byte·scale[c] + shift[c]. An item consists of
// len(scale) channels of equal size, one after another; len(shift) must be the same. A single scale applies to all elements. Pixels
// in [0, 1] need scale 1/255 and shift 0; pixels p/255 that are then normalised by mean and std need scale 1/(255·std) and shift
// -mean/std.
func StackBytes[T any](dev *tensor.Device, items []T, elements func(T) []byte, scale, shift []float32, dims ...int) (*tensor.Tensor, error) {
	channels := len(scale)
	if channels == 0 || len(shift) != channels {
		return nil, fmt.Errorf("stack: %d scales and %d shifts, want equally many and at least one", channels, len(shift))
	}
	tables := make([][256]float32, channels)
	for c := range tables {
		for v := range tables[c] {
			tables[c][v] = float32(v)*scale[c] + shift[c]
		}
	}
	flat, size, err := gather(items, elements, dims, func(dst []float32, src []byte) {
		plane := len(src) / channels
		for c := range tables {
			table, out := &tables[c], dst[c*plane:]
			for i, v := range src[c*plane : (c+1)*plane] {
				out[i] = table[v]
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if size%channels != 0 {
		return nil, fmt.Errorf("stack: items of %d bytes, want a multiple of the %d channels: %w", size, channels, core.ErrShape)
	}
	return made(dev, flat, shaped(len(items), size, dims))
}

// Scalars returns a tensor [len(items)] of one number per item, such as labels.
func Scalars[T any, E dtype.Native](dev *tensor.Device, items []T, number func(T) E) (*tensor.Tensor, error) {
	flat := make([]E, len(items))
	for i, item := range items {
		flat[i] = number(item)
	}
	return made(dev, flat, []int{len(flat)})
}

func shaped(n, size int, dims []int) []int {
	if dims == nil {
		dims = []int{size}
	}
	return append([]int{n}, dims...)
}

// gather concatenates the elements of all items; put converts the elements of one item. size is the number of elements of an item.
func gather[T, S, D any](items []T, elements func(T) []S, dims []int, put func([]D, []S)) (flat []D, size int, err error) {
	size = 1
	for _, d := range dims {
		size *= d
	}
	if dims == nil {
		size = 0
	}
	for i, item := range items {
		e := elements(item)
		if i == 0 {
			if dims == nil {
				size = len(e)
			}
			flat = make([]D, len(items)*size)
		}
		if len(e) != size {
			return nil, 0, fmt.Errorf("stack: item %d of the batch has %d elements, want %d of shape %v; bring all items to one size first: %w", i, len(e), size, shaped(len(items), size, dims)[1:], core.ErrShape)
		}
		put(flat[i*size:(i+1)*size], e)
	}
	return flat, size, nil
}

// made is like tensor.From, but returns an error instead of a panic for an invalid shape.
func made[E dtype.Native](dev *tensor.Device, flat []E, dims []int) (t *tensor.Tensor, err error) {
	err = tensor.Try(func() { t = tensor.From(dev, flat, dims...) })
	return t, err
}
