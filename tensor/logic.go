package tensor

import "github.com/goburn/burn/core/op"

// And returns the logical and of bools, or the bitwise and of integers.
func (t *Tensor) And(o *Tensor) *Tensor { return t.bin(op.And, o) }

// Or returns the logical or of bools, or the bitwise or of integers.
func (t *Tensor) Or(o *Tensor) *Tensor { return t.bin(op.Or, o) }

// Xor returns the logical exclusive or of bools, or the bitwise exclusive or of integers.
func (t *Tensor) Xor(o *Tensor) *Tensor { return t.bin(op.Xor, o) }

// Shl returns t shifted left by o bits; 0 if o, taken as unsigned, is at least the width of the type.
func (t *Tensor) Shl(o *Tensor) *Tensor { return t.bin(op.Shl, o) }

// Shr returns t shifted right by o bits, keeping the sign of signed types. o is taken as unsigned, and counts as the width of the
// type if it is greater.
func (t *Tensor) Shr(o *Tensor) *Tensor { return t.bin(op.Shr, o) }

// AndScalar returns the bitwise and with v.
func (t *Tensor) AndScalar(v int64) *Tensor { return t.withInt((*Tensor).And, v) }

// OrScalar returns the bitwise or with v.
func (t *Tensor) OrScalar(v int64) *Tensor { return t.withInt((*Tensor).Or, v) }

// XorScalar returns the bitwise exclusive or with v.
func (t *Tensor) XorScalar(v int64) *Tensor { return t.withInt((*Tensor).Xor, v) }

// ShlScalar returns t shifted left by n bits.
func (t *Tensor) ShlScalar(n int) *Tensor { return t.withInt((*Tensor).Shl, int64(n)) }

// ShrScalar returns t shifted right by n bits, keeping the sign of signed types.
func (t *Tensor) ShrScalar(n int) *Tensor { return t.withInt((*Tensor).Shr, int64(n)) }

// Where returns a where t is true, else b; t is bool and all three broadcast.
func (t *Tensor) Where(a, b *Tensor) *Tensor { return Op(op.Where, []*Tensor{t, a, b})[0] }

// MaskWhere returns o where mask is true, else t; all three broadcast.
func (t *Tensor) MaskWhere(mask, o *Tensor) *Tensor { return mask.Where(o, t) }

// MaskFill returns v where mask is true, else t.
func (t *Tensor) MaskFill(mask *Tensor, v float64) *Tensor {
	return t.withNumber(func(a, b *Tensor) *Tensor { return mask.Where(b, a) }, v)
}
