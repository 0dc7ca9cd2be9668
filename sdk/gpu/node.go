package gpu

import (
	"context"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// buffers holds slices that each command of the executor uses again.
type buffers struct {
	key    []byte
	blocks []*block
	owned  []bool
}

// Execute implements engine.Queue: a node is a program of its own, whose plan is kept.
func (q *queue) Execute(c *engine.Call[*block]) error {
	p, err := q.device.nodes.get(q, c.Node, c.Descs)
	if err != nil {
		return err
	}
	owned := q.buffer.owned[:0]
	for i := range c.In {
		owned = append(owned, i < 64 && c.Owned>>i&1 != 0)
	}
	q.buffer.owned = owned
	q.single = true
	err = p.run(q, c.In, owned, c.Out, nil)
	q.single = false
	q.device.count(func(s *Stats) { s.Nodes++ })
	p.drop()
	for i, o := range owned {
		if !o && i < 64 && c.Owned>>i&1 != 0 {
			c.Take(i)
		}
	}
	return err
}

// nodeCache caches plans of nodes by everything that they depend on: the op, its attributes, and the types of operands and
// results.
type nodeCache struct {
	limit int64

	mu     sync.Mutex // guards the fields below
	plans  map[string]*cached
	newest *cached // ring in the order of use
	bytes  int64
}

// cached is a plan in the cache.
type cached struct {
	key        string
	plan       *plan
	bytes      int64
	prev, next *cached
}

func newNodeCache(limit int64) *nodeCache {
	return &nodeCache{limit: limit, plans: map[string]*cached{}}
}

// get returns the plan of a node. The caller becomes a holder of the plan.
func (x *nodeCache) get(q *queue, n *op.Node, in []op.Desc) (*plan, error) {
	q.buffer.key = op.AppendKey(q.buffer.key[:0], n, in)
	x.mu.Lock()
	if c := x.plans[string(q.buffer.key)]; c != nil {
		x.first(c)
		c.plan.holders.Add(1)
		x.mu.Unlock()
		return c.plan, nil
	}
	x.mu.Unlock()
	p, err := q.device.single(n, in)
	if err != nil {
		return nil, err
	}
	q.device.count(func(s *Stats) { s.NodePlans++ })
	x.put(string(q.buffer.key), p)
	return p, nil
}

// put adds a plan to the cache. If the cache is then too large, put evicts the least recently used plans.
func (x *nodeCache) put(key string, p *plan) {
	var old []*plan
	x.mu.Lock()
	if _, twice := x.plans[key]; !twice {
		c := &cached{key: key, plan: p, bytes: p.estimate() + int64(len(key))}
		p.holders.Add(1)
		x.plans[key] = c
		x.bytes += c.bytes
		x.link(c)
		for x.bytes > x.limit && x.newest.prev != c {
			last := x.newest.prev
			x.unlink(last)
			delete(x.plans, last.key)
			x.bytes -= last.bytes
			old = append(old, last.plan)
		}
	}
	x.mu.Unlock()
	for _, p := range old {
		p.drop()
	}
}

func (x *nodeCache) first(c *cached) {
	if x.newest != c {
		x.unlink(c)
		x.link(c)
	}
}

func (x *nodeCache) link(c *cached) {
	if x.newest == nil {
		c.prev, c.next = c, c
	} else {
		c.next, c.prev = x.newest, x.newest.prev
		c.prev.next, c.next.prev = c, c
	}
	x.newest = c
}

func (x *nodeCache) unlink(c *cached) {
	if c.next == c {
		x.newest = nil
		return
	}
	c.prev.next, c.next.prev = c.next, c.prev
	if x.newest == c {
		x.newest = c.next
	}
}

func (x *nodeCache) size() (plans int, bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.plans), x.bytes
}

func (x *nodeCache) close() {
	x.mu.Lock()
	plans := x.plans
	x.plans, x.newest, x.bytes = map[string]*cached{}, nil, 0
	x.mu.Unlock()
	for _, c := range plans {
		c.plan.drop()
	}
}

// single creates a plan of one node.
func (d *device) single(n *op.Node, in []op.Desc) (*plan, error) {
	p, err := d.alone(n, in)
	if err != nil {
		return nil, err
	}
	x, err := d.build(context.Background(), nil, p, nil)
	if err == nil {
		x.holders.Store(1)
	}
	return x, unwrapped(err)
}

// alone returns a program that computes one node with nodes that have kernels. Shapes are copied, because the program outlives the node.
func (d *device) alone(n *op.Node, in []op.Desc) (*program.Program, error) {
	p := &program.Program{Name: n.Op.String()}
	m := *n
	m.Drop, m.Inputs, m.Outputs = 0, nil, nil
	id := op.TensorID(0)
	define := func(x op.Desc) op.Desc {
		id++
		return op.Desc{ID: id, DType: x.DType, Shape: x.Shape.Clone()}
	}
	for _, x := range in {
		x = define(x)
		p.Inputs = append(p.Inputs, x)
		m.Inputs = append(m.Inputs, x.ID)
	}
	for _, x := range n.Outputs {
		x = define(x)
		m.Outputs = append(m.Outputs, x)
		p.Outputs = append(p.Outputs, x.ID)
	}
	p.Nodes = []op.Node{m}
	q, err := program.Lower(d.kernel, p)
	if err != nil {
		return nil, err
	}
	if len(q.Nodes) > 1 {
		q = q.Live()
	}
	return q, nil
}

// unwrapped returns the cause of a NodeError: the engine names the node.
func unwrapped(err error) error {
	if n, ok := err.(*core.NodeError); ok {
		return n.Err
	}
	return err
}

// estimate returns the bytes of host memory that a plan and one frame of the plan occupy.
func (p *plan) estimate() int64 {
	n := int64(1024 + 256*len(p.buffers))
	for i := range p.steps {
		n += 512 + 96*int64(len(p.steps[i].args))
	}
	return n
}
