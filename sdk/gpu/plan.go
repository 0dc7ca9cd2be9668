package gpu

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/engine"
)

// plan is a compiled program: steps on buffers. Temporaries have places in the scratch memory of the queue that runs the plan. A plan is
// immutable; each queue has a frame of the plan.
type plan struct {
	device  *device
	name    string
	graph   *group.Graph
	inputs  []op.Desc
	outputs []output
	made    []int   // the buffers of outputs that runs allocate, by number of the output block
	donors  []int   // by output block: the input whose memory the block reuses if the input is donated, or none
	further [][]int // by output block: the inputs that the block may reuse if its donor is not donated; nil: none
	consts  []*block
	buffers []buffer
	steps   []step
	scratch int64
	faults  bool
	graphs  bool // device graphs are worthwhile

	holders atomic.Int32

	mu     sync.Mutex // guards the fields below
	queues []*queue   // queues that have a frame
}

var (
	_ engine.Plan[*block]     = (*plan)(nil)
	_ engine.Profiled[*block] = (*plan)(nil)
)

// output is the place of a result of the program.
type output struct {
	buffer int
	desc   op.Desc
}

// Close implements engine.Plan.
func (p *plan) Close() { p.drop() }

// drop removes a holder. With the last holder, it releases the resources of the plan.
func (p *plan) drop() {
	if p.holders.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	queues := p.queues
	p.queues = nil
	p.mu.Unlock()
	for _, q := range queues {
		q.mu.Lock()
		if f := q.frames[p]; f != nil {
			delete(q.frames, p)
			f.close(q)
		}
		q.mu.Unlock()
	}
	for _, b := range p.consts {
		p.device.pool.release(b)
	}
}

// forget is called when a queue with a frame is closed.
func (p *plan) forget(q *queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.queues {
		if x == q {
			p.queues = append(p.queues[:i], p.queues[i+1:]...)
			return
		}
	}
}

// Run implements engine.Plan.
func (p *plan) Run(eq engine.Queue[*block], in []*block, owned []bool, out []*block) error {
	return p.run(eq.(*queue), in, owned, out, nil)
}

// RunProfiled implements engine.Profiled.
func (p *plan) RunProfiled(eq engine.Queue[*block], in []*block, owned []bool, out []*block, t *engine.Steps) error {
	return p.run(eq.(*queue), in, owned, out, t)
}

// run starts the steps on a queue.
func (p *plan) run(q *queue, in []*block, owned []bool, out []*block, t *engine.Steps) error {
	if err := p.device.dead(); err != nil {
		return err
	}
	pool := p.device.pool
	for _, b := range in {
		pool.touch(&q.tenant, b)
	}
	if p.faults {
		if err := q.faults.reserve(q); err != nil {
			return err
		}
	}
	if p.graphs {
		if err := pool.calm(q); err != nil {
			return err
		}
	}
	made := q.buffer.blocks[:0]
	for k, i := range p.made {
		if d := p.donor(k, owned, in, &q.tenant); d != none {
			owned[d] = false
			made = append(made, in[d])
			continue
		}
		b, err := pool.alloc(&q.tenant, p.buffers[i].bytes, forTensor)
		if err != nil {
			p.undo(made)
			return err
		}
		made = append(made, b)
	}
	q.buffer.blocks = made
	if err := p.start(q, in, made, t); err != nil {
		p.undo(made)
		return err
	}
	for k := range out {
		switch x := &p.buffers[p.outputs[k].buffer]; x.kind {
		case isInput:
			out[k] = in[x.index].retain()
		case isConstant:
			pool.touch(&q.tenant, x.block)
			out[k] = x.block.retain()
		default:
			b := made[p.block(p.outputs[k].buffer)]
			if x.index != k { // another output has the same elements
				b.retain()
			}
			out[k] = b
		}
	}
	clear(made)
	return nil
}

// donor returns the input whose memory output block k reuses, or none if the block gets memory of its own.
func (p *plan) donor(k int, owned []bool, in []*block, t *tenant) int {
	if d := p.donors[k]; d != none && owned[d] && in[d].sole(t) {
		return d
	}
	if p.further != nil {
		for _, d := range p.further[k] {
			if owned[d] && in[d].sole(t) {
				return d
			}
		}
	}
	return none
}

// undo releases the outputs of a run that failed.
func (p *plan) undo(made []*block) {
	for _, b := range made {
		p.device.pool.release(b)
	}
	clear(made)
}

// block returns the number of the output block that is buffer i.
func (p *plan) block(i int) int {
	for k, m := range p.made {
		if m == i {
			return k
		}
	}
	return none
}

// start binds the frame of the queue and starts its steps.
func (p *plan) start(q *queue, in, made []*block, t *engine.Steps) error {
	if len(p.steps) == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = true
	defer func() { q.running = false }()
	f := q.frames[p]
	if f == nil {
		f = newFrame(p)
		q.frames[p] = f
		p.mu.Lock()
		p.queues = append(p.queues, q)
		p.mu.Unlock()
	}
	q.seq++
	var word Ref
	if p.faults {
		var err error
		if word, err = q.faults.word(q); err != nil {
			return err
		}
	}
	f.runs++
	for at := 0; ; {
		ready, err := f.bind(q, in, made, word)
		if err != nil {
			return err
		}
		if !ready {
			if err := f.growScratch(q); err != nil {
				return err
			}
			continue
		}
		if at == 0 {
			if err := p.scribble(q, in, made); err != nil {
				return err
			}
		}
		if t != nil {
			return f.profile(q, t)
		}
		if at, err = f.run(q, at); err == nil || !errors.Is(err, errAgain) {
			return err
		}
	}
}

// failed returns the error of a step.
func (p *plan) failed(i int, err error) error {
	st := &p.steps[i]
	return &core.NodeError{Op: st.node.Op.String(), Outputs: st.node.Outputs, Err: err}
}
