package op

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
)

// mostResults is how many outputs a fused node may have.
const mostResults = 8

var fusedRows = []entry{
	{Fused, Row{Name: "fused", Class: Composite, Group: "fused", Operands: []Operand{{Name: "x", Types: dtype.Any, Variadic: true, Mixed: true}},
		Results: []string{"y1", "y2", "y3", "y4", "y5", "y6", "y7", "y8"}, Tolerance: perTerm(8),
		Doc: "A body of statements in order, each an op on operands and on results of statements before it; elementwise, and the last may reduce. Values are " +
			"numbered, operands first: mul(0,0);sum(1){axes=[1]} is the sum of squares. Attributes are written name=value unless they have their " +
			"default. The outputs are the values named by results. Intermediate values may be held in a wider type than their own.",
		Attrs: []AttrSpec{required("body", KindString, "statements, separated by semicolons"), required("results", KindInts, "numbers of the values that are outputs")},
		Constraints: []Constraint{{"C1", "body is a list of statements in the one form that they print in"},
			{"C2", "each op is elementwise, or full of rank 0, or in the last place a reduction"},
			{"C3", "each argument is an operand or a result of a statement before"}, {"C4", "each statement satisfies its row"},
			{"C5", "results has 1 to 8 different entries, each a result of a statement"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			l, err := ParseBody(a.Str("body"))
			if err != nil {
				return nil, &Error{Constraint: "C1", Msg: err.Error(), Err: sentinelOf(err)}
			}
			return inferBody(in, l, a.Ints("results"))
		}}},
}

// sentinelOf is the cause of a parse error.
func sentinelOf(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return ErrAttr
}

// Elementwise reports whether each element of c's result depends on one element of each operand alone, after
// broadcasting: the ops that bodies are made of.
func Elementwise(c Code) bool {
	switch row := Lookup(c); row.Group {
	case "unary", "binary", "ternary", "arithmetic":
		return true
	case "activation":
		return !slices.ContainsFunc(row.Attrs, func(a AttrSpec) bool { return a.Name == "axis" })
	}
	return c == Cast
}

// Reduces reports whether c may end a body.
func Reduces(c Code) bool { return Lookup(c).Group == "reduction" || c == Mean }

func inferBody(in []Desc, l []Statement, results []int) ([]Desc, error) {
	values := slices.Clone(in)
	for i, s := range l {
		constant := s.Op == Full && len(s.Attrs.Ints("shape")) == 0
		if !Elementwise(s.Op) && !constant && !(Reduces(s.Op) && i == len(l)-1) {
			return nil, violation(ErrAttr, "C2", "statement %d is %v", i, s)
		}
		args := make([]Desc, len(s.Args))
		for k, v := range s.Args {
			if v < 0 || v >= len(values) {
				return nil, violation(ErrAttr, "C3", "statement %d is %v, want arguments below %d", i, s, len(values))
			}
			args[k] = values[v]
		}
		outs, err := Lookup(s.Op).infer(args, s.Attrs)
		if err != nil {
			return nil, &Error{Constraint: "C4", Msg: fmt.Sprintf("statement %d, %v: %v", i, s, err), Err: cause(err)}
		}
		values = append(values, outs[0])
	}
	if len(results) < 1 || len(results) > mostResults {
		return nil, violation(ErrAttr, "C5", "%d results", len(results))
	}
	var outs []Desc
	for i, v := range results {
		if v < len(in) || v >= len(values) || slices.Contains(results[:i], v) {
			return nil, violation(ErrAttr, "C5", "results is %v for %d operands and %d statements", results, len(in), len(l))
		}
		outs = append(outs, Desc{DType: values[v].DType, Shape: values[v].Shape})
	}
	return outs, nil
}

// cause is the sentinel of a fault that inference found.
func cause(err error) error {
	if e, ok := err.(*Error); ok {
		return e.Err
	}
	return err
}

var fusedRules = map[Code]Decomposition{
	Fused: func(b *Builder, in []Desc, a Attrs) []Desc {
		l, err := ParseBody(a.Str("body"))
		if err != nil {
			b.Fail(err)
			return make([]Desc, len(a.Ints("results")))
		}
		values := slices.Clone(in)
		for _, s := range l {
			args := make([]Desc, len(s.Args))
			for k, v := range s.Args {
				args[k] = values[v]
			}
			values = append(values, b.All(s.Op, args, s.Attrs...)[0])
		}
		var outs []Desc
		for _, v := range a.Ints("results") {
			outs = append(outs, values[v])
		}
		return outs
	},
}

// Fuse makes one fused node of nodes that are given in order: its operands are in, its outputs the results named by their
// ids. Every node has one output and takes what is in in or comes from a node before. The ids of the result are the
// caller's to assign.
func Fuse(nodes []Node, in []Desc, results []TensorID) (Node, error) {
	number := map[TensorID]int{}
	for i, d := range in {
		number[d.ID] = i
	}
	var l []Statement
	for i := range nodes {
		n := &nodes[i]
		if len(n.Outputs) != 1 {
			return Node{}, &Error{Op: "fused", Msg: fmt.Sprintf("%v has %d outputs, want 1", n.Op, len(n.Outputs)), Err: ErrAttr}
		}
		s := Statement{Op: n.Op, Attrs: n.Attrs}
		for _, id := range n.Inputs {
			k, ok := number[id]
			if !ok {
				return Node{}, &Error{Op: "fused", Msg: fmt.Sprintf("%v of %v is defined nowhere before", id, n.Op), Err: ErrAttr}
			}
			s.Args = append(s.Args, k)
		}
		number[n.Outputs[0].ID] = len(in) + i
		l = append(l, s)
	}
	var outs []int
	for _, id := range results {
		k, ok := number[id]
		if !ok {
			return Node{}, &Error{Op: "fused", Msg: fmt.Sprintf("result %v is defined nowhere", id), Err: ErrAttr}
		}
		outs = append(outs, k)
	}
	return New(Fused, in, Str("body", FormatBody(l)), Ints("results", outs...))
}
