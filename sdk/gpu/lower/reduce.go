package lower

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// reducer is how an op joins elements.
type reducer struct{}

var reducers = map[op.Code]*reducer{}

func (f *form) reduction() (ir.Work, error) {
	return ir.Work{}, fmt.Errorf("reduction: %w", core.ErrUnsupported)
}

func (f *form) norm() (ir.Work, error) {
	return ir.Work{}, fmt.Errorf("norm: %w", core.ErrUnsupported)
}
