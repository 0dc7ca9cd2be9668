package lower

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// products is the rules of single products and convolutions.
var products = map[op.Code]Rule{}

// productGroup is the work of a product or convolution with what follows it.
func productGroup(_ template.Target, _ *group.Graph, x *group.Group, _, _ []template.Operand) (ir.Work, error) {
	return ir.Work{}, fmt.Errorf("a %v has no kernel: %w", x.Kind, core.ErrUnsupported)
}

// acceptProduct reports whether productGroup takes x.
func acceptProduct(template.Target, *group.Graph, *group.Group) bool { return false }
