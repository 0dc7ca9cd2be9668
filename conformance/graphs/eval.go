package graphs

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Expected contains the correct outputs of a graph and the allowed error of each element.
type Expected struct {
	Want []ref.Tensor
	// Slack is the error allowed per element of a float output. It is infinite where rounding may change a decision (a
	// comparison, the index of a maximum) that the value depends on. For integers and bools it is 0 or infinite.
	Slack [][]float64
}

// Expect evaluates g with the reference. Slack is derived from three evaluations of the same graph: in its own types, with f32 as
// f64, and with inputs changed by about a rounding error.
func (g *Graph) Expect(r *rand.Rand) (*Expected, error) {
	own, err := g.eval(false, nil)
	if err != nil {
		return nil, err
	}
	wide, err := g.eval(true, nil)
	if err != nil {
		return nil, err
	}
	looks := [][]ref.Tensor{wide}
	for range 2 {
		near, err := g.eval(true, r)
		if err != nil {
			return nil, err
		}
		looks = append(looks, near)
	}
	e := &Expected{Want: own, Slack: make([][]float64, len(own))}
	for i, want := range own {
		n := want.Desc.Shape.Size()
		e.Slack[i] = make([]float64, n)
		scale := 0.0
		for _, f := range want.F {
			if a := math.Abs(f); !math.IsInf(a, 0) {
				scale = max(scale, a)
			}
		}
		for k := range n {
			if want.F == nil {
				for _, l := range looks {
					if l[i].I[k] != want.I[k] {
						e.Slack[i][k] = math.Inf(1)
					}
				}
				continue
			}
			slack := 1e-5 * max(scale, 1e-3)
			for _, l := range looks {
				d := math.Abs(l[i].F[k] - want.F[k])
				if math.IsNaN(l[i].F[k]) != math.IsNaN(want.F[k]) || d > 1e-2*max(scale, 1e-3) {
					d = math.Inf(1)
				}
				if !math.IsNaN(d) {
					slack = max(slack, 64*d)
				}
			}
			e.Slack[i][k] = slack
		}
	}
	return e, nil
}

// eval evaluates the nodes with the reference, in f64 instead of f32 if wide is set. Unless near is nil, it changes inputs and constants by up
// to 1e-7 of their magnitude.
func (g *Graph) eval(wide bool, near *rand.Rand) ([]ref.Tensor, error) {
	at := map[op.TensorID]ref.Tensor{}
	as := func(d dtype.DType) dtype.DType {
		if wide && d == dtype.F32 {
			return dtype.F64
		}
		return d
	}
	bind := func(ds []op.Desc, ts []ref.Tensor) {
		for i, d := range ds {
			t := ts[i].Clone()
			t.Desc = op.Desc{ID: d.ID, DType: as(d.DType), Shape: d.Shape}
			for k := range t.F {
				if near != nil {
					t.F[k] *= 1 + 1e-7*(2*near.Float64()-1)
				}
			}
			at[d.ID] = t
		}
	}
	bind(g.Program.Inputs, g.Inputs)
	bind(g.Program.Consts, g.Consts)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		in, descs := make([]ref.Tensor, len(n.Inputs)), make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = at[id]
			descs[k] = in[k].Desc
		}
		attrs := make([]op.Attr, len(n.Attrs))
		for k, a := range n.Attrs {
			if attrs[k] = a; a.Value.Kind() == op.KindDType {
				attrs[k] = op.Type(a.Name, as(a.Value.DType()))
			}
		}
		m, err := op.New(n.Op, descs, attrs...)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		outs, err := ref.Eval(&m, in)
		if err != nil {
			return nil, fmt.Errorf("node %d: %v: %w", i, n, err)
		}
		for k, o := range outs {
			o.Desc.ID = n.Outputs[k].ID
			at[n.Outputs[k].ID] = o
		}
	}
	outs := make([]ref.Tensor, len(g.Program.Outputs))
	for i, id := range g.Program.Outputs {
		outs[i] = at[id]
	}
	return outs, nil
}

// Check compares outputs with e and describes the first difference.
func (e *Expected) Check(got []ref.Tensor) error {
	for i, want := range e.Want {
		if !got[i].Desc.SameType(want.Desc) {
			return fmt.Errorf("output %d is %v, want %v", i, got[i].Desc, want.Desc)
		}
		for k, slack := range e.Slack[i] {
			if want.F == nil {
				if slack == 0 && got[i].I[k] != want.I[k] {
					return fmt.Errorf("output %d (%v): element %d is %d, want %d", i, want.Desc, k, got[i].I[k], want.I[k])
				}
				continue
			}
			g, w := got[i].F[k], want.F[k]
			if g == w || math.IsNaN(g) && math.IsNaN(w) || math.IsInf(slack, 1) || math.Abs(g-w) <= slack {
				continue
			}
			return fmt.Errorf("output %d (%v): element %d is %v, want %v within %.3g", i, want.Desc, k, g, w, slack)
		}
	}
	return nil
}
