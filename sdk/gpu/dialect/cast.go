package dialect

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
)

// cast returns the expression of a conversion. Conversions that the dialect's table lacks are composed: floats of 16 bits go through f32.
// Integers whose conversion to f32 is inexact must be in the table.
func (p *printer) cast(to, from dtype.DType, x string) string {
	if form, ok := p.d.casts[[2]dtype.DType{from, to}]; ok {
		return fmt.Sprintf(form, x)
	}
	small := dtype.SetOf(dtype.F16, dtype.BF16)
	switch {
	case dtype.Smalls.Has(from) || dtype.Smalls.Has(to):
		p.fail("the language has no cast of %v to %v", from, to)
		return ""
	case to == dtype.Bool && small.Has(from):
		return fmt.Sprintf("(%s & %s) != %s", x, p.d.literal(from, 0x7fff), p.d.literal(from, 0))
	case to == dtype.Bool:
		return fmt.Sprintf("%s != %s", x, p.d.literal(from, 0))
	case small.Has(from):
		return p.cast(to, dtype.F32, p.cast(dtype.F32, from, x))
	case small.Has(to):
		return p.cast(to, dtype.F32, p.cast(dtype.F32, from, x))
	}
	return p.typ(to) + "(" + x + ")"
}
