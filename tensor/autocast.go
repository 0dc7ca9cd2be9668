package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Autocast runs f as Scope does, with a view of d in which the float type of each op is chosen automatically: mixed precision, as
// in Micikevicius et al., Mixed Precision Training, ICLR 2018, and in PyTorch's autocast. dt is dtype.BF16 or dtype.F16, or
// dtype.F32 to end the effect of an enclosing Autocast.
//
//   - Products (matmul, linear, conv, attention, einsum, ops of recurrent layers) cast their f32 operands to dt, and return dt.
//   - Ops whose results need the range or the precision of f32 (exp, log, pow, sums, norms, softmax, losses) cast their operands of
//     type dt to f32, and return f32.
//   - All other ops keep the types of their operands. If some operands are f32 and others dt, the operands of type dt are cast to f32.
//
// Operands of other types are not cast. A Function computes in f32; layers with custom gradients are Functions (batch norm, and
// recurrent layers in training). A tensor is in the scope if it was created from the view, was computed from such a tensor, or is
// a view that In returned for it. Parameters stay f32, and so do their gradients; weights are cast again at each use. Gradients
// in F16 may underflow unless the loss is multiplied by a large number first, and the gradients are divided by it: see
// optim.Scaler.
func Autocast(d *Device, dt dtype.DType, f func(d *Device) []*Tensor) []*Tensor {
	switch dt {
	case dtype.F16, dtype.BF16, dtype.F32:
	default:
		fail("autocast: got %v, want %v, %v or %v", dt, dtype.BF16, dtype.F16, dtype.F32)
	}
	if dt == dtype.F32 {
		dt = dtype.Invalid
	}
	return scoped(d, d.scope != nil && d.scope.mute, dt, f)
}

// autocast returns the operands of op c, cast to the types in which it computes. narrow is the type dt of Autocast.
func autocast(q *queue, s *scope, narrow dtype.DType, c op.Code, in []*Tensor) []*Tensor {
	from, to := narrow, dtype.F32
	switch program.PrecisionOf(c) {
	case program.Narrow:
		from, to = dtype.F32, narrow
	case program.Either:
		if c == op.Cast || !mixed(in, narrow) {
			return in
		}
	}
	return convert(q, s, from, to, in)
}

// convert returns a copy of in with operands of type from cast to type to.
func convert(q *queue, s *scope, from, to dtype.DType, in []*Tensor) []*Tensor {
	out := append([]*Tensor(nil), in...)
	for i, t := range in {
		if t.desc.DType == from {
			out[i] = applyIn(q, op.Cast, in[i:i+1], []op.Attr{op.Type("dtype", to)}, s, s, false)[0]
		}
	}
	return out
}

// releaseCasts releases the casts that convert has created from in, which nothing else uses.
func releaseCasts(casts, in []*Tensor) {
	for i, t := range casts {
		if t != in[i] {
			t.Release()
		}
	}
}

// mixed reports whether some operands are f32 and others of the narrow type.
func mixed(in []*Tensor, narrow dtype.DType) bool {
	wide, thin := false, false
	for _, t := range in {
		wide = wide || t.desc.DType == dtype.F32
		thin = thin || t.desc.DType == narrow
	}
	return wide && thin
}
