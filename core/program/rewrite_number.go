package program

import (
	"encoding/binary"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// content returns the elements of a constant of a float or bool type, bools as 0 and 1. It returns nil if they are not known.
func (r *rewriter) content(id op.TensorID) []float64 {
	i, ok := r.consts[id]
	if !ok || r.known == nil {
		return nil
	}
	d := r.descs[id]
	if !d.DType.IsFloat() && d.DType != dtype.Bool {
		return nil
	}
	raw, size := r.known(i), d.DType.Size()
	if len(raw) == 0 || len(raw) != d.Bytes() {
		return nil
	}
	v := make([]float64, d.Shape.Size())
	for k := range v {
		b := raw[k*size:]
		switch d.DType {
		case dtype.F64:
			v[k] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case dtype.F32:
			v[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case dtype.F16:
			v[k] = float64(dtype.Float16(binary.LittleEndian.Uint16(b)).Float32())
		case dtype.BF16:
			v[k] = float64(dtype.BFloat16(binary.LittleEndian.Uint16(b)).Float32())
		case dtype.Bool:
			v[k] = float64(b[0])
		default:
			return nil
		}
	}
	return v
}

// number returns the value of a tensor all of whose elements are one known number, rounded to the tensor's type. A constant must have one
// element.
func (r *rewriter) number(id op.TensorID) (float64, bool) {
	d := r.descs[id]
	if n, _, ok := r.made(id, op.Full); ok && d.DType.IsFloat() {
		return rounded(d.DType, n.Attrs.Value("value").Float()), true
	}
	if d.Shape.Size() != 1 || !d.DType.IsFloat() {
		return 0, false
	}
	v := r.content(id)
	if len(v) != 1 {
		return 0, false
	}
	return v[0], true
}

// rounded returns v as a number of a float type.
func rounded(d dtype.DType, v float64) float64 {
	switch d {
	case dtype.F32:
		return float64(float32(v))
	case dtype.F16:
		return float64(dtype.Float16From64(v).Float32())
	case dtype.BF16:
		return float64(dtype.BFloat16From64(v).Float32())
	}
	return v
}

// about reports whether v equals want up to the error of one rounding to type d and a few roundings in f64.
func about(d dtype.DType, v, want float64) bool {
	unit := map[dtype.DType]float64{dtype.F64: 0x1p-51, dtype.F32: 0x1p-22, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[d]
	return math.Abs(v-want) <= unit*math.Abs(want)
}

// operands returns the operands of a node of two operands as a tensor and a number, in either order if the op is commutative.
func (r *rewriter) operands(n *op.Node) (x op.TensorID, v float64, ok bool) {
	if v, ok := r.number(n.Inputs[1]); ok {
		return n.Inputs[0], v, true
	}
	if n.Op == op.Add || n.Op == op.Mul {
		if v, ok := r.number(n.Inputs[0]); ok {
			return n.Inputs[1], v, true
		}
	}
	return 0, 0, false
}
