package onnxtest

import (
	"fmt"
	"io"
	"os"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// Array is a tensor in host memory, in the format of tensor.Tensor.Bytes.
type Array struct {
	DType dtype.DType
	Shape shape.Shape
	Data  []byte
}

// String returns type and shape: "f32[2,3]".
func (a Array) String() string { return a.DType.String() + a.Shape.String() }

// Kind is the kind of a Value, which selects the fields that are used.
type Kind uint8

// The kinds of ONNX values that burn supports.
const (
	Tensor Kind = iota
	Sequence
	Optional
)

// Value is a tensor, a sequence or an optional in host memory.
type Value struct {
	Kind   Kind
	Tensor Array
	Elems  []Value     // elements of a sequence; of an optional, none or one
	Elem   dtype.DType // element type of a sequence, for empty ones; Invalid when the file does not declare it
}

// String returns the type in words: "f32[2]", "sequence of 3 (f32[2], f32[2], ...)", "optional of f32[2]", "optional, empty".
func (v Value) String() string {
	switch {
	case v.Kind == Tensor:
		return v.Tensor.String()
	case v.Kind == Optional && len(v.Elems) == 0:
		return "optional, empty"
	case v.Kind == Optional:
		return "optional of " + v.Elems[0].String()
	}
	s := fmt.Sprintf("sequence of %d", len(v.Elems))
	for i, e := range v.Elems {
		switch {
		case i == 0:
			s += " (" + e.String()
		case i < 3:
			s += ", " + e.String()
		}
	}
	switch {
	case len(v.Elems) > 3:
		s += ", ...)"
	case len(v.Elems) > 0:
		s += ")"
	}
	return s
}

// write writes type and content, for a digest.
func (v Value) write(w io.Writer) {
	fmt.Fprintf(w, "%v\n", v)
	if v.Kind == Tensor {
		_, _ = w.Write(v.Tensor.Data) // a hash never returns an error
	}
	for _, e := range v.Elems {
		e.write(w)
	}
}

// ReadFile reads a .pb file: a TensorProto, SequenceProto or OptionalProto, as the model declares it; a tensor if it declares no
// kind. For element types that burn lacks the error is core.ErrUnsupported.
func ReadFile(path string, declared onnx.ValueInfo) (Value, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Value{}, err
	}
	v, err := decode(b, declared)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

func decode(b []byte, declared onnx.ValueInfo) (Value, error) {
	switch declared.Kind {
	case onnx.SequenceKind:
		p, err := pb.DecodeSequence(b, pb.Limits{})
		if err != nil {
			return Value{}, err
		}
		v, err := fromSequence(p)
		if err == nil && v.Elem == dtype.Invalid {
			v.Elem = declared.DType
		}
		return v, err
	case onnx.OptionalKind:
		p, err := pb.DecodeOptional(b, pb.Limits{})
		if err != nil {
			return Value{}, err
		}
		return fromOptional(p)
	}
	p, err := pb.DecodeTensor(b, pb.Limits{})
	if err != nil {
		return Value{}, err
	}
	return fromTensor(p)
}

func fromTensor(p *pb.Tensor) (Value, error) {
	d, ok := onnx.ElementType(p.DataType)
	if !ok {
		return Value{}, fmt.Errorf("%w: element type %v", core.ErrUnsupported, p.DataType)
	}
	data, err := p.Bytes(nil)
	if err != nil {
		return Value{}, err
	}
	s := make(shape.Shape, len(p.Dims))
	for i, n := range p.Dims {
		s[i] = int(n)
	}
	if err := s.Check(); err != nil {
		return Value{}, err
	}
	return Value{Tensor: Array{DType: d, Shape: s, Data: data}}, nil
}

func fromSequence(p *pb.Sequence) (Value, error) {
	v := Value{Kind: Sequence}
	add := func(e Value, err error) error {
		v.Elems = append(v.Elems, e)
		return err
	}
	var err error
	switch p.Kind {
	case pb.ValueUndefined, pb.ValueTensor:
		for _, t := range p.Tensors {
			if err = add(fromTensor(t)); err != nil {
				return v, err
			}
		}
	case pb.ValueSequence:
		for _, s := range p.Sequences {
			if err = add(fromSequence(s)); err != nil {
				return v, err
			}
		}
	case pb.ValueOptional:
		for _, o := range p.Optionals {
			if err = add(fromOptional(o)); err != nil {
				return v, err
			}
		}
	default:
		return v, fmt.Errorf("sequence of kind %d: %w", p.Kind, core.ErrUnsupported)
	}
	if len(v.Elems) > 0 && v.Elems[0].Kind == Tensor {
		v.Elem = v.Elems[0].Tensor.DType
	}
	return v, nil
}

func fromOptional(p *pb.Optional) (Value, error) {
	v := Value{Kind: Optional}
	var e Value
	var err error
	switch {
	case p.Tensor != nil:
		e, err = fromTensor(p.Tensor)
	case p.Sequence != nil:
		e, err = fromSequence(p.Sequence)
	case p.Optional != nil:
		e, err = fromOptional(p.Optional)
	case p.SparseTensor != nil || p.Map != nil:
		return v, fmt.Errorf("optional of kind %d: %w", p.Kind, core.ErrUnsupported)
	default:
		return v, nil
	}
	v.Elems = []Value{e}
	return v, err
}

// CompareValues returns nil if got equals want within the tolerance. A nil tol means Half for f16 and bf16, and Default for the
// other floats.
func CompareValues(name string, got, want Value, tol *Tolerance) *Mismatch {
	if got.Kind != want.Kind || len(got.Elems) != len(want.Elems) {
		return &Mismatch{Output: name, What: fmt.Sprintf("got %v, want %v", got, want)}
	}
	if want.Kind == Tensor {
		t := Default
		switch {
		case tol != nil:
			t = *tol
		case want.Tensor.DType == dtype.F16 || want.Tensor.DType == dtype.BF16:
			t = Half
		}
		return compare(name, got.Tensor, want.Tensor, t)
	}
	for i := range want.Elems {
		at := name
		if want.Kind == Sequence {
			at = fmt.Sprintf("%s[%d]", name, i)
		}
		if m := CompareValues(at, got.Elems[i], want.Elems[i], tol); m != nil {
			return m
		}
	}
	return nil
}
