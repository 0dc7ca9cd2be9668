package onnxtest

import (
	"context"
	"fmt"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
)

// Upload copies v to a device as a value of a model. The caller releases it.
func Upload(ctx context.Context, dev *tensor.Device, v Value) (onnx.Value, error) {
	if v.Kind == Tensor {
		t, err := dev.FromBytes(ctx, v.Tensor.DType, v.Tensor.Shape, v.Tensor.Data)
		if err != nil {
			return onnx.Value{}, err
		}
		return onnx.TensorValue(t), nil
	}
	elems := make([]onnx.Value, len(v.Elems))
	for i, e := range v.Elems {
		var err error
		if elems[i], err = Upload(ctx, dev, e); err != nil {
			for _, done := range elems[:i] {
				done.Release()
			}
			return onnx.Value{}, err
		}
	}
	switch {
	case v.Kind == Sequence:
		return onnx.SequenceValue(v.Elem, elems...), nil
	case len(elems) == 0:
		return onnx.OptionalValue(onnx.Value{}), nil
	}
	return onnx.OptionalValue(elems[0]), nil
}

// Download reads a value back. Errors of the run surface here.
func Download(ctx context.Context, v onnx.Value) (Value, error) {
	var elems []onnx.Value
	out := Value{Elem: v.DType()}
	switch v.Kind() {
	case onnx.TensorKind:
		t := v.Tensor()
		b, err := t.Bytes(ctx)
		return Value{Tensor: Array{DType: t.DType(), Shape: t.Shape(), Data: b}}, err
	case onnx.SequenceKind:
		out.Kind, elems = Sequence, v.Elems()
	case onnx.OptionalKind:
		out.Kind = Optional
		if inner, ok := v.Inner(); ok {
			elems = []onnx.Value{inner}
		}
	default:
		return out, fmt.Errorf("no value")
	}
	for _, e := range elems {
		d, err := Download(ctx, e)
		if err != nil {
			return out, err
		}
		out.Elems = append(out.Elems, d)
	}
	return out, nil
}
