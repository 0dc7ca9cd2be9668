package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values. The zero Kind is no value.
const (
	NoKind Kind = iota
	TensorKind
	SequenceKind
	OptionalKind
)

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

var kindNames = [...]string{"none", "tensor", "sequence", "optional"}

// value is the value of a name while the graph is traced: a tensor, a sequence or an optional. It is small and copied freely. The
// zero value is an operand that was left out.
type value struct {
	kind Kind
	data *data // data of a tensor
	list *list // items of a sequence; for an optional, one item or none
}

type list struct {
	elem  dtype.DType // Invalid when unknown
	items []value
}

// data is a tensor under tracing. A constant does not depend on the elements of inputs: its content is on the host, on the
// device, or one number that fills it, and is converted between these on demand. All other data is live: a node of a segment
// defines it and, after the end of that segment, it is in a slot of the run.
type data struct {
	dtype  dtype.DType
	shape  shape.Shape
	serial uint64 // never used twice in a session
	taken  int64  // bytes that the tracer has counted for the data

	host []byte         // content; for live data, set once it was read
	dev  *tensor.Tensor // content on the device, constants only
	fill op.Value       // the number that all elements of a constant are equal to

	origin *origin // op that computed a constant from bytes, for rewriting; else nil

	constant bool
	shared   bool // a constant of the session, which depends only on the model
	bound    bool // live, but an input of programs that is the same tensor in every run
	kept     bool // a step of the plan refers to dev
	lent     bool // a step that ends with the run refers to dev

	seg  *segment
	id   op.TensorID
	slot int // slot in the run; -1: none yet
}

func (d *data) desc() op.Desc { return op.Desc{DType: d.dtype, Shape: d.shape} }

func tensorOf(d *data) value { return value{kind: TensorKind, data: d} }

// sequenceOf returns a sequence of values; elem is the element type of its tensors, Invalid when unknown.
func sequenceOf(elem dtype.DType, vs []value) value {
	return value{kind: SequenceKind, list: &list{elem, vs}}
}

// optionalOf returns an optional that holds v.
func optionalOf(v value) value {
	return value{kind: OptionalKind, list: &list{v.dtype(), []value{v}}}
}

// optionalNone returns an empty optional.
func optionalNone() value { return value{kind: OptionalKind, list: &list{}} }

func (v value) present() bool    { return v.kind != NoKind }
func (v value) isTensor() bool   { return v.kind == TensorKind }
func (v value) isSequence() bool { return v.kind == SequenceKind }

// dtype returns the element type of a tensor, or of the tensors in a sequence or optional.
func (v value) dtype() dtype.DType {
	switch {
	case v.data != nil:
		return v.data.dtype
	case v.list != nil:
		return v.list.elem
	}
	return dtype.Invalid
}

// shape returns the shape of a tensor, or nil for other kinds. It must not be changed.
func (v value) shape() shape.Shape {
	if v.data == nil {
		return nil
	}
	return v.data.shape
}

func (v value) rank() int { return len(v.shape()) }

// constant reports whether no tensor in v depends on the content of an input.
func (v value) constant() bool {
	ok := true
	v.leaves(func(d *data) { ok = ok && d.constant })
	return ok
}

// elems returns the values of a sequence.
func (v value) elems() []value {
	if v.kind != SequenceKind {
		return nil
	}
	return v.list.items
}

// inner returns the value in an optional, and whether there is one. For other kinds it returns v, as ONNX lets optional operands
// be given directly.
func (v value) inner() (value, bool) {
	if v.kind != OptionalKind {
		return v, v.present()
	}
	if len(v.list.items) == 0 {
		return value{}, false
	}
	return v.list.items[0], true
}

// leaves calls f for every tensor in v.
func (v value) leaves(f func(*data)) {
	if v.data != nil {
		f(v.data)
	}
	if v.list != nil {
		for _, e := range v.list.items {
			e.leaves(f)
		}
	}
}
