package op

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// Flops counts two for each multiplication in the textbook's loops of products and attention, and nothing for other ops.
func TestFlops(t *testing.T) {
	f := func(dims ...int) Desc { return DescOf(dtype.F32, dims...) }
	for name, c := range map[string]struct {
		op    Code
		in    []Desc
		attrs []Attr
		want  int64
	}{
		"matmul":            {MatMul, []Desc{f(5, 2, 3), f(5, 3, 4)}, nil, 2 * 5 * 2 * 3 * 4},
		"matmul transposed": {MatMul, []Desc{f(3, 2), f(3, 4)}, []Attr{Flag("transpose_a", true)}, 2 * 2 * 3 * 4},
		"attention":         {Attention, []Desc{f(2, 4, 3, 8), f(2, 4, 5, 8), f(2, 4, 5, 6)}, nil, 2 * 2 * 4 * 3 * 5 * (8 + 6)},
		"attention gradient": {AttentionGradient, []Desc{f(2, 4, 3, 8), f(2, 4, 5, 8), f(2, 4, 5, 6), f(2, 4, 3, 6), f(2, 4, 3, 6)}, nil,
			2 * 2 * 4 * 3 * 5 * (8 + 6 + 8 + 8 + 6)},
		"add": {Add, []Desc{f(3), f(3)}, nil, 0},
	} {
		n, err := New(c.op, c.in, c.attrs...)
		require.NoError(t, err, name)
		require.Equal(t, c.want, Flops(&n, c.in), name)
	}
}
