package program

import (
	"encoding/binary"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// unshaped returns the tensor that id is a reshape of, or id.
func (r *rewriter) unshaped(id op.TensorID) op.TensorID {
	for {
		n, _, ok := r.made(id, op.Reshape)
		if !ok {
			return id
		}
		id = n.Inputs[0]
	}
}

// numbers returns the elements of a tensor of type f32 or f64 that is a reshaped constant or a fill. It returns nil if they are not known.
func (r *rewriter) numbers(id op.TensorID) []float64 {
	d := r.descs[id]
	if d.DType != dtype.F32 && d.DType != dtype.F64 {
		return nil
	}
	id = r.unshaped(id)
	if v, ok := r.number(id); ok {
		return slices.Repeat([]float64{v}, d.Shape.Size())
	}
	return r.content(id)
}

// whole is like numbers, for tensors of type u8, i8 or i32.
func (r *rewriter) whole(id op.TensorID) []int64 {
	d := r.descs[id]
	if d.DType != dtype.U8 && d.DType != dtype.I8 && d.DType != dtype.I32 {
		return nil
	}
	id = r.unshaped(id)
	if n, _, ok := r.made(id, op.Full); ok {
		return slices.Repeat([]int64{n.Attrs.Value("value").Int()}, d.Shape.Size())
	}
	i, ok := r.consts[id]
	if !ok || r.known == nil {
		return nil
	}
	raw := r.known(i)
	if len(raw) == 0 || len(raw) != d.Bytes() {
		return nil
	}
	v := make([]int64, d.Shape.Size())
	for k := range v {
		switch d.DType {
		case dtype.U8:
			v[k] = int64(raw[k])
		case dtype.I8:
			v[k] = int64(int8(raw[k]))
		default:
			v[k] = int64(int32(binary.LittleEndian.Uint32(raw[4*k:])))
		}
	}
	return v
}
