package gradient_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

// Every op of the table has a gradient, or How returns the reason why not.
func TestComplete(t *testing.T) {
	for _, c := range op.All() {
		if op.Lookup(c).Class == op.Custom {
			continue
		}
		how, reason := gradient.How(c)
		if how == "none" {
			assert.NotContains(t, reason, "has no rule", "%v", c)
		}
	}
}

// The nodes of a rule read only what Reads declares, whichever operands need a gradient, and compute gradients of the types of the
// operands. The test covers ops on matrices that need no attributes; package conformance compares the values of all ops with finite
// differences.
func TestRulesReadWhatTheySay(t *testing.T) {
	tried := 0
	for _, c := range gradient.Ops() {
		row := op.Lookup(c)
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
			last := op.TensorID(0)
			next := func() op.TensorID { last++; return last }
			in := make([]op.Desc, len(row.Operands))
			for i := range in {
				in[i] = op.Desc{ID: next(), DType: d, Shape: []int{4, 4}}
			}
			n, err := op.New(c, in)
			if err != nil {
				continue
			}
			tried++
			for i := range n.Outputs {
				n.Outputs[i].ID = next()
			}
			for mask := 1; mask < 1<<len(in); mask++ {
				check(t, &n, in, mask, next)
			}
		}
	}
	require.Greater(t, tried, 80, "ops times types")
}

// check records the gradient of a node of which the operands in mask need one, and checks what its nodes read and return.
func check(t *testing.T, n *op.Node, in []op.Desc, mask int, next func() op.TensorID) {
	r, ok := gradient.Of(n.Op)
	require.True(t, ok)
	require.True(t, r.Exists())
	x := gradient.Node{Attrs: n.Attrs, X: in, Y: n.Outputs, Has: map[op.TensorID]bool{}}
	for i := range in {
		x.Need = append(x.Need, mask>>i&1 != 0)
	}
	for _, y := range n.Outputs {
		if y.ID = next(); y.DType.IsFloat() {
			x.Has[y.ID] = true
		} else {
			y = op.Desc{}
		}
		x.DY = append(x.DY, y)
	}
	ins, outs := r.Reads(x.Need)
	for i, d := range in {
		x.Has[d.ID] = ins>>i&1 != 0
	}
	for i, d := range n.Outputs {
		x.Has[d.ID] = outs>>i&1 != 0
	}
	b := op.NewBuilder(next)
	grads := r.Record(b, x)
	require.NoError(t, b.Err(), "%v", n.Op)
	there := x.Has
	for _, m := range b.Nodes {
		for _, id := range m.Inputs {
			require.True(t, there[id], "%v of operands %b: %v reads %v", n.Op, mask, m.Op, id)
		}
		for _, d := range m.Outputs {
			there[d.ID] = true
		}
	}
	for i, g := range grads {
		if x.Need[i] && g.ID != 0 {
			require.True(t, g.SameType(in[i]), "%v: operand %d is %v, its gradient %v", n.Op, i, in[i], g)
			require.True(t, there[g.ID], "%v: the gradient of operand %d", n.Op, i)
		}
	}
}

// A custom op has the gradient that is registered for it, once; ops of the table keep theirs.
func TestRegister(t *testing.T) {
	same := func(in []op.Desc, _ op.Attrs) ([]op.Desc, error) { return in[:1], nil }
	c := op.Register(op.Row{Name: "test.gradient", Version: 1, Doc: "x", Operands: []op.Operand{{Name: "x", Types: dtype.Floats}}, Results: []string{"y"},
		Infer: same}, nil)
	how, reason := gradient.How(c)
	require.Equal(t, "none", how)
	require.Contains(t, reason, "has no rule")
	rule := func(_ *op.Builder, _ op.Attrs, _, _, dy []op.Desc) []op.Desc { return dy }
	gradient.Register(c, rule)
	how, _ = gradient.How(c)
	require.Equal(t, "rule", how)
	require.Panics(t, func() { gradient.Register(c, rule) })
	require.Panics(t, func() { gradient.Register(op.Neg, rule) })
	r, ok := gradient.Of(c)
	require.True(t, ok)
	dy := op.Desc{ID: 7, DType: dtype.F32, Shape: []int{2}}
	require.Equal(t, []op.Desc{dy}, r.Record(op.NewBuilder(func() op.TensorID { return 8 }), gradient.Node{X: []op.Desc{dy}, DY: []op.Desc{dy}}))
}
