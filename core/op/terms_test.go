package op

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// termCounts has an entry for each op whose tolerance is per term, unless the op is elementwise, and no other entries.
func TestTermsComplete(t *testing.T) {
	for _, c := range All() {
		row := Lookup(c)
		_, counted := termCounts[c]
		if counted {
			require.True(t, row.Tolerance.PerTerm, "%v counts terms", c)
		} else if row.Tolerance.PerTerm {
			require.True(t, row.Traits.Has(Elementwise), "%v does not count its terms", c)
		}
	}
}

func TestTerms(t *testing.T) {
	d := func(dims ...int) Desc { return DescOf(dtype.F32, dims...) }
	for _, c := range []struct {
		want  int
		op    Code
		in    []Desc
		attrs []Attr
	}{
		{2, Add, []Desc{d(3), d(3)}, nil},
		{5, MatMul, []Desc{d(3, 5), d(5, 7)}, nil},
		{5, MatMul, []Desc{d(5, 3), d(5, 7)}, []Attr{Flag("transpose_a", true)}},
		{12, Sum, []Desc{d(3, 5, 4)}, []Attr{Ints("axes", 0, 2)}},
		{20, Einsum, []Desc{d(3, 5, 4), d(5, 4, 2)}, []Attr{Str("equation", "abc,bcd->ad")}},
		{1, Einsum, []Desc{d(3), d(2)}, []Attr{Str("equation", "a,b->ab")}},
		{18, Conv, []Desc{d(1, 2, 8, 8), d(4, 2, 3, 3)}, []Attr{Ints("strides", 1, 1), Ints("pad_lo", 0, 0), Ints("pad_hi", 0, 0), Ints("kernel_dilation", 1, 1), Ints("input_dilation", 1, 1), Int("groups", 1)}},
	} {
		n, err := New(c.op, c.in, c.attrs...)
		require.NoError(t, err)
		require.Equal(t, c.want, Terms(&n, c.in), "%v %v", c.op, c.in)
	}
}
