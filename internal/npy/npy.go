// Package npy reads and writes NumPy's .npy files, with one array of numbers or booleans each, for the burn command and the tools that
// measure PyTorch. It must not create tensors.
package npy

import (
	"fmt"
	"math"
)

// Array is an array in memory.
type Array struct {
	DType string // "f16", "f32", "f64", "i8" to "i64", "u8" to "u64", "bool"
	Shape []int  // empty for a single value
	Data  []byte // little endian, row major; booleans are 0 or 1
}

// dtypes relates the names of element types to NumPy's kind character and size in bytes.
var dtypes = []struct {
	name string
	kind byte
	size int
}{
	{"bool", 'b', 1},
	{"u8", 'u', 1}, {"u16", 'u', 2}, {"u32", 'u', 4}, {"u64", 'u', 8},
	{"i8", 'i', 1}, {"i16", 'i', 2}, {"i32", 'i', 4}, {"i64", 'i', 8},
	{"f16", 'f', 2}, {"f32", 'f', 4}, {"f64", 'f', 8},
}

const (
	magic = "\x93NUMPY"
	// maxRank is the limit of NumPy.
	maxRank = 64
	// maxHeader is the greatest size of a header in bytes; NumPy writes at most a few hundred bytes for plain arrays.
	maxHeader = 64 << 10
)

// byteSize returns the size of an array in bytes. It refuses negative dimensions and sizes beyond int64.
func byteSize(shape []int, size int) (int64, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("shape has rank %d, want at most %d", len(shape), maxRank)
	}
	n, zero, overflow := int64(size), false, false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		case d == 0:
			zero = true
		case n > math.MaxInt64/int64(d):
			overflow = true
		default:
			n *= int64(d)
		}
	}
	if zero {
		return 0, nil
	}
	if overflow {
		return 0, fmt.Errorf("shape %v overflows", shape)
	}
	return n, nil
}
