package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// logits is the end of a language model: a product whose rows have an odd length, what reads it, and its two gradients.
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

// TestPaddedLines has products with lines of 13 elements read and write lines of 64. Results equal the reference, by the library and
// by own kernels where the library refuses.
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

// Products keep their own lines if they are small, or aligned.
func TestPaddedLinesWherePaying(t *testing.T) {
	l := &fakeLibrary{names: []string{"a"}}
	d, _ := openDevice(t, Options{padFrom: 1 << 20}, func(d *fakeDevice) { d.libraries = []Library{l} })
	against(t, d, logits(t).p)
	for _, p := range l.products {
		require.NotEqual(t, lineStep, p.D.Row)
	}
}
