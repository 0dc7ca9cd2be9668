package gpu

import (
	"errors"
	"slices"

	"github.com/goburn/burn/core"
)

const (
	minGraph     = 8 // least number of steps for which a device graph is worthwhile
	maxInstances = 4 // graphs of one frame, for different memory
	maxKeys      = 8 // bindings that a frame remembers
)

// graphs holds the device graphs of a frame. A graph is created at the second run, and updated before later runs if the memory of its steps
// has changed. Library calls may refuse an update: then the frame has a graph for each binding that occurs again, and runs with other
// bindings start step by step.
type graphs struct {
	all     []*instance
	hard    []int   // slots whose change a step refused
	keys    [][]Ref // bindings of these slots seen before
	patched []int   // by step: the run for which the step was last changed
	failed  bool
}

// instance is a device graph and the memory on which the graph was last run.
type instance struct {
	graph Graph
	bound []Ref
	used  uint64 // last run of the graph, as a number of works of the queue
}

// replay starts a graph of the steps, if a graph fits the bound memory or creating one is worthwhile.
func (f *frame) replay(q *queue) (started bool, err error) {
	if f.failed || f.runs < 2 || len(f.steps) < minGraph {
		return false, nil
	}
	x := f.fitting()
	if x != nil {
		switch err := f.update(x, q); {
		case errors.Is(err, core.ErrUnsupported):
			f.remove(x, q)
			x = f.fitting()
		case err != nil:
			return true, q.device.fault(err)
		}
	}
	if x == nil {
		if !f.again() {
			f.missed()
			return false, nil
		}
		if x, err = f.instantiate(q); x == nil {
			return false, err
		}
	}
	x.used = q.seq
	if err := x.graph.Launch(q.driver); err != nil {
		return true, q.device.fault(err)
	}
	q.device.count(func(s *Stats) { s.GraphRuns++ })
	return true, nil
}

// fitting returns a graph that can be updated to the memory of the frame.
func (f *frame) fitting() *instance {
	for _, x := range f.all {
		if f.same(x) {
			return x
		}
	}
	return nil
}

func (f *frame) same(x *instance) bool {
	for _, s := range f.hard {
		if x.bound[s] != f.bound[s] {
			return false
		}
	}
	return true
}

// again reports whether a graph for the bound memory is worthwhile: the slots that cannot be changed in a graph had the same memory in an
// earlier run.
func (f *frame) again() bool {
	if f.hard == nil {
		return true
	}
	key := make([]Ref, len(f.hard))
	for i, s := range f.hard {
		key[i] = f.bound[s]
	}
	for _, k := range f.keys {
		if slices.Equal(k, key) {
			return true
		}
	}
	if len(f.keys) >= maxKeys {
		f.keys = slices.Delete(f.keys, 0, 1)
	}
	f.keys = append(f.keys, key)
	return false
}

// update changes the memory of a graph to the memory of the frame. ErrUnsupported says that the graph cannot be used any more.
func (f *frame) update(x *instance, q *queue) error {
	if f.patched == nil {
		f.patched = make([]int, len(f.steps))
	}
	for s, r := range f.bound {
		if x.bound[s] == r {
			continue
		}
		for _, u := range f.uses[s] {
			if f.patched[u.step] == f.runs {
				continue
			}
			f.patched[u.step] = f.runs
			if err := x.graph.Update(u.step, f.steps[u.step]); err != nil {
				if errors.Is(err, core.ErrUnsupported) {
					f.refuse(u.step)
				}
				return err
			}
			q.device.count(func(s *Stats) { s.GraphPatches++ })
		}
		x.bound[s] = r
	}
	return nil
}

// refuse records that a step cannot be changed in a graph.
func (f *frame) refuse(step int) {
	for s, uses := range f.uses {
		if !slices.Contains(f.hard, s) && slices.ContainsFunc(uses, func(u slotUse) bool { return u.step == step }) {
			f.hard = append(f.hard, s)
		}
	}
	f.keys = nil
}

// instantiate creates a graph of the steps. It returns nil if the driver cannot create the graph; then the frame runs without graphs.
func (f *frame) instantiate(q *queue) (*instance, error) {
	f.relate(q.device.options.InOrder)
	g, err := q.device.grapher.NewGraph(f.steps)
	if err != nil {
		if errors.Is(err, core.ErrBackendLost) {
			return nil, q.device.fault(err)
		}
		f.failed = true
		q.device.count(func(s *Stats) { s.GraphFailures++ })
		return nil, nil
	}
	if len(f.all) >= maxInstances {
		f.remove(slices.MinFunc(f.all, func(a, b *instance) int { return int(a.used) - int(b.used) }), q)
	}
	x := &instance{graph: g, bound: slices.Clone(f.bound)}
	f.all = append(f.all, x)
	q.graphSteps += len(f.steps)
	q.device.count(func(s *Stats) { s.Graphs++ })
	q.boundGraphs(f)
	return x, nil
}

// remove closes a graph once the queue has passed its runs.
func (f *frame) remove(x *instance, q *queue) {
	f.all = slices.DeleteFunc(f.all, func(y *instance) bool { return x == y })
	q.graphSteps -= len(f.steps)
	q.after(x.graph.Close)
}

// drop closes all graphs, each after its runs in the order of the queue.
func (f *frame) drop(q *queue) {
	for len(f.all) > 0 {
		f.remove(f.all[0], q)
	}
	f.keys = nil
}

// boundGraphs closes the least recently used graphs, except the graphs of keep, until the rest is within the bound: a driver uses some
// kilobytes for each step.
func (q *queue) boundGraphs(keep *frame) {
	for q.graphSteps > q.device.options.GraphSteps {
		var oldest *frame
		var x *instance
		for _, f := range q.frames {
			for _, y := range f.all {
				if f != keep && (x == nil || y.used < x.used) {
					oldest, x = f, y
				}
			}
		}
		if x == nil {
			return
		}
		oldest.remove(x, q)
	}
}
