package lower

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Capabilities returns the capability document of a device of target t: all ops that are Native to it, and the composites that it runs as
// small programs of native ops.
func Capabilities(t template.Target) *core.Capabilities {
	c := &core.Capabilities{
		Types:         t.Types | dtype.Smalls,
		Ops:           map[string]core.OpCapability{},
		Limits:        core.Limits{Rank: shape.MaxRank, Bytes: t.Bytes},
		Deterministic: true,
	}
	for _, code := range op.All() {
		row := op.Lookup(code)
		if row.Class == op.Custom || !Native(code) && (row.Class == op.Primitive || leftToHost[code] != "") {
			continue
		}
		c.Ops[row.Name] = claim(t, row)
	}
	return c
}

// claim returns the types that the op of a row is computed for.
func claim(t template.Target, row *op.Row) core.OpCapability {
	allowed := able(t, row.Traits)
	c := core.OpCapability{Version: row.Version, Results: []dtype.Set{allowed}}
	for _, o := range row.Operands {
		c.Operands = append(c.Operands, o.Types&allowed)
	}
	return c
}

// able returns the types for which a device can compute an op with these traits.
func able(t template.Target, traits op.Traits) dtype.Set {
	set := dtype.Smalls
	for _, d := range t.Types.List() {
		if traits.Has(op.Stores) || t.Math.Has(compute(d)) {
			set |= dtype.SetOf(d)
		}
	}
	return set
}

// Native reports whether Group lowers nodes of op c without decomposition. Other claimed ops must be decomposed.
func Native(c op.Code) bool {
	n := op.Node{Op: c}
	return elementwise(&n) || reducers[c] != nil || rules[c] != nil
}

// Supports returns nil for a node that Group can lower, and otherwise an error that wraps core.ErrUnsupported. It is for
// program.Target.
func Supports(t template.Target, n *op.Node, in []op.Desc) error {
	row := op.Lookup(n.Op)
	if !Native(n.Op) {
		return fmt.Errorf("%s has no kernel: %w", row.Name, core.ErrUnsupported)
	}
	if d := n.Outputs[0]; n.Op == op.Linear && (len(d.Shape) < 2 || !d.DType.IsFloat()) { // vectors and integers are decomposed
		return fmt.Errorf("%s of %v: %w", row.Name, d, core.ErrUnsupported)
	}
	allowed := able(t, row.Traits)
	for _, ds := range [][]op.Desc{in, n.Outputs} {
		for _, d := range ds {
			if !allowed.Has(d.DType) {
				return fmt.Errorf("%s of %v: %w", row.Name, d, core.ErrUnsupported)
			}
		}
	}
	return nil
}

// leftToHost lists the composites that are not claimed, with the reason.
var leftToHost = map[op.Code]string{
	op.Eigh:  iterates,
	op.SVD:   iterates,
	op.PInv:  iterates,
	op.LstSq: iterates,
}

const iterates = "rotations, one after the other: 10,000 nodes for 16 x 16 and 50,000 for 64 x 64, more than a plan is worth"
