package shared

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// plan is a program that is defined in a library.
type plan struct {
	device  *device
	handle  uintptr
	program *program.Program
	release []func() // each releases a constant that the library keeps
}

// own returns the queue of the library to which a queue of the engine belongs.
func own(q engine.Queue[uintptr]) *queue {
	if m, ok := q.(*marked); ok {
		return m.queue
	}
	return q.(*queue)
}

// Plan implements engine.Planner.
func (v *device) Plan(ctx context.Context, eq engine.Queue[uintptr], p *program.Program, consts []engine.Const[uintptr]) (engine.Plan[uintptr], error) {
	if v.api.define == 0 {
		return nil, core.ErrUnsupported
	}
	q := own(eq)
	defer q.reset()
	nodes, err := q.nodes(v, p)
	if err != nil {
		return nil, err
	}
	values := make([]uintptr, len(consts))
	for i, c := range consts {
		values[i] = c.Value
	}
	cancel := place[int32](&q.arena, 0)
	defer context.AfterFunc(ctx, func() { atomic.StoreInt32(cancel, 1) })()
	keep, keepAt := zeroed[byte](&q.arena, len(consts))
	definition := put(&q.arena, cDefinition{head: headOf[cDefinition](), name: q.text(p.Name),
		nInputs: uint32(len(p.Inputs)), nConsts: uint32(len(p.Consts)), nNodes: uint32(len(p.Nodes)), nOutputs: uint32(len(p.Outputs)),
		inputs: q.descs(p.Inputs), consts: q.descs(p.Consts), values: putAll(&q.arena, values), keep: keepAt,
		nodes: putAll(&q.arena, nodes), outputs: putAll(&q.arena, p.Outputs), cancel: addressOf(cancel)})
	handle, err := q.get("program", v.api.define, q.handle, definition)
	if err != nil {
		return nil, q.blame(p, err)
	}
	made := &plan{device: v, handle: handle, program: p}
	for i, k := range keep {
		if k != 0 {
			made.release = append(made.release, consts[i].Retain())
		}
	}
	return made, nil
}

// nodes packs the nodes of a program.
func (c *caller) nodes(v *device, p *program.Program) ([]uintptr, error) {
	descs := map[op.TensorID]op.Desc{}
	know := func(ds []op.Desc) {
		for _, d := range ds {
			descs[d.ID] = d
		}
	}
	know(p.Inputs)
	know(p.Consts)
	nodes := make([]uintptr, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = descs[id]
		}
		number, err := v.numberOf(n)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		if err := v.caps.Check(n, in); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		nodes[i] = c.node(number, n, in)
		know(n.Outputs)
	}
	return nodes, nil
}

// blame adds to err the node of p that the last error refers to.
func (c *caller) blame(p *program.Program, err error) error {
	if k := int(c.err.node); k > 0 && k <= len(p.Nodes) {
		n := &p.Nodes[k-1]
		return &core.NodeError{Op: n.Op.String(), Program: p.Name, Outputs: n.Outputs, Err: err}
	}
	return err
}

// Run implements engine.Plan.
func (p *plan) Run(eq engine.Queue[uintptr], in []uintptr, owned []bool, out []uintptr) error {
	q := own(eq)
	defer q.reset()
	mine, mineAt := zeroed[byte](&q.arena, len(in))
	for i := range owned {
		if owned[i] {
			mine[i] = 1
		}
	}
	results, resultsAt := zeroed[uintptr](&q.arena, len(out))
	run := put(&q.arena, cRun{head: headOf[cRun](), program: p.handle, nInputs: uint32(len(in)), nOutputs: uint32(len(out)),
		in: putAll(&q.arena, in), owned: mineAt, out: resultsAt, cancel: addressOf(q.cancel)})
	if err := q.call(p.device.api.run, q.handle, run); err != nil {
		return q.blame(p.program, err)
	}
	for i := range owned {
		owned[i] = owned[i] && mine[i] != 0
	}
	copy(out, results)
	runtime.KeepAlive(p)
	return nil
}

// Close implements engine.Plan.
func (p *plan) Close() {
	tell(p.device.api.undefine, p.device.handle, p.handle)
	for _, f := range p.release {
		f()
	}
}
