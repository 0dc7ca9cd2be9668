package op

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
)

// New returns a checked node: it completes attrs with the row's defaults, checks operands and attributes, and infers the outputs, whose ids
// are zero for the caller to assign. Inputs are the ids of in. To omit an optional operand, pass fewer inputs. An error is an *Error.
func New(c Code, in []Desc, attrs ...Attr) (Node, error) {
	row := Lookup(c)
	full, err := row.complete(attrs)
	if err != nil {
		return Node{}, wrap(row, in, err)
	}
	outs, err := row.infer(in, full)
	if err != nil {
		return Node{}, wrap(row, in, err)
	}
	ids := make([]TensorID, len(in))
	for i := range in {
		ids[i] = in[i].ID
	}
	return Node{Op: c, Version: row.Version, Inputs: ids, Outputs: outs, Attrs: full}, nil
}

// Check checks a node that New did not create: the op and version must be known; the attributes must be complete, of the right kinds and in
// the order of the schema; the operands must be valid; and the types and shapes of the outputs must equal the results of inference. An
// error is an *Error.
func Check(n *Node, in []Desc) error {
	row := Lookup(n.Op)
	if row.Infer == nil {
		return &Error{Op: fmt.Sprintf("op %d", n.Op), Msg: "unknown op", Err: ErrUnsupported}
	}
	if n.Version != row.Version {
		return wrap(row, in, violation(ErrUnsupported, "", "version %d of the op, this build has %d", n.Version, row.Version))
	}
	if len(n.Attrs) != len(row.Attrs) {
		return wrap(row, in, violation(ErrAttr, "", "%d attributes, want %d", len(n.Attrs), len(row.Attrs)))
	}
	for i := range row.Attrs {
		if n.Attrs[i].Name != row.Attrs[i].Name {
			return wrap(row, in, violation(ErrAttr, "", "attribute %d is %q, want %q", i, n.Attrs[i].Name, row.Attrs[i].Name))
		}
		if err := row.Attrs[i].check(n.Attrs[i].Value); err != nil {
			return wrap(row, in, err)
		}
	}
	outs, err := row.infer(in, n.Attrs)
	if err != nil {
		return wrap(row, in, err)
	}
	if len(outs) != len(n.Outputs) {
		return wrap(row, in, violation(ErrShape, "", "%d outputs, want %d", len(n.Outputs), len(outs)))
	}
	for i := range outs {
		if !outs[i].SameType(n.Outputs[i]) {
			return wrap(row, in, violation(ErrShape, "", "output %d is %v, want %v", i, n.Outputs[i], outs[i]))
		}
	}
	return nil
}

func wrap(row *Row, in []Desc, err error) error {
	if e, ok := err.(*Error); ok && e.Op == "" {
		e.Op, e.Inputs = row.Name, slices.Clone(in)
		return e
	}
	return &Error{Op: row.Name, Inputs: slices.Clone(in), Err: err}
}

// complete returns attrs in the order of the schema, with defaults added.
func (r *Row) complete(attrs []Attr) (Attrs, error) {
	if len(r.Attrs) == 0 && len(attrs) == 0 {
		return nil, nil
	}
	full := make(Attrs, len(r.Attrs))
	used := 0
	for i := range r.Attrs {
		spec := &r.Attrs[i]
		v := spec.Default
		for k := range attrs {
			if attrs[k].Name == spec.Name {
				v = attrs[k].Value
				used++
				break
			}
		}
		if v.kind == 0 {
			return nil, violation(ErrAttr, "", "attribute %q is missing, want %v", spec.Name, spec.Kind)
		}
		if err := spec.check(v); err != nil {
			return nil, err
		}
		full[i] = Attr{spec.Name, v}
	}
	if used != len(attrs) {
		for _, a := range attrs {
			if _, ok := full.Get(a.Name); !ok {
				return nil, violation(ErrAttr, "", "unknown attribute %q", a.Name)
			}
		}
		return nil, violation(ErrAttr, "", "an attribute is given twice in %v", Attrs(attrs))
	}
	return full, nil
}

func (s *AttrSpec) check(v Value) error {
	if v.kind != s.Kind {
		return violation(ErrAttr, "", "attribute %q is %v, want %v", s.Name, v.kind, s.Kind)
	}
	if s.Kind == KindDType && !v.DType().Valid() {
		return violation(ErrAttr, "", "attribute %q is %v, want an element type", s.Name, v.DType())
	}
	if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, v.str) {
		return violation(ErrAttr, "", "attribute %q is %q, want one of %v", s.Name, v.str, s.OneOf)
	}
	return nil
}

// Arity returns the least and greatest number of inputs; greatest is -1 for a variadic row.
func (r *Row) Arity() (least, greatest int) {
	greatest = len(r.Operands)
	for _, o := range r.Operands {
		if !o.Optional {
			least++
		}
	}
	if greatest > 0 && r.Operands[greatest-1].Variadic {
		greatest = -1
	}
	return least, greatest
}

func (r *Row) infer(in []Desc, a Attrs) ([]Desc, error) {
	least, greatest := r.Arity()
	if len(in) < least || greatest >= 0 && len(in) > greatest {
		want := fmt.Sprint(least)
		if greatest < 0 {
			want += " or more"
		} else if greatest != least {
			want += fmt.Sprintf(" to %d", greatest)
		}
		return nil, violation(ErrShape, "", "%d inputs, want %s", len(in), want)
	}
	for i := range in {
		o := &r.Operands[min(i, len(r.Operands)-1)]
		if !in[i].DType.Valid() || !o.Types.Has(in[i].DType) {
			return nil, violation(ErrDType, "", "%s is %v, want one of %v", o.Name, in[i].DType, o.Types)
		}
		as := o.SameAs
		if o.Variadic && i >= len(r.Operands) {
			as = len(r.Operands)
		}
		if as > 0 && in[i].DType != in[as-1].DType {
			return nil, violation(ErrDType, "", "%s is %v, want %v like %s", o.Name, in[i].DType, in[as-1].DType, r.Operands[as-1].Name)
		}
	}
	outs, err := r.Infer(in, a)
	if err != nil {
		return nil, err
	}
	for i := range outs {
		if err := outs[i].Shape.Check(); err != nil {
			return nil, violation(ErrShape, "", "output %d: %v", i, err)
		}
	}
	return outs, nil
}

// FirstType returns the type that selects a claim in capability documents: the type of the first input, or of the result of a creation op.
func (n *Node) FirstType(in []Desc) dtype.DType {
	if len(in) > 0 {
		return in[0].DType
	}
	return n.Outputs[0].DType
}
