package elementwise

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/shape"
)

func TestSpreadOver(t *testing.T) {
	view := func(dims, strides []int) shape.View { return shape.View{Shape: dims, Strides: strides, Offset: 3} }
	for _, c := range []struct {
		name       string
		s          shape.Shape
		v          shape.View
		mid, inner int
		ok         bool
	}{
		{"row", shape.Of(4, 8), view([]int{8}, []int{1}), 8, 1, true},
		{"column", shape.Of(4, 8), view([]int{4, 1}, []int{1, 1}), 4, 8, true},
		{"column by stride", shape.Of(4, 8), view([]int{4, 8}, []int{1, 0}), 4, 8, true},
		{"channel", shape.Of(2, 4, 3, 5), view([]int{4, 1, 1}, []int{1, 1, 1}), 4, 15, true},
		{"tail", shape.Of(2, 3, 4, 5), view([]int{1, 4, 5}, []int{9, 5, 1}), 20, 1, true},
		{"all", shape.Of(2, 3), view([]int{2, 3}, []int{3, 1}), 6, 1, true},
		{"one element", shape.Of(2, 3), view(nil, nil), 1, 6, true},
		{"ones between", shape.Of(2, 1, 3), view([]int{2, 1, 1}, []int{1, 7, 7}), 2, 3, true},
		{"transposed", shape.Of(3, 2), view([]int{3, 2}, []int{1, 3}), 0, 0, false},
		{"gaps", shape.Of(4, 8), view([]int{4, 1}, []int{2, 1}), 0, 0, false},
		{"two parts", shape.Of(2, 3, 4), view([]int{2, 1, 4}, []int{4, 4, 1}), 0, 0, false},
		{"backwards", shape.Of(4, 8), view([]int{8}, []int{-1}), 0, 0, false},
	} {
		r, ok := spreadOver(c.s, &c.v)
		require.Equal(t, c.ok, ok, c.name)
		if ok {
			require.Equal(t, spread{c.mid, c.inner}, r, c.name)
		}
	}
}
