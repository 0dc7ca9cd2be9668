package place

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Alone returns a unit as a program, with ids that depend only on the unit.
func Alone(p *program.Program, units []*Unit, i int) *program.Program {
	x := Part{Units: []int{i}}
	x.build(p, units)
	return Canonical(x.Program)
}

// Canonical returns p with ids from 1 in the order of their definition, and no name.
func Canonical(p *program.Program) *program.Program {
	ids := map[op.TensorID]op.TensorID{}
	define := func(ds []op.Desc) []op.Desc {
		ds = slices.Clone(ds)
		for i := range ds {
			ids[ds[i].ID] = op.TensorID(len(ids) + 1)
			ds[i].ID = ids[ds[i].ID]
		}
		return ds
	}
	use := func(list []op.TensorID) []op.TensorID {
		list = slices.Clone(list)
		for i := range list {
			list[i] = ids[list[i]]
		}
		return list
	}
	q := &program.Program{Inputs: define(p.Inputs), Consts: define(p.Consts), Nodes: slices.Clone(p.Nodes)}
	for i := range q.Nodes {
		n := &q.Nodes[i]
		n.Inputs, n.Outputs, n.Drop = use(n.Inputs), define(n.Outputs), 0
	}
	q.Outputs = use(p.Outputs)
	return q
}

// Key returns the key of a canonical program, for caches.
func Key(p *program.Program) string {
	sum := sha256.Sum256([]byte(p.String()))
	return hex.EncodeToString(sum[:16])
}
