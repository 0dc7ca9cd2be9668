package gpu

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// prepare compiles a program: it recognizes composite nodes, decomposes nodes without kernels, computes on q whatever depends
// only on constants, and makes a plan of the rest.
func (d *device) prepare(ctx context.Context, q *queue, p *program.Program, consts []*block) (*plan, error) {
	c, err := program.Compile(p, d.kernel, program.Options{Rewrite: true, Known: q.contents(p.Consts, consts)})
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

const (
	maxKnown    = 1 << 10 // bytes of a constant whose elements rewrites may look at
	maxContents = 64      // number of such constants in one program: reading one waits for the queue
)

// contents returns the elements of small constants, nil for others.
func (q *queue) contents(descs []op.Desc, consts []*block) func(i int) []byte {
	known := map[int][]byte{}
	return func(i int) []byte {
		n := descs[i].Bytes()
		v, asked := known[i]
		if asked || n == 0 || n > maxKnown || len(known) == maxContents {
			return v
		}
		v = make([]byte, n)
		if q.Fetch(v, descs[i], consts[i]) != nil {
			v = nil
		} else if m, err := q.Record(); err != nil || m.Wait() != nil {
			v = nil // the next command reports a fault
		}
		known[i] = v
		return v
	}
}
