package gpu

import (
	"context"

	"github.com/goburn/burn/core/program"
)

// prepare makes a program ready: composite nodes are found and nodes without kernels decomposed, what depends on constants alone
// is computed on q, and the rest becomes a plan.
func (d *device) prepare(ctx context.Context, q *queue, p *program.Program, consts []*block) (*plan, error) {
	c, err := program.Compile(p, d.kernel, program.Options{Rewrite: true})
	if err != nil {
		return nil, err
	}
	x, err := d.build(ctx, q, c.Program, consts)
	if err != nil {
		return nil, err
	}
	x.name, x.graphs = p.Name, true
	x.holders.Store(1)
	return x, nil
}
