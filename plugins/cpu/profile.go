package cpu

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// describe returns a step's entry in a profile: the nodes of its kernel, their external operands, and the results.
func (pl *plan) describe(st *step) core.ProfileStep {
	p := pl.program
	types := map[op.TensorID]op.Desc{}
	for _, list := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range list {
			types[d.ID] = d
		}
	}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			types[d.ID] = d
		}
	}
	s := engine.FusedStep(st.all, func(id op.TensorID) op.Desc { return types[id] }, st.desc)
	if st.assembled {
		s.Bytes = 0
	}
	return s
}
