package lower

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// scalar builds the value of an elementwise node for one element.
type scalar struct {
	*ir.Builder
	n   *op.Node
	d   dtype.DType // type of the first operand
	out dtype.DType
	x   []ir.Value // operands, in the types of the computation
}

// scalarRule builds the result of an elementwise op from its operands, in the type of the computation.
type scalarRule func(s *scalar) ir.Value

// scalarRules are the rules of elementwise ops. Ops without a rule are computed by their decomposition.
var scalarRules = map[op.Code]scalarRule{}

func init() {
	for _, m := range []map[op.Code]scalarRule{floatRules, arithmeticRules, logicRules, activationRules} {
		for c, r := range m {
			scalarRules[c] = r
		}
	}
}

// compute returns the type in which elements of type d are computed.
func compute(d dtype.DType) dtype.DType {
	switch d {
	case dtype.F16, dtype.BF16:
		return dtype.F32
	case dtype.I16, dtype.I8:
		return dtype.I32
	case dtype.U16, dtype.U8:
		return dtype.U32
	}
	return d
}

// stored returns the type of elements of type d in the memory of a kernel.
func stored(d dtype.DType) dtype.DType {
	if dtype.Smalls.Has(d) {
		return dtype.U8
	}
	return d
}

// bits returns the width of elements of type d.
func bits(d dtype.DType) int { return 8 * d.Size() }

// evaluate builds the result of elementwise node n for one element. x are the elements of the operands, of types in, as stored.
// Each result is rounded to its type, so that results do not depend on which nodes share a kernel.
func evaluate(b *ir.Builder, n *op.Node, in []dtype.DType, x []ir.Value) (ir.Value, error) {
	out := n.Outputs[0].DType
	switch n.Op {
	case op.Copy, op.Expand, op.Reshape:
		return x[0], nil
	case op.Full:
		return b.Const(stored(out), number(n.Attrs.Value("value"), out)), nil
	case op.Cast:
		return cast(b, in[0], out, x[0], n.Attrs.Bool("saturate")), nil
	case op.Where:
		return b.Select(x[0], x[1], x[2]), nil
	}
	rule := scalarRules[n.Op]
	if short := shortRules[n.Op]; short != nil && (out == dtype.F16 || out == dtype.BF16) {
		if r := short(n); r != nil {
			rule = r
		}
	}
	if rule == nil {
		return decompose(b, n, in, x)
	}
	s := &scalar{Builder: b, n: n, d: in[0], out: out, x: make([]ir.Value, len(x))}
	for i, v := range x {
		s.x[i] = b.Cast(compute(in[i]), v)
	}
	return b.Cast(out, rule(s)), nil
}

// decompose builds the result of a composite elementwise node by its decomposition, applied to single elements: an elementwise op
// is the same function for every element.
func decompose(b *ir.Builder, n *op.Node, in []dtype.DType, x []ir.Value) (ir.Value, error) {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	values, types := map[op.TensorID]ir.Value{}, map[op.TensorID]dtype.DType{}
	descs := make([]op.Desc, len(in))
	for i, d := range in {
		descs[i] = op.Desc{ID: next(), DType: d}
		values[descs[i].ID], types[descs[i].ID] = x[i], d
	}
	whole := op.Node{Op: n.Op, Version: n.Version, Attrs: n.Attrs, Outputs: []op.Desc{{ID: next(), DType: n.Outputs[0].DType}}}
	for _, d := range descs {
		whole.Inputs = append(whole.Inputs, d.ID)
	}
	nodes, ok, err := op.Decompose(&whole, descs, next)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("%v has no rule for single elements: %w", n.Op, core.ErrUnsupported)
	}
	for i := range nodes {
		m := &nodes[i]
		var px []ir.Value
		var pin []dtype.DType
		for _, id := range m.Inputs {
			px, pin = append(px, values[id]), append(pin, types[id])
		}
		v, err := evaluate(b, m, pin, px)
		if err != nil {
			return 0, err
		}
		values[m.Outputs[0].ID], types[m.Outputs[0].ID] = v, m.Outputs[0].DType
	}
	return values[whole.Outputs[0].ID], nil
}

// float returns a constant of the type in which the first operand is computed.
func (s *scalar) float(f float64) ir.Value { return s.Float(compute(s.d), f) }

// int returns a constant of the integer type in which the first operand is computed.
func (s *scalar) int(i int64) ir.Value { return s.Const(compute(s.d), uint64(i)) }

// attr returns a float attribute, rounded to the element type.
func (s *scalar) attr(name string) float64 {
	return fromBits(s.d, number(op.ScalarFloat(name, s.n.Attrs.Float(name)).Value, s.d))
}

func (s *scalar) isFloat() bool  { return s.d.Class() == dtype.Float }
func (s *scalar) isSigned() bool { return s.d.Class() == dtype.Signed }

// isNaN reports whether a float is NaN.
func (s *scalar) isNaN(x ir.Value) ir.Value { return s.Ne(x, x) }

// counted returns an element of an iota.
func counted(b *ir.Builder, n *op.Node, index func(axis int) ir.Value) ir.Value {
	i := index(n.Attrs.Int("axis"))
	return cast(b, b.TypeOf(i), n.Outputs[0].DType, i, true)
}
