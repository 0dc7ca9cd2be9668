package onnx

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Value is an input or output of a model: a tensor, a sequence of values, or an optional value. The zero Value is an absent value. Values
// are immutable.
type Value struct {
	kind  Kind
	elem  dtype.DType
	t     *tensor.Tensor
	items []Value
}

// TensorValue returns a tensor as a Value. It does not change the owner of the tensor.
func TensorValue(t *tensor.Tensor) Value { return Value{kind: TensorKind, elem: t.DType(), t: t} }

// SequenceValue returns a sequence of tensors with elements of type elem.
func SequenceValue(elem dtype.DType, vs ...Value) Value {
	return Value{kind: SequenceKind, elem: elem, items: vs}
}

// OptionalValue returns an optional that holds v, or nothing when v is the zero Value.
func OptionalValue(v Value) Value {
	if v.kind == NoKind {
		return Value{kind: OptionalKind}
	}
	return Value{kind: OptionalKind, elem: v.elem, items: []Value{v}}
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// DType returns the element type of a tensor, or of the tensors in a sequence or optional; Invalid when unknown.
func (v Value) DType() dtype.DType { return v.elem }

// Tensor returns the tensor of a TensorKind value, else nil.
func (v Value) Tensor() *tensor.Tensor { return v.t }

// Elems returns the values of a sequence, else nil. The caller must not change the slice.
func (v Value) Elems() []Value {
	if v.kind != SequenceKind {
		return nil
	}
	return v.items
}

// Inner returns the value in an optional, and whether it holds one.
func (v Value) Inner() (Value, bool) {
	if v.kind != OptionalKind || len(v.items) == 0 {
		return Value{}, false
	}
	return v.items[0], true
}

// Release releases every tensor in v.
func (v Value) Release() {
	v.each(func(t *tensor.Tensor) { t.Release() })
}

func (v Value) each(f func(*tensor.Tensor)) {
	if v.t != nil {
		f(v.t)
	}
	for _, e := range v.items {
		e.each(f)
	}
}

// String returns the type: "f32[2,3]", "sequence(f32[2], f32[3])", "optional()".
func (v Value) String() string {
	if v.t != nil {
		return v.t.Desc().String()
	}
	parts := make([]string, len(v.items))
	for i, e := range v.items {
		parts[i] = e.String()
	}
	return v.kind.String() + "(" + strings.Join(parts, ", ") + ")"
}

// traced converts v to a value of the tracer. next returns the traced tensors of v one after another.
func (v Value) traced(next func() value) value {
	switch v.kind {
	case TensorKind:
		return next()
	case SequenceKind:
		vs := make([]value, len(v.items))
		for i, e := range v.items {
			vs[i] = e.traced(next)
		}
		return sequenceOf(v.elem, vs)
	case OptionalKind:
		if len(v.items) == 0 {
			return optionalNone()
		}
		return optionalOf(v.items[0].traced(next))
	}
	return value{}
}

// binding holds the checked inputs of a run, in the order of their declarations.
type binding struct {
	inputs    []given
	tensors   []*tensor.Tensor // the tensors of all values
	signature []byte           // equal for inputs with equal names, kinds, types and shapes
}

// given is an input that the caller passed.
type given struct {
	name  string
	value Value
}

// bind checks inputs against their declarations. Every run calls it, so it must be fast.
func (m *Model) bind(inputs map[string]Value) (*binding, error) {
	var wrong InputError
	b := &binding{inputs: make([]given, 0, len(m.inputs)), tensors: make([]*tensor.Tensor, 0, len(m.inputs)),
		signature: make([]byte, 0, 16*len(m.inputs))}
	var symbols symbols
	known := 0
	for i := range m.inputs {
		decl := &m.inputs[i]
		v, ok := inputs[decl.Name]
		if ok {
			known++
		}
		if v.kind == NoKind {
			if decl.Kind == OptionalKind && !decl.Default {
				v = OptionalValue(Value{})
			} else {
				if !decl.Default {
					wrong.Missing = append(wrong.Missing, decl.Name)
				}
				continue
			}
		}
		v = v.as(decl.Kind)
		if text := decl.check(v, &symbols, decl.Name); text != "" {
			wrong.Wrong = append(wrong.Wrong, text)
			continue
		}
		b.inputs = append(b.inputs, given{decl.Name, v})
		b.tensors = v.appendTensors(b.tensors)
		b.signature = v.appendType(binary.AppendUvarint(b.signature, uint64(i)))
	}
	if known < len(inputs) {
		wrong.Unknown = m.unknown(inputs)
	}
	if len(wrong.Missing)+len(wrong.Unknown)+len(wrong.Wrong) > 0 {
		wrong.Expected = m.inputs
		return nil, &wrong
	}
	return b, nil
}

// unknown returns the names in inputs that the model does not declare, sorted.
func (m *Model) unknown(inputs map[string]Value) (names []string) {
	for name := range inputs {
		if !slices.ContainsFunc(m.inputs, func(decl ValueInfo) bool { return decl.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (v Value) appendTensors(to []*tensor.Tensor) []*tensor.Tensor {
	if v.t != nil {
		to = append(to, v.t)
	}
	for _, e := range v.items {
		to = e.appendTensors(to)
	}
	return to
}

// appendType appends kinds, element types and shapes. Values have equal types if and only if the appended bytes are equal.
func (v Value) appendType(to []byte) []byte {
	to = append(to, byte(v.kind), byte(v.elem))
	if v.t != nil {
		s := v.t.Desc().Shape
		to = append(to, byte(len(s)))
		for _, n := range s {
			to = binary.AppendUvarint(to, uint64(n))
		}
		return to
	}
	to = binary.AppendUvarint(to, uint64(len(v.items)))
	for _, e := range v.items {
		to = e.appendType(to)
	}
	return to
}

// as wraps v in an optional or unwraps it, to match the declared kind k.
func (v Value) as(k Kind) Value {
	switch {
	case k == OptionalKind && v.kind != OptionalKind:
		return OptionalValue(v)
	case k != OptionalKind && k != NoKind && v.kind == OptionalKind && len(v.items) == 1:
		return v.items[0]
	}
	return v
}

// symbol is the size of a symbolic dimension in this run, and the input that defines it.
type symbol struct {
	name  string
	size  int
	input string
}

// symbols contains the symbolic dimensions of a run. It is a list, because there are few of them.
type symbols []symbol

// meet returns the entry of the symbol called name. A new symbol gets this size and input.
func (s *symbols) meet(name string, size int, input string) symbol {
	for _, k := range *s {
		if k.name == name {
			return k
		}
	}
	*s = append(*s, symbol{name, size, input})
	return (*s)[len(*s)-1]
}

// check returns a sentence that names the input and describes how v differs from its declaration, or "" if it fits.
func (i *ValueInfo) check(v Value, known *symbols, name string) string {
	if i.Kind == NoKind {
		return ""
	}
	if v.kind != i.Kind {
		return fmt.Sprintf("%q is %v, want %v", clip(name), v, i.Type())
	}
	if v.kind != TensorKind {
		for _, e := range v.items {
			if i.Elem != nil {
				// A symbol may have different sizes in different elements of a sequence.
				if wrong := i.Elem.check(e, new(symbols), name); wrong != "" {
					return wrong
				}
			}
		}
		return ""
	}
	d := v.t.Desc()
	fits := (!i.DType.Valid() && i.TypeName == "any" || d.DType == i.DType) && (!i.Ranked || len(d.Shape) == len(i.Shape))
	if fits && i.Ranked {
		for k, dim := range i.Shape {
			fits = fits && (dim.Size < 0 || dim.Size == d.Shape[k])
		}
	}
	if !fits {
		return fmt.Sprintf("%q is %v, want %s", clip(name), v, i.Type())
	}
	if !i.Ranked {
		return ""
	}
	for k, dim := range i.Shape {
		if dim.Size >= 0 || dim.Symbol == "" {
			continue
		}
		if was := known.meet(dim.Symbol, d.Shape[k], name); was.size != d.Shape[k] {
			return fmt.Sprintf("dimension %d of %q is %d, want %q to be %d as in %q", k, clip(name), d.Shape[k], clip(dim.Symbol), was.size,
				clip(was.input))
		}
	}
	return ""
}
