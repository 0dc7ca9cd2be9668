package op

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// Nodes that differ in anything but ids and Drop have different keys.
func TestAppendKey(t *testing.T) {
	plain := func() (*Node, []Desc) {
		in := []Desc{DescOf(dtype.F32, 2, 3), DescOf(dtype.F32, 2, 3)}
		return &Node{Op: Concat, Version: 1, Inputs: []TensorID{1, 2}, Outputs: []Desc{DescOf(dtype.F32, 4, 3)},
			Attrs: Attrs{Int("axis", 0), Ints("list", 1, 2), Floats("numbers", 1), Str("mode", "a"), ScalarInt("value", 1)}}, in
	}
	change := map[string]func(n *Node, in []Desc) []Desc{
		"op":             func(n *Node, in []Desc) []Desc { n.Op = Add; return in },
		"version":        func(n *Node, in []Desc) []Desc { n.Version = 2; return in },
		"operand type":   func(_ *Node, in []Desc) []Desc { in[1].DType = dtype.I32; return in },
		"operand shape":  func(_ *Node, in []Desc) []Desc { in[1].Shape = []int{3, 2}; return in },
		"operand rank":   func(_ *Node, in []Desc) []Desc { in[1].Shape = []int{2, 3, 1}; return in },
		"operands":       func(_ *Node, in []Desc) []Desc { return in[:1] },
		"result type":    func(n *Node, in []Desc) []Desc { n.Outputs[0].DType = dtype.I32; return in },
		"results":        func(n *Node, in []Desc) []Desc { n.Outputs = append(n.Outputs, DescOf(dtype.F32)); return in },
		"integer":        func(n *Node, in []Desc) []Desc { n.Attrs[0] = Int("axis", 1); return in },
		"kind":           func(n *Node, in []Desc) []Desc { n.Attrs[0] = Flag("axis", false); return in },
		"name":           func(n *Node, in []Desc) []Desc { n.Attrs[0] = Int("axes", 0); return in },
		"list":           func(n *Node, in []Desc) []Desc { n.Attrs[1] = Ints("list", 12); return in },
		"numbers":        func(n *Node, in []Desc) []Desc { n.Attrs[2] = Floats("numbers", 2); return in },
		"string":         func(n *Node, in []Desc) []Desc { n.Attrs[3] = Str("mode", "b"); return in },
		"float scalar":   func(n *Node, in []Desc) []Desc { n.Attrs[4] = ScalarFloat("value", 1); return in },
		"attribute more": func(n *Node, in []Desc) []Desc { n.Attrs = append(n.Attrs, Int("x", 0)); return in },
	}
	n, in := plain()
	seen := map[string]string{string(AppendKey(nil, n, in)): "plain"}
	for name, f := range change {
		n, in := plain()
		in = f(n, in)
		key := string(AppendKey(nil, n, in))
		require.NotContains(t, seen, key, "%s and %s", name, seen[key])
		seen[key] = name
	}
	n.Inputs, n.Outputs[0].ID, n.Drop, in[0].ID = []TensorID{8, 8}, 9, 3, 4
	require.Equal(t, "plain", seen[string(AppendKey(nil, n, in))])
}
