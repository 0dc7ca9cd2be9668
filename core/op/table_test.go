package op

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

func TestRowsAreComplete(t *testing.T) {
	for _, c := range All() {
		r := Lookup(c)
		t.Run(r.Name, func(t *testing.T) {
			require.NotEmpty(t, r.Doc)
			require.NotEmpty(t, r.Section)
			require.NotEmpty(t, r.Results)
			require.NotNil(t, r.Infer)
			require.NotZero(t, r.Version)
			back, ok := ByName(r.Name)
			require.True(t, ok)
			require.Equal(t, c, back)
			for i, o := range r.Operands {
				require.NotZero(t, o.Types)
				require.LessOrEqual(t, o.SameAs, i)
				require.False(t, o.Variadic && i != len(r.Operands)-1)
			}
			for i, k := range r.Constraints {
				require.Equal(t, "C"+string(rune('1'+i)), k.ID)
				require.NotEmpty(t, k.Text)
			}
			require.Equal(t, r.Class == Composite, HasDecomposition(c), "composites have a decomposition, primitives none")
		})
	}
}

func TestCustomOp(t *testing.T) {
	row := Row{Name: "test.twice", Version: 1, Doc: "2x", Operands: []Operand{in("x", dtype.Floats)}, Results: result, Infer: inferSame}
	c := Register(row, elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Add, x[0], x[0]) }))
	require.Panics(t, func() { Register(row, nil) })
	x := DescOf(dtype.F32, 3)
	x.ID = 1
	n, err := New(c, []Desc{x})
	require.NoError(t, err)
	n.Outputs[0].ID = 2
	next := TensorID(2)
	nodes, ok, err := Decompose(&n, []Desc{x}, func() TensorID { next++; return next })
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "t2 f32[3] = add(t1, t1)", nodes[0].String())
}
