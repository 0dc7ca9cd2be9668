// Package graphs generates small random graphs of ops and compares a backend's results with conformance/ref: node by node, as a
// program, and decomposed into primitives. Package conformance calls it. The other cases of the suite test one op at a time; this package
// tests interactions between ops: fusion, in-place reuse of buffers, views, constant folding. It must not depend on a particular backend.
package graphs

import (
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
)

// Graph is a program with values for its inputs and constants.
type Graph struct {
	*program.Program
	Inputs []ref.Tensor // values of Program.Inputs
	Consts []ref.Tensor // values of Program.Consts
}

// Random draws a graph in 2 to 12 steps, each of which adds an op and the nodes that it needs, for example to bound its result. Equal
// generators result in equal graphs. Magnitudes stay moderate, so that results are comparable.
func Random(r *rand.Rand) *Graph {
	d := &drawer{r: r, g: &Graph{Program: &program.Program{Name: "random"}}}
	d.b = op.NewBuilder(func() op.TensorID { d.last++; return d.last })
	kind := []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.F32, dtype.I32, dtype.I64}[r.IntN(6)]
	s := d.shape()
	for range 1 + r.IntN(3) {
		d.source(kind, s)
		s = d.related(s)
	}
	for range 2 + r.IntN(11) {
		for range 8 { // an op that fits is found soon
			if d.node() {
				break
			}
		}
	}
	d.g.Nodes = d.b.Nodes
	outs := map[op.TensorID]bool{d.pool[len(d.pool)-1].ID: true}
	for range r.IntN(3) {
		outs[d.pool[r.IntN(len(d.pool))].ID] = true
	}
	for _, v := range d.pool {
		if outs[v.ID] {
			d.g.Outputs = append(d.g.Outputs, v.ID)
		}
	}
	return d.g
}

type drawer struct {
	r    *rand.Rand
	b    *op.Builder
	last op.TensorID
	g    *Graph
	pool []op.Desc
}

func (d *drawer) shape() shape.Shape {
	s := make(shape.Shape, d.r.IntN(5))
	for i := range s {
		s[i] = []int{1, 1, 2, 3, 4, 5, 7, 16, 33}[d.r.IntN(9)]
	}
	for s.Size() > 4096 {
		s = s[1:]
	}
	return s
}

// related returns a shape that broadcasts with s.
func (d *drawer) related(s shape.Shape) shape.Shape {
	t := s.Clone()[d.r.IntN(len(s)+1):]
	for i := range t {
		if d.r.IntN(3) == 0 {
			t[i] = 1
		}
	}
	return t
}

// source adds an input or a constant and returns it.
func (d *drawer) source(k dtype.DType, s shape.Shape) op.Desc {
	d.last++
	desc := op.Desc{ID: d.last, DType: k, Shape: s}
	t := ref.Zeros(desc)
	for i := range t.F {
		t.F[i] = ref.Round(k, 2*d.r.Float64()-1)
	}
	for i := range t.I {
		t.I[i] = d.r.Int64N(19) - 9
		if k == dtype.Bool {
			t.I[i] = d.r.Int64N(2)
		}
	}
	if d.r.IntN(2) == 0 {
		d.g.Program.Consts, d.g.Consts = append(d.g.Program.Consts, desc), append(d.g.Consts, t)
	} else {
		d.g.Program.Inputs, d.g.Inputs = append(d.g.Program.Inputs, desc), append(d.g.Inputs, t)
	}
	d.pool = append(d.pool, desc)
	return desc
}

func (d *drawer) pick() op.Desc {
	if d.r.IntN(2) == 0 { // fusion needs chains
		return d.pool[len(d.pool)-1]
	}
	return d.pool[d.r.IntN(len(d.pool))]
}

// node tries to append an op with the nodes that it needs. It reports whether the op fits.
func (d *drawer) node() bool {
	x := d.pick()
	if d.r.IntN(8) == 0 && len(x.Shape) < 3 && x.Shape.Size() <= 512 {
		d.source(x.DType, d.related(x.Shape))
	}
	before := d.b.Nodes
	y := kinds[d.r.IntN(len(kinds))](d, x)
	if d.b.Err() != nil || y.ID == 0 || y.Shape.Size() > 1<<14 || y.ID == x.ID {
		d.b = op.NewBuilder(func() op.TensorID { d.last++; return d.last })
		d.b.Nodes = before
		return false
	}
	d.pool = append(d.pool, y)
	return true
}

// bounded limits floats to a moderate range.
func (d *drawer) bounded(y op.Desc) op.Desc {
	if y.DType.IsFloat() {
		return d.b.Un(op.Clamp, y, op.ScalarFloat("min", -8), op.ScalarFloat("max", 8))
	}
	return y
}
