package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// logits returns the end of a language model: a product with rows of 13 elements, the nodes that read it, and its two gradients.
func logits(t *testing.T) *maker {
	m := newMaker(t, "logits")
	x, w := m.input(2, 3, 12), m.input(13, 12)
	y := m.node(op.Linear, ids(x, w), op.Flag("transpose_w", true))
	g := m.node(op.Mul, ids(m.node(op.Exp, ids(y)), m.input(2, 3, 13)))
	sum := m.node(op.Sum, ids(y), op.Ints("axes", 2))
	rows := m.node(op.Reshape, ids(g), op.Ints("shape", 6, 13))
	dx := m.node(op.MatMul, ids(rows, w))
	dw := m.node(op.MatMul, ids(rows, m.node(op.Reshape, ids(x), op.Ints("shape", 6, 12))), op.Flag("transpose_a", true))
	z := m.node(op.Linear, ids(x, w, m.input(13)), op.Flag("transpose_w", true)) // its bias has 13 elements
	m.p.Outputs = ids(y, sum, dx, dw, z)
	return m
}

// TestPaddedLines checks that products read and write lines of 64 elements in place of 13, and that results equal the reference, whether
// the library computes them or kernels do because the library refuses.
func TestPaddedLines(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		l := &fakeLibrary{names: []string{"a"}}
		if refuses {
			l.refuse = func(string, []Ref) error { return core.ErrUnsupported }
		}
		d, _ := openDevice(t, Options{padFrom: 1}, func(d *fakeDevice) { d.libraries = []Library{l} })
		against(t, d, logits(t).p)
		var dims [][3]int
		for _, p := range l.products {
			dims = append(dims, [3]int{p.M, p.N, p.K})
			require.Zero(t, *p.A.line()%lineUnit, "%+v", p)
			require.Zero(t, *p.B.line()%lineUnit, "%+v", p)
			require.Equal(t, p.Bias == dtype.Invalid, *p.D.line()%lineUnit == 0, "%+v", p)
		}
		for _, want := range [][3]int{{6, 64, 64}, {6, 64, 64}, {13, 64, 64}, {6, 13, 64}} {
			require.Contains(t, dims, want)
		}
		require.Equal(t, refuses, l.calls["a"] == 0)
	}
}

// TestSmallProductsAreNotPadded checks that small products keep their own lines.
func TestSmallProductsAreNotPadded(t *testing.T) {
	l := &fakeLibrary{names: []string{"a"}}
	d, _ := openDevice(t, Options{padFrom: 1 << 20}, func(d *fakeDevice) { d.libraries = []Library{l} })
	against(t, d, logits(t).p)
	for _, p := range l.products {
		require.NotEqual(t, lineStep, p.D.Row)
	}
}

// TestPaddedFactors checks that a kernel writes the common factor of two large products directly with padded lines, unless another node
// reads the factor too or its columns need padding as well.
func TestPaddedFactors(t *testing.T) {
	steps := func(rows int, shared, refuses bool) int {
		l := &fakeLibrary{names: []string{"a"}}
		if refuses {
			l.refuse = func(string, []Ref) error { return core.ErrUnsupported }
		}
		d, _ := openDevice(t, Options{padFrom: 1}, func(d *fakeDevice) { d.libraries = []Library{l} })
		m := newMaker(t, "factor")
		x, w := m.input(rows, 16), m.input(13, 16)
		g := m.node(op.Tanh, ids(m.node(op.Mul, ids(m.input(rows, 13), m.input(rows, 13)))))
		lines := m.node(op.Reshape, ids(m.node(op.Reshape, ids(g), op.Ints("shape", 2, rows/2, 13))), op.Ints("shape", rows, 13))
		m.p.Outputs = ids(m.node(op.MatMul, ids(lines, w)), m.node(op.MatMul, ids(lines, x), op.Flag("transpose_a", true)))
		if shared {
			m.p.Outputs = append(m.p.Outputs, m.node(op.Sum, ids(g), op.Ints("axes", 1)))
		}
		against(t, d, m.p)
		for _, p := range l.products {
			require.Equal(t, lineStep, *p.A.line(), "%+v", p)
		}
		b, groups := d.planner(m.p, nil, true)
		require.NoError(t, b.groups(groups))
		return len(b.steps)
	}
	for _, refuses := range []bool{false, true} {
		const products, zeros, copyOfW = 2, 1, 1
		require.Equal(t, 1+zeros+copyOfW+products, steps(16, false, refuses))
		require.Equal(t, 1+1+copyOfW+products+1, steps(16, true, refuses), "one copy for both products, and a sum")
		require.Positive(t, steps(6, false, refuses))
	}
}
