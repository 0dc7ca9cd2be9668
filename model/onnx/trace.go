package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx/pb"
)

// scope is a graph that is being walked.
type scope struct {
	g        *graph
	env      map[string]value
	function bool   // whether names of enclosing scopes are hidden
	what     string // owner of the graph, for errors
}

// frame is a node that is being converted.
type frame struct {
	node   *pb.Node
	in     []value
	held   []value   // values that the converter created
	pinned [][]value // values that are held instead if manual is set
	manual bool

	scratch int64 // bytes of the budget for working memory
}

// lookup returns the value of a name.
func (t *tracer) lookup(name string) (value, bool) {
	for i := len(t.scopes) - 1; i >= 0; i-- {
		s := t.scopes[i]
		if v, ok := s.env[name]; ok {
			return v, true
		}
		if p := s.g.inits[name]; p != nil {
			return t.fromPB(p), true
		}
		if p := s.g.sparse[name]; p != nil {
			return t.fromSparse(p), true
		}
		if s.function {
			break
		}
	}
	return value{}, false
}

// walk traces a graph in its own scope and returns its outputs.
func (t *tracer) walk(s *scope) []value {
	t.scopes = append(t.scopes, s)
	for i, n := range s.g.nodes {
		if len(t.seg.nodes) >= splitAt {
			t.end()
		}
		outs := t.convert(s, n)
		for k, name := range n.Outputs {
			if name != "" && k < len(outs) {
				s.env[name] = outs[k]
			}
		}
		for _, name := range s.g.dies[i] {
			delete(s.env, name)
		}
	}
	outs := make([]value, len(s.g.outputs))
	for i, name := range s.g.outputs {
		v, ok := t.lookup(name)
		if !ok {
			t.fail("output %q of %s has no value", clip(name), s.g.name)
		}
		outs[i] = v
	}
	t.scopes = t.scopes[:len(t.scopes)-1]
	return outs
}

// run traces a subgraph of the node being converted, and returns its outputs. in contains the inputs of the subgraph in order. Names of
// enclosing graphs are visible.
func (t *tracer) run(g *pb.Graph, in []value) []value {
	sub := t.subgraph(g)
	outs := t.walk(&scope{g: sub, env: t.bindInputs(sub, in)})
	t.hold(outs...)
	return outs
}

func (t *tracer) bindInputs(g *graph, in []value) map[string]value {
	if len(in) != len(g.inputs) {
		t.fail("%s takes %d inputs, got %d", g.name, len(g.inputs), len(in))
	}
	env := make(map[string]value, len(in))
	for i, name := range g.inputs {
		env[name] = in[i]
	}
	return env
}

// convert traces one node. An error in it is wrapped to name the node.
func (t *tracer) convert(s *scope, pn *pb.Node) []value {
	defer func() {
		if r := recover(); r != nil {
			panic(fault{t.blame(pn, r)})
		}
	}()
	t.spend(1)
	if err := t.ctx.Err(); err != nil {
		t.throw(canceled(t.ctx))
	}
	f := &frame{node: pn, in: make([]value, len(pn.Inputs))}
	t.frames = append(t.frames, f)
	for i, name := range pn.Inputs {
		if name == "" {
			continue
		}
		v, ok := t.lookup(name)
		if !ok {
			t.fail("input %d, %q, has no value: its node has fewer outputs", i, clip(name))
		}
		f.in[i] = v
	}
	outs := t.dispatch(s, pn, f.in)
	n := 0
	for i, name := range pn.Outputs {
		if name != "" {
			n = i + 1
		}
	}
	if len(outs) < n {
		t.fail("%d outputs, want %d", len(outs), n)
	}
	t.endScratch()
	t.frames = t.frames[:len(t.frames)-1]
	return outs
}

// spend counts nodes against the limit.
func (t *tracer) spend(nodes int) {
	if t.spent += nodes; t.spent > t.s.options.MaxNodes {
		t.throw(fmt.Errorf("tracing goes through more than %d nodes: %w", t.s.options.MaxNodes, ErrLimit))
	}
}

func (t *tracer) dispatch(s *scope, pn *pb.Node, in []value) []value {
	if f := t.s.model.functionOf(pn); f != nil {
		return t.call(f, pn, in)
	}
	domain := canonical(pn.Domain)
	version := s.g.opsets[domain]
	convert, ok := find(domain, pn.OpType, version)
	if !ok {
		t.unsupported("no converter at version %d", version)
	}
	key, memo := t.memoKey(pn, in)
	if memo {
		if outs, ok := t.s.memo[key]; ok {
			return outs
		}
	}
	t.report.enter(pn)
	outs := convert(t, &node{pb: pn, in: in, t: t, version: version})
	t.report.leave()
	if memo {
		t.remember(key, outs)
	}
	return outs
}

// call traces the body of a function.
func (t *tracer) call(f *function, pn *pb.Node, in []value) []value {
	body := t.s.instances[pn]
	if body == nil {
		if f.refers {
			t.spend(f.size)
		}
		var err error
		if body, err = f.instance(pn); err != nil {
			t.throw(err)
		}
		t.s.instances[pn] = body
	}
	args := make([]value, len(body.inputs))
	if len(in) > len(args) {
		t.fail("takes %d inputs, got %d", len(args), len(in))
	}
	copy(args, in)
	return t.walk(&scope{g: body, env: t.bindInputs(body, args), function: true})
}

// memoKey returns a key for a node whose result depends only on the model, so that a session computes it once.
func (t *tracer) memoKey(pn *pb.Node, in []value) (string, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "%p", pn)
	for _, v := range in {
		switch {
		case !v.present():
			b.WriteString(" -")
		case v.isTensor() && v.data.shared:
			fmt.Fprintf(&b, " %d", v.data.serial)
		default:
			return "", false
		}
	}
	return b.String(), len(subgraphs(pn)) == 0
}

func (t *tracer) remember(key string, outs []value) {
	for _, v := range outs {
		if v.present() && (!v.isTensor() || !v.data.constant) {
			return
		}
	}
	for _, v := range outs {
		if v.present() && !v.data.shared {
			t.share(v.data)
			if v.data.dev != nil {
				t.s.owned = append(t.s.owned, v.data.dev)
			}
		}
	}
	t.s.memo[key] = outs
}

// blame converts the panic of a conversion to an error. The error names the innermost node and its path.
func (t *tracer) blame(pn *pb.Node, r any) error {
	f, ok := r.(fault)
	if !ok {
		f.err = fmt.Errorf("internal: panic: %v", r)
		if err, isErr := r.(error); isErr {
			f.err = fmt.Errorf("internal: panic: %w", err)
		}
	}
	var inner *NodeError
	if errors.As(f.err, &inner) || errors.Is(f.err, core.ErrCanceled) {
		return f.err
	}
	var path []string
	for _, fr := range t.frames {
		if fr.node != pn {
			path = append(path, describe(fr.node))
		}
	}
	return &NodeError{Op: opKey{canonical(pn.Domain), pn.OpType}.String(), Node: nameOf(pn), Path: strings.Join(path, ", "), Err: f.err}
}
