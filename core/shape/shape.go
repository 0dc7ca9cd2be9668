// Package shape implements the arithmetic of tensor shapes: sizes, broadcasting, strides and views. All packages that handle tensors use
// it. Its functions are pure and safe for concurrent use; they must not access the elements of tensors.
package shape

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxRank is the greatest number of dimensions the contract allows.
const MaxRank = 8

// Err is wrapped by every error of this package; core.ErrShape is the same value.
var Err = errors.New("shape error")

// Shape lists the length of each dimension, outermost first. A nil or empty Shape is a scalar (rank 0, one element). A dimension of length
// zero is legal and makes the tensor empty.
type Shape []int

// Of returns a shape.
func Of(dims ...int) Shape { return Shape(dims) }

// Rank returns the number of dimensions.
func (s Shape) Rank() int { return len(s) }

// Size returns the number of elements. It is only meaningful for a shape that Check accepts.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Check returns an error for a rank above MaxRank, a negative dimension, or so many elements that their size in bytes overflows int.
func (s Shape) Check() error {
	if len(s) > MaxRank {
		return fmt.Errorf("%w: rank %d of %v, want at most %d", Err, len(s), s, MaxRank)
	}
	n, many := 1, false
	for i, d := range s {
		if d < 0 {
			return fmt.Errorf("%w: dimension %d of %v is negative", Err, i, s)
		}
		if many = many || d > 0 && n > math.MaxInt/16/d; !many {
			n *= max(1, d)
		}
	}
	if many && !slices.Contains(s, 0) {
		return fmt.Errorf("%w: %v has too many elements", Err, s)
	}
	return nil
}

// Equal reports whether s and t have the same rank and dimensions.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy that shares no memory with s.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// String prints the dimensions: "[2,3]", "[]" for a scalar.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteByte(']')
	return b.String()
}

// Strides returns the row-major strides of s in elements.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// Axis converts an axis, which may be negative to count from the end, to [0, rank).
func Axis(axis, rank int) (int, error) {
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return 0, fmt.Errorf("%w: axis %d, want one in [%d,%d)", Err, axis, -rank, rank)
	}
	return a, nil
}

// Broadcast returns the common shape of all arguments by the rule of NumPy: dimensions are aligned at the innermost end, and
// a dimension of length 1 stretches to any other length, zero included.
func Broadcast(shapes ...Shape) (Shape, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make(Shape, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		off := rank - len(s)
		for i, d := range s {
			switch o := out[off+i]; {
			case d == o || d == 1:
			case o == 1:
				out[off+i] = d
			default:
				return nil, fmt.Errorf("%w: cannot broadcast %s: dimension %d is %d and %d", Err, join(shapes), off+i, o, d)
			}
		}
	}
	return out, nil
}

func join(shapes []Shape) string {
	parts := make([]string, len(shapes))
	for i, s := range shapes {
		parts[i] = s.String()
	}
	return strings.Join(parts, " with ")
}

// CanExpand returns an error unless s broadcasts exactly to the shape to.
func CanExpand(s, to Shape) error {
	b, err := Broadcast(s, to)
	if err != nil || !b.Equal(to) {
		return fmt.Errorf("%w: cannot expand %v to %v", Err, s, to)
	}
	return nil
}
