package onnx

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/goburn/burn/model/onnx/pb"
)

// graph is a checked graph: the main graph, a subgraph or the body of a function. Its nodes are sorted so that every value is
// defined before it is used; nodes that no output depends on are removed.
type graph struct {
	name    string
	nodes   []*pb.Node
	inputs  []string
	outputs []string
	inits   map[string]*pb.Tensor
	sparse  map[string]*pb.SparseTensor
	decl    []*pb.ValueInfo      // declarations of the outputs, if any
	free    []string             // names that it reads from enclosing graphs
	dies    [][]string           // per node: names of this graph with no later use
	subs    map[*pb.Graph]*graph // analysis of the subgraphs in its nodes' attributes
	opsets  map[string]int       // by canonical domain
}

// parts holds the fields that graphs and functions share.
type parts struct {
	what    string // "graph", "function F"
	nodes   []*pb.Node
	inputs  []string
	outputs []string
	inits   []*pb.Tensor
	sparse  []*pb.SparseTensor
	decl    []*pb.ValueInfo
	opsets  map[string]int
}

func partsOf(g *pb.Graph, opsets map[string]int) parts {
	p := parts{what: "graph", nodes: g.Nodes, inits: g.Initializers, sparse: g.SparseInitializers, decl: g.Outputs, opsets: opsets}
	if g.Name != "" {
		p.what = fmt.Sprintf("graph %q", clip(g.Name))
	}
	for _, v := range g.Inputs {
		p.inputs = append(p.inputs, v.Name)
	}
	for _, v := range g.Outputs {
		p.outputs = append(p.outputs, v.Name)
	}
	return p
}

// analyse checks a graph and prepares it. outer reports which names of enclosing graphs are visible; nil means none.
func analyse(p parts, outer func(string) bool) (*graph, error) {
	g := &graph{name: p.what, inputs: p.inputs, outputs: p.outputs, inits: map[string]*pb.Tensor{}, sparse: map[string]*pb.SparseTensor{},
		decl: p.decl, subs: map[*pb.Graph]*graph{}, opsets: p.opsets}
	defined, err := g.define(p)
	if err != nil {
		return nil, err
	}
	visible := func(name string) bool {
		_, ok := defined[name]
		return ok || outer != nil && outer(name)
	}
	uses := make([][]string, len(p.nodes))
	for i, n := range p.nodes {
		if uses[i], err = g.usesOf(n, visible); err != nil {
			return nil, err
		}
		for _, name := range uses[i] {
			if !visible(name) {
				return nil, modelError("%s: %s uses %q, which nothing defines", g.name, describe(n), clip(name))
			}
		}
	}
	for _, name := range p.outputs {
		if !visible(name) {
			return nil, modelError("%s: output %q is not defined", g.name, clip(name))
		}
	}
	order, err := g.order(p.nodes, uses, defined)
	if err != nil {
		return nil, err
	}
	g.prune(p.nodes, order, uses, defined)
	return g, nil
}

// inputDefined and initDefined mark names that are defined by an input or an initializer instead of a node.
const (
	inputDefined = -1
	initDefined  = -2
)

// define returns the names that p defines, each with the index of its node. A name that is defined twice is an error.
func (g *graph) define(p parts) (map[string]int, error) {
	defined := map[string]int{}
	for _, name := range p.inputs {
		if _, dup := defined[name]; dup {
			return nil, modelError("%s: input %q is listed twice", g.name, clip(name))
		}
		if name == "" {
			return nil, modelError("%s: an input has no name", g.name)
		}
		defined[name] = inputDefined
	}
	initial := func(name string) error {
		if was, dup := defined[name]; dup && was == initDefined || g.inits[name] != nil || g.sparse[name] != nil {
			return modelError("%s: initializer %q is given twice", g.name, clip(name))
		}
		if _, input := defined[name]; !input {
			defined[name] = initDefined
		}
		return nil
	}
	for _, t := range p.inits {
		if err := initial(t.Name); err != nil {
			return nil, err
		}
		g.inits[t.Name] = t
	}
	for _, t := range p.sparse {
		if t.Values == nil {
			return nil, modelError("%s: a sparse initializer has no values", g.name)
		}
		if err := initial(t.Values.Name); err != nil {
			return nil, err
		}
		g.sparse[t.Values.Name] = t
	}
	for i, n := range p.nodes {
		for _, name := range n.Outputs {
			if name == "" {
				continue
			}
			if _, dup := defined[name]; dup {
				return nil, modelError("%s: %q is defined twice, again by %s", g.name, clip(name), describe(n))
			}
			defined[name] = i
		}
	}
	return defined, nil
}

// usesOf returns the names that a node uses, including those that its subgraphs use, each once. It analyses the subgraphs.
func (g *graph) usesOf(n *pb.Node, visible func(string) bool) ([]string, error) {
	var uses []string
	seen := make(map[string]bool, len(n.Inputs))
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			uses = append(uses, name)
		}
	}
	for _, name := range n.Inputs {
		add(name)
	}
	for _, sub := range subgraphs(n) {
		if g.subs[sub] != nil {
			continue
		}
		s, err := analyse(partsOf(sub, g.opsets), visible)
		if err != nil {
			return nil, fmt.Errorf("%w, in %s", err, describe(n))
		}
		g.subs[sub] = s
		for _, name := range s.free {
			add(name)
		}
	}
	return uses, nil
}

func subgraphs(n *pb.Node) []*pb.Graph {
	var subs []*pb.Graph
	for _, a := range n.Attributes {
		if a.G != nil {
			subs = append(subs, a.G)
		}
		for _, s := range a.Graphs {
			if s != nil {
				subs = append(subs, s)
			}
		}
	}
	return subs
}

// order sorts the nodes so that values are defined before they are used. Nodes without such a constraint keep their order.
func (g *graph) order(nodes []*pb.Node, uses [][]string, defined map[string]int) ([]int, error) {
	waits := make([]int, len(nodes))     // number of nodes that each node still waits for
	waiters := make([][]int, len(nodes)) // nodes that wait for each node
	sorted := true
	for i := range nodes {
		for _, name := range uses[i] {
			if d, ok := defined[name]; ok && d >= 0 {
				waits[i]++ // counted twice for two names of one node, which also decrements the count twice
				waiters[d] = append(waiters[d], i)
				sorted = sorted && d < i
			}
		}
	}
	order := make([]int, 0, len(nodes))
	if sorted {
		for i := range nodes {
			order = append(order, i)
		}
		return order, nil
	}
	ready := &intHeap{}
	for i, w := range waits {
		if w == 0 {
			heap.Push(ready, i)
		}
	}
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, k := range waiters[i] {
			if waits[k]--; waits[k] == 0 {
				heap.Push(ready, k)
			}
		}
	}
	if len(order) < len(nodes) {
		return nil, modelError("%s: cycle: %s", g.name, cycle(nodes, uses, defined, waits))
	}
	return order, nil
}

// cycle describes one cycle among the nodes that are still waiting.
func cycle(nodes []*pb.Node, uses [][]string, defined map[string]int, waits []int) string {
	at := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		for _, name := range uses[at] {
			if d, ok := defined[name]; ok && d >= 0 && waits[d] > 0 {
				at = d
				break
			}
		}
	}
	path = append(path[slices.Index(path, at):], at)
	slices.Reverse(path)
	parts := make([]string, 0, len(path))
	for k, i := range path {
		if k == 10 && len(path) > 12 {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, describe(nodes[i]))
	}
	return strings.Join(parts, " -> ")
}

// prune removes nodes that no output depends on, and records the last use of each name.
func (g *graph) prune(nodes []*pb.Node, order []int, uses [][]string, defined map[string]int) {
	const forever = 1 << 62
	last := map[string]int{} // index in g.nodes of the last use
	for _, name := range g.outputs {
		last[name] = forever
	}
	live := make([]bool, len(nodes))
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		for _, name := range nodes[i].Outputs {
			if _, used := last[name]; used && name != "" {
				live[i] = true
			}
		}
		if live[i] {
			for _, name := range uses[i] {
				last[name] = max(last[name], 0)
			}
		}
	}
	var kept []int
	for _, i := range order {
		if live[i] {
			kept = append(kept, i)
			for _, name := range uses[i] {
				last[name] = max(last[name], len(kept)-1)
			}
		}
	}
	g.dies = make([][]string, len(kept))
	for k, i := range kept {
		g.nodes = append(g.nodes, nodes[i])
		for _, name := range nodes[i].Outputs {
			if _, used := last[name]; !used && name != "" {
				g.dies[k] = append(g.dies[k], name)
			}
		}
	}
	for name, k := range last {
		if _, own := defined[name]; !own {
			g.free = append(g.free, name)
		} else if k != forever && len(kept) > 0 {
			g.dies[k] = append(g.dies[k], name)
		}
	}
	slices.Sort(g.free)
}

// describe returns a description of a node for errors.
func describe(n *pb.Node) string {
	return fmt.Sprintf("%s %q", clip(opKey{canonical(n.Domain), n.OpType}.String()), clip(nameOf(n)))
}

// nameOf returns a node's name, or else its first named output.
func nameOf(n *pb.Node) string {
	if n.Name != "" {
		return n.Name
	}
	for _, o := range n.Outputs {
		if o != "" {
			return o
		}
	}
	return ""
}

// intHeap is a heap.Interface whose top is the least number.
type intHeap struct{ sort.IntSlice }

// Push implements heap.Interface.
func (h *intHeap) Push(v any) { h.IntSlice = append(h.IntSlice, v.(int)) }

// Pop implements heap.Interface.
func (h *intHeap) Pop() any {
	last := h.Len() - 1
	v := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return v
}
