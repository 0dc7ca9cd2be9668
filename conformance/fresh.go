package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Numbers of fresh cases in each mode.
const (
	freshGraphs = 6
	freshModels = 3
	freshDraws  = 64 // number of draws until a graph is found whose types the backend supports
)

// freshCases returns cases of programs whose structure, shapes and values are drawn from the seed, so that a backend cannot know
// them in advance, and relations between results of a backend that hold for any values.
func freshCases() []testCase {
	var cases []testCase
	add := func(id string, run func(ctx context.Context, q *queue) error) {
		c := contract(id, run)
		c.fresh = true
		cases = append(cases, c)
	}
	for _, m := range graphs.Modes() {
		for i := range freshGraphs {
			id := fmt.Sprintf("fresh/graph/%s/%d", m, i)
			add(id, func(ctx context.Context, q *queue) error { return q.graph(ctx, id, graphs.Random, m) })
		}
	}
	for _, m := range []graphs.Mode{graphs.Nodes, graphs.AsProgram} {
		for i := range freshModels {
			id := fmt.Sprintf("fresh/model/%s/%d", m, i)
			add(id, func(ctx context.Context, q *queue) error { return q.graph(ctx, id, graphs.Model, m) })
		}
	}
	for _, rel := range relations {
		for _, f := range rowwises {
			if rel.linear && !f.linear {
				continue
			}
			id := "fresh/" + rel.name + "/" + f.name
			add(id, func(ctx context.Context, q *queue) error { return q.relation(ctx, id, rel, f) })
		}
	}
	return cases
}

// graph draws graphs until the device supports one, computes it in mode m, and compares the results with the reference. It returns a skip if
// the device supports none.
func (q *queue) graph(ctx context.Context, id string, draw func(*rand.Rand) *graphs.Graph, m graphs.Mode) error {
	if m == graphs.AsProgram || m == graphs.Donating {
		if _, err := needs[core.Programs](q.dev, "programs"); err != nil {
			return err
		}
	}
	r := q.random(id)
	for range freshDraws {
		g := draw(r)
		if typesOfProgram(g.Program)&^q.dev.Capabilities().Types != 0 {
			continue
		}
		want, err := g.Expect(r)
		if err != nil {
			return fmt.Errorf("the suite made a faulty graph: %w", err)
		}
		got, err := g.RunOn(ctx, q.backend.Info().Name, q.dev, q.Stream, m)
		if errors.Is(err, core.ErrUnsupported) && !q.owed(g.Program) {
			continue
		}
		if err == nil {
			err = want.Check(got)
		}
		if err != nil {
			return fmt.Errorf("%w\n%v", err, g.Program)
		}
		return nil
	}
	return skip{fmt.Sprintf("the device does not claim all nodes of any of %d graphs", freshDraws)}
}

// typesOfProgram returns the element types of all tensors of p.
func typesOfProgram(p *program.Program) dtype.Set {
	var s dtype.Set
	for _, d := range p.Descs() {
		s |= dtype.SetOf(d.DType)
	}
	return s
}

// owed reports whether the backend must run p: the document allows all nodes that p is lowered to.
func (q *queue) owed(p *program.Program) bool {
	_, err := program.Lower(core.TargetOf(q.backend.Info().Name, q.dev), p)
	return err == nil
}

// lowered submits n on the operands descs, decomposed if the device does not claim it, and returns its results.
func (q *queue) lowered(ctx context.Context, n op.Node, descs []op.Desc) ([]op.Desc, error) {
	n.Outputs = q.renewed(n.Outputs)
	nodes, free, err := program.LowerNode(core.TargetOf(q.backend.Info().Name, q.dev), &n, descs, q.id)
	if errors.Is(err, core.ErrUnsupported) {
		return nil, skip{fmt.Sprintf("not claimed: %v on %v", n.Op, n.FirstType(descs))}
	}
	if err != nil {
		return nil, err
	}
	return n.Outputs, q.Submit(nodes, free)
}
