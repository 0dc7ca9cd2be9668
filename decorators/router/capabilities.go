package router

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Supports implements core.Selective.
func (d *device) Supports(n *op.Node, in []op.Desc) error {
	if d.claims.Uniform() || d.router.strict && !d.members[0].selective {
		return nil
	}
	if d.router.strict {
		return d.claims.Ask(n, in).Refusals[0]
	}
	var refusal error
	for i, err := range d.claims.Ask(n, in).Refusals {
		if err == nil && d.members[i].Gone() == nil {
			return nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	if refusal == nil {
		return fmt.Errorf("router: %v: the member that has it is lost: %w", n.Op, core.ErrUnsupported)
	}
	return refusal
}
