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
//   - Ops whose results need the range or the precision of f32 (exp, log, pow, sums, norms, softmax, losses) have operands of dt
//     cast to f32, and give f32.
//   - All others take their operands as they are; where one is f32 and another dt, both are f32.
//
// Operands of other types are left alone. A Function computes in f32; layers with custom gradients are Functions (batch norm, and
// recurrent layers in training). A tensor is in the scope if it was made from the view, computed from such a tensor, or is seen
// from the view by In. Parameters stay f32, and so do their gradients; weights are cast anew at each use. Gradients in F16 may
// underflow unless the loss is multiplied with a large number first, and the gradients divided by it: see optim.Scaler.
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

// autocast returns the operands of an op converted to the types that it computes in; narrow is the narrow type.
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

// releaseCasts releases the operands that convert has made of in: nothing else uses them.
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
