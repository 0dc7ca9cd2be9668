package onnx

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/model/onnx/pb"
)

// funcKey identifies a model-local function.
type funcKey struct{ domain, name, overload string }

// function is a model-local function. If its body refers to attributes of the caller, each calling node gets its own instance of
// the body.
type function struct {
	proto  *pb.Function
	opsets map[string]int
	body   *graph // the body as in the file, with unresolved attribute references
	refers bool
	size   int // number of nodes, including those of subgraphs
}

func (k funcKey) String() string { return opKey{k.domain, k.name}.String() }

// functionOf returns the function that a node calls, or nil.
func (m *Model) functionOf(n *pb.Node) *function {
	return m.functions[funcKey{canonical(n.Domain), n.OpType, n.Overload}]
}

// maxCalls limits the depth of nested function calls.
const maxCalls = 64

func (m *Model) readFunctions(protos []*pb.Function) error {
	m.functions = make(map[funcKey]*function, len(protos))
	for _, p := range protos {
		key := funcKey{canonical(p.Domain), p.Name, p.Overload}
		if p.Name == "" {
			return modelError("a function has no name")
		}
		if _, dup := m.functions[key]; dup {
			return modelError("function %s is defined twice", clip(key.String()))
		}
		opsets, err := importsOf(p.OpsetImports)
		if err != nil {
			return fmt.Errorf("%w, in function %s", err, clip(key.String()))
		}
		for d, v := range m.opsets {
			if _, own := opsets[d]; !own {
				opsets[d] = v
			}
		}
		f := &function{proto: p, opsets: opsets, refers: refersToCaller(p.Nodes), size: countNodes(p.Nodes)}
		if f.body, err = analyse(f.parts(p.Nodes), nil); err != nil {
			return err
		}
		m.functions[key] = f
	}
	return m.checkCalls(protos)
}

func (f *function) parts(nodes []*pb.Node) parts {
	return parts{what: fmt.Sprintf("function %q", clip(f.proto.Name)), nodes: nodes, inputs: f.proto.Inputs, outputs: f.proto.Outputs,
		opsets: f.opsets}
}

func refersToCaller(nodes []*pb.Node) bool {
	for _, n := range nodes {
		for _, a := range n.Attributes {
			if a.RefAttrName != "" {
				return true
			}
		}
		for _, g := range subgraphs(n) {
			if refersToCaller(g.Nodes) {
				return true
			}
		}
	}
	return false
}

func countNodes(nodes []*pb.Node) int {
	count := len(nodes)
	for _, n := range nodes {
		for _, g := range subgraphs(n) {
			count += countNodes(g.Nodes)
		}
	}
	return count
}

// checkCalls refuses functions that call themselves, directly or through others, and chains of calls longer than maxCalls.
func (m *Model) checkCalls(protos []*pb.Function) error {
	depth := map[*function]int{} // -1 while it is being visited
	var visit func(f *function, path []string) (int, error)
	visit = func(f *function, path []string) (int, error) {
		path = append(path, clip(f.proto.Name))
		if d, ok := depth[f]; ok {
			if d < 0 {
				return 0, modelError("function calls itself: %s", strings.Join(path, " -> "))
			}
			return d, nil
		}
		if len(path) > maxCalls {
			return 0, modelError("functions call each other more than %d deep, from %s", maxCalls, path[0])
		}
		depth[f] = -1
		deepest := 0
		err := m.eachCall(f.body, func(g *function) error {
			d, err := visit(g, path)
			deepest = max(deepest, d)
			return err
		})
		if err != nil {
			return 0, err
		}
		if deepest+1 > maxCalls {
			return 0, modelError("functions call each other more than %d deep, from %s", maxCalls, path[0])
		}
		depth[f] = deepest + 1
		return deepest + 1, nil
	}
	for _, p := range protos {
		f := m.functions[funcKey{canonical(p.Domain), p.Name, p.Overload}]
		if _, err := visit(f, nil); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) eachCall(g *graph, visit func(*function) error) error {
	for _, n := range g.nodes {
		if f := m.functionOf(n); f != nil {
			if err := visit(f); err != nil {
				return err
			}
		}
		for _, sub := range subgraphs(n) {
			if err := m.eachCall(g.subs[sub], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// instance returns the body of the function for one call. Attribute references are replaced by the attributes of the call or the defaults
// of the function; attributes that have neither are omitted.
func (f *function) instance(call *pb.Node) (*graph, error) {
	if !f.refers {
		return f.body, nil
	}
	args := map[string]*pb.Attribute{}
	for _, a := range f.proto.AttributeDefaults {
		args[a.Name] = a
	}
	for _, a := range call.Attributes {
		args[a.Name] = a
	}
	return analyse(f.parts(resolve(f.proto.Nodes, args)), nil)
}

func resolve(nodes []*pb.Node, args map[string]*pb.Attribute) []*pb.Node {
	out := make([]*pb.Node, len(nodes))
	for i, n := range nodes {
		c := *n
		c.Attributes = make([]*pb.Attribute, 0, len(n.Attributes))
		for _, a := range n.Attributes {
			if a.RefAttrName != "" {
				given := args[a.RefAttrName]
				if given == nil {
					continue
				}
				b := *given
				b.Name = a.Name
				c.Attributes = append(c.Attributes, &b)
				continue
			}
			b := *a
			if a.G != nil {
				b.G = resolveGraph(a.G, args)
			}
			if len(a.Graphs) > 0 {
				b.Graphs = make([]*pb.Graph, len(a.Graphs))
				for k, g := range a.Graphs {
					b.Graphs[k] = resolveGraph(g, args)
				}
			}
			c.Attributes = append(c.Attributes, &b)
		}
		out[i] = &c
	}
	return out
}

func resolveGraph(g *pb.Graph, args map[string]*pb.Attribute) *pb.Graph {
	c := *g
	c.Nodes = resolve(g.Nodes, args)
	return &c
}
