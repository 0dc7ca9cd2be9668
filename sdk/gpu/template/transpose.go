package template

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// transposed is the kernel of an elementwise computation where an operand lies across the results; false where none does.
func transposed(t Target, name string, space shape.Shape, in, out []Operand, body Body) (ir.Launch, bool) {
	return ir.Launch{}, false
}
