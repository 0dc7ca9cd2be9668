package lower

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Rule returns the work of a single node. in and out are its operands and results; slots are the operands, the results and then
// temporaries.
type Rule func(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error)

// Group returns the work of group x of g. in are the places of x.Inputs, and out of x.Outputs; views have the shapes of the tensors and may
// have gaps where Strided allows it. Slots are the inputs, the outputs and then temporaries. Kernels do not read the memory of an input
// that is Immediate. For an op without lowering, the error wraps core.ErrUnsupported.
func Group(t template.Target, g *group.Graph, x *group.Group, in, out []template.Operand) (w ir.Work, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *ir.BuildError:
			w, err = ir.Work{}, fmt.Errorf("%v: %w", x, e)
		case failure:
			w, err = ir.Work{}, e.error
		default:
			panic(e)
		}
	}()
	f := newForm(t, g, x, in, out)
	switch {
	case x.Kind == group.Product || x.Kind == group.Convolution:
		return productGroup(t, g, x, in, out)
	case x.Kind == group.Elementwise || x.Kind == group.Single && elementwise(&g.Nodes[x.Anchor]):
		return f.elementwise()
	case x.Kind == group.Reduction || x.Kind == group.Norm || x.Kind == group.Single && reducers[g.Nodes[x.Anchor].Op] != nil:
		return f.rows()
	}
	n := &g.Nodes[x.Anchor]
	r := rules[n.Op]
	if r == nil {
		return ir.Work{}, unsupported(n, "has no kernel")
	}
	return single(t, n, r, x, in, out)
}

// single returns the work of a node by its rule. Slots of a rule number the operands, and slots of a group number distinct tensors. single
// converts the slots of the rule to slots of the group.
func single(t template.Target, n *op.Node, r Rule, x *group.Group, in, out []template.Operand) (ir.Work, error) {
	operands, slots := make([]template.Operand, len(n.Inputs)), make([]int, len(n.Inputs))
	for i, id := range n.Inputs {
		slots[i] = slices.Index(x.Inputs, id)
		operands[i] = in[slots[i]]
		operands[i].Slot, operands[i].Type = i, stored(operands[i].Type)
	}
	results := slices.Clone(out)
	for i := range results {
		results[i].Slot, results[i].Type = len(n.Inputs)+i, stored(results[i].Type)
	}
	w, err := r(t, n, operands, results)
	if err != nil || len(n.Inputs) == len(x.Inputs) {
		return w, err
	}
	for l := range w.Launches {
		for a := range w.Launches[l].Args {
			switch arg := &w.Launches[l].Args[a]; {
			case !w.Launches[l].Kernel.Params[a].IsBuffer():
			case arg.Slot < len(slots):
				arg.Slot = slots[arg.Slot]
			default:
				arg.Slot += len(x.Inputs) - len(slots)
			}
		}
	}
	return w, nil
}

// Strided reports whether x.Inputs[input] may be a view that is not contiguous.
func Strided(g *group.Graph, x *group.Group, input int) bool {
	switch x.Kind {
	case group.Elementwise, group.Reduction, group.Norm:
		return true
	case group.Single:
		n := &g.Nodes[x.Anchor]
		return elementwise(n) || reducers[n.Op] != nil || movements[n.Op] != nil
	}
	return false
}

// InRows reports whether x.Inputs[input] may be a view in which only the last dimension is contiguous.
func InRows(g *group.Graph, x *group.Group, input int) bool {
	if x.Kind != group.Single {
		return false
	}
	n, rows := &g.Nodes[x.Anchor], 0
	switch n.Op {
	case op.Attention:
		rows = 3
	case op.AttentionGradient:
		rows = 5
	}
	return rows > 0 && !slices.Contains(n.Inputs[rows:], x.Inputs[input]) // a mask must be contiguous
}

// InLines reports whether x.Inputs[input] may be the view v. The view consists of contiguous lines: the dimensions from an axis of the node
// on.
func InLines(g *group.Graph, x *group.Group, input int, v shape.View) bool {
	if x.Kind != group.Single || g.Nodes[x.Anchor].Op != op.Gather || v.Shape.Size() == 0 {
		return false
	}
	n := &g.Nodes[x.Anchor]
	_, ok := gapped(v, n.Attrs.Int("axis"))
	return ok && n.Inputs[0] == x.Inputs[input] && n.Inputs[1] != x.Inputs[input]
}

// rules lower single nodes that are neither elementwise nor reductions.
var rules = map[op.Code]Rule{}

func init() {
	for _, m := range []map[op.Code]Rule{movements, structured} {
		for c, r := range m {
			rules[c] = r
		}
	}
}

func unsupported(n *op.Node, what string) error {
	return fmt.Errorf("%v %s: %w", n, what, core.ErrUnsupported)
}
