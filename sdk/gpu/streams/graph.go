package streams

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// graph is a graph that was built from steps and instantiated. The graph itself is kept as long as the instance, since its nodes identify
// the nodes of the instance.
type graph struct {
	device *GPU
	graph  Graph
	exec   Exec
	nodes  []Node
	steps  []*function   // by step: the function of a launch
	name   string        // name of the graph in errors
	packer               // arguments of changed launches
	calls  map[int]bool  // steps that are calls of libraries
	native map[int]Graph // by step: the graph that a library wrote for a call
}

// NewGraph implements gpu.Grapher.
func (d *GPU) NewGraph(steps []gpu.Step) (gpu.Graph, error) {
	g := &graph{device: d, nodes: make([]Node, len(steps)), steps: make([]*function, len(steps)), calls: map[int]bool{}, native: map[int]Graph{}}
	err := d.Do("graph", func() (err error) {
		if g.graph, err = d.calls.NewGraph(); err != nil {
			return err
		}
		for i := range steps {
			if err = g.add(steps, i); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		g.name = g.describe()
		g.exec, err = d.calls.Instantiate(g.graph)
		return err
	})
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// dependencies returns the nodes on which step i depends.
func (g *graph) dependencies(steps []gpu.Step, i int) []Node {
	if steps[i].After == nil {
		if i == 0 {
			return nil
		}
		return g.nodes[i-1 : i]
	}
	deps := make([]Node, len(steps[i].After))
	for k, a := range steps[i].After {
		deps[k] = g.nodes[a]
	}
	return deps
}

// add adds the node of step i.
func (g *graph) add(steps []gpu.Step, i int) (err error) {
	d, s, deps := g.device, &steps[i], g.dependencies(steps, i)
	switch {
	case s.Launch != nil:
		f := s.Launch.Function.(*function)
		g.steps[i] = f
		var a *Args
		if a, err = g.pack(s.Launch); err == nil {
			g.nodes[i], err = d.calls.AddKernel(g.graph, deps, f.f, dim(s.Launch.Grid), f.block, f.shared, a)
		}
		runtime.KeepAlive(a)
	case s.Copy != nil:
		g.nodes[i], err = d.calls.AddCopy(g.graph, deps, Address(s.Copy.Dst), Address(s.Copy.Src), uint64(s.Copy.Bytes), d.ctx)
	case s.Fill != nil:
		f := s.Fill
		g.nodes[i], err = d.calls.AddSet(g.graph, deps, Address(f.Dst), f.Pattern, f.Width, uint64(f.Bytes)/uint64(f.Width), d.ctx)
	case s.Call != nil:
		g.calls[i] = true
		g.nodes[i], err = g.addCall(i, deps, s.Call)
	default:
		err = fmt.Errorf("neither launch, call, copy nor fill: %w", core.ErrKernel)
	}
	return err
}

// Native is an optional interface of a gpu.Candidate that writes its calls as graphs. The context is current for all of its methods, and
// the goroutine bound to its thread.
type Native interface {
	// Native reports whether this candidate can write its calls as graphs.
	Native() bool
	// Populate writes a call into an empty graph.
	Populate(args []gpu.Ref, workspace gpu.Ref, g Graph) error
	// Update changes the operands in a graph that Populate wrote.
	Update(args []gpu.Ref, workspace gpu.Ref, g Graph) error
}

// addCall adds a library call as a child graph: either a graph that the library writes, whose operands can be changed, or a graph that is
// captured from the call.
func (g *graph) addCall(i int, deps []Node, c *gpu.Call) (Node, error) {
	d := g.device
	if p, ok := c.Candidate.(Native); ok && p.Native() {
		child, err := d.calls.NewGraph()
		if err != nil {
			return 0, err
		}
		if err = p.Populate(c.Args, c.Workspace, child); err == nil {
			g.native[i] = child
			return d.calls.AddChild(g.graph, deps, child)
		}
		if err = d.calls.DestroyGraph(child); err != nil {
			return 0, err
		}
	}
	child, err := d.capture(c)
	if err != nil {
		return 0, err
	}
	n, err := d.calls.AddChild(g.graph, deps, child)
	return n, errors.Join(err, d.calls.DestroyGraph(child)) // the node has a copy of the child
}

// updateCall changes the operands of a call: in the graph that the library wrote for it, or by capturing the call again. The new capture
// has the same nodes with other arguments, unless the library chose other kernels for these arguments; then the driver refuses the change.
// The context is current, and the goroutine bound to its thread.
func (g *graph) updateCall(i int, c *gpu.Call) error {
	d := g.device
	if !g.calls[i] {
		return refuse("a call in the place of something else")
	}
	if child, ok := g.native[i]; ok {
		p, same := c.Candidate.(Native)
		if !same {
			return refuse("another call of a library")
		}
		err := p.Update(c.Args, c.Workspace, child)
		if err == nil {
			err = d.calls.SetChild(g.exec, g.nodes[i], child)
		}
		if err != nil {
			return errors.Join(vendor.ErrUnsupported, err)
		}
		return nil
	}
	child, err := d.capture(c)
	if err == nil {
		err = errors.Join(d.calls.SetChild(g.exec, g.nodes[i], child), d.calls.DestroyGraph(child))
	}
	if err != nil && !errors.Is(err, vendor.ErrFault) {
		return refuse("a call with other operands: %v", err)
	}
	return err
}

// capture captures the work of a library call as a graph. The context is current, and the goroutine bound to its thread.
func (d *GPU) capture(c *gpu.Call) (Graph, error) {
	d.capturing.Lock()
	defer d.capturing.Unlock()
	if d.captures == nil {
		q, err := d.openQueue()
		if err != nil {
			return 0, err
		}
		d.captures = q
	}
	s := d.captures.stream
	if err := d.calls.BeginCapture(s); err != nil {
		return 0, err
	}
	err := c.Candidate.Call(d.captures, c.Args, c.Workspace)
	g, e := d.calls.EndCapture(s)
	if err == nil {
		err = e
	}
	if err != nil && g != 0 {
		err = errors.Join(err, d.calls.DestroyGraph(g))
	}
	return g, err
}

// Update implements gpu.Graph.
func (g *graph) Update(i int, s gpu.Step) error {
	d := g.device
	err := d.Enter()
	if err == nil {
		switch {
		case s.Call != nil:
			err = g.updateCall(i, s.Call)
		case s.Launch != nil:
			f := g.steps[i]
			var a *Args
			if a, err = g.pack(s.Launch); err == nil {
				err = d.calls.SetKernel(g.exec, g.nodes[i], f.f, dim(s.Launch.Grid), f.block, f.shared, a)
			}
			runtime.KeepAlive(a)
		case s.Copy != nil:
			err = d.calls.SetCopy(g.exec, g.nodes[i], Address(s.Copy.Dst), Address(s.Copy.Src), uint64(s.Copy.Bytes), d.ctx)
		case s.Fill != nil:
			f := s.Fill
			err = d.calls.SetSet(g.exec, g.nodes[i], Address(f.Dst), f.Pattern, f.Width, uint64(f.Bytes)/uint64(f.Width), d.ctx)
		}
		Leave()
	}
	if err != nil {
		return Named(d.name, fmt.Sprintf("graph: change of step %d", i), err)
	}
	return nil
}

// Launch implements gpu.Graph.
func (g *graph) Launch(x gpu.Queue) error {
	q, d := x.(*Queue), g.device
	err := d.Enter()
	if err == nil {
		err = d.calls.LaunchGraph(g.exec, q.stream)
		Leave()
	}
	if err != nil {
		return q.failed("launch of "+g.name, err)
	}
	q.last = g.name
	return nil
}

// describe returns a text for errors that identifies the graph by its first kernel.
func (g *graph) describe() string {
	for _, f := range g.steps {
		if f != nil {
			return fmt.Sprintf("a graph of %d steps with kernel %s", len(g.steps), f.kernel.Name)
		}
	}
	return fmt.Sprintf("a graph of %d steps", len(g.steps))
}

// Close implements gpu.Graph.
func (g *graph) Close() {
	_ = g.device.Do("close", func() error {
		var errs []error
		if g.exec != 0 {
			errs = append(errs, g.device.calls.DestroyExec(g.exec))
		}
		for _, child := range g.native {
			errs = append(errs, g.device.calls.DestroyGraph(child))
		}
		if g.graph != 0 {
			errs = append(errs, g.device.calls.DestroyGraph(g.graph))
		}
		return errors.Join(errs...)
	})
}
