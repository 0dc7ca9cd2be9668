package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Kind says what a value is.
type Kind uint8

// The kinds of values. The zero Kind is no value.
const (
	NoKind Kind = iota
	TensorKind
	SequenceKind
	OptionalKind
)

// String is the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

var kindNames = [...]string{"none", "tensor", "sequence", "optional"}

// value is what a name of the graph stands for while it is traced: a tensor, a sequence or an optional. It is small and
// copied freely. The zero value is an operand that was left out.
type value struct {
	kind Kind
	data *data // of a tensor
	list *list // of a sequence; of an optional, with one item or none
}

type list struct {
	elem  dtype.DType // Invalid when unknown
	items []value
}

// data is a tensor under tracing. A constant depends on no input's elements: it has its content on the host, on the
// device, or as one number that fills it, and gets the others when they are asked for. Everything else is live: defined
// by a node of a segment, and, from the end of that segment on, in a slot of the run.
type data struct {
	dtype  dtype.DType
	shape  shape.Shape
	serial uint64 // never used twice in a session
	taken  int64  // bytes that the tracer has counted for it

	host []byte         // content; of live data, once it was read
	dev  *tensor.Tensor // of constants
	fill op.Value       // of constants all of whose elements are this number

	origin *origin // of constants that were dequantized

	constant bool
	shared   bool // a constant of the session: it depends on the model alone
	bound    bool // live, but given to programs as an input that is the same tensor in every run
	kept     bool // a step of the plan refers to dev
	lent     bool // a step that ends with the run refers to dev

	seg  *segment
	id   op.TensorID
	slot int // -1: none yet
}

func (d *data) desc() op.Desc { return op.Desc{DType: d.dtype, Shape: d.shape} }

func tensorOf(d *data) value { return value{kind: TensorKind, data: d} }

// sequenceOf makes a sequence of values; elem is the element type of its tensors, Invalid when unknown.
func sequenceOf(elem dtype.DType, vs []value) value {
	return value{kind: SequenceKind, list: &list{elem, vs}}
}

// optionalOf makes an optional that holds v.
func optionalOf(v value) value {
	return value{kind: OptionalKind, list: &list{v.dtype(), []value{v}}}
}

// optionalNone makes an empty optional.
func optionalNone() value { return value{kind: OptionalKind, list: &list{}} }

func (v value) present() bool    { return v.kind != NoKind }
func (v value) isTensor() bool   { return v.kind == TensorKind }
func (v value) isSequence() bool { return v.kind == SequenceKind }

// dtype is the element type of a tensor, or of the tensors in a sequence or optional.
func (v value) dtype() dtype.DType {
	switch {
	case v.data != nil:
		return v.data.dtype
	case v.list != nil:
		return v.list.elem
	}
	return dtype.Invalid
}

// shape is the shape of a tensor, nil of anything else. It must not be changed.
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

// elems is the values of a sequence.
func (v value) elems() []value {
	if v.kind != SequenceKind {
		return nil
	}
	return v.list.items
}

// inner is what an optional holds. Anything else holds itself, as ONNX lets optionals be given so.
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
