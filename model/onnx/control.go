package onnx

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

func init() {
	register("If", 1, branch)
	register("Loop", 1, loop)
	register("Scan", 8, scanBatch)
	register("Scan", 9, scan)
	register("SequenceMap", 17, sequenceMap)
}

// unrolled is the greatest trip count for which each iteration is traced with its number as a constant. For more iterations, or
// an unknown count, the number is an input, so that all iterations share one program.
const unrolled = 32

// chunk is the least number of nodes for which a segment ends between two iterations.
const chunk = 256

func branch(t *tracer, n *node) []value {
	t.need(n, 0)
	name := "else_branch"
	if t.hostBool(n.input(0)) {
		name = "then_branch"
	}
	return t.run(n.graph(name), nil)
}

// iterate checks iteration i of a loop against the limit and counts its memory.
func (t *tracer) iterate(i int) {
	if i >= t.s.options.MaxIterations {
		t.throw(fmt.Errorf("more than %d iterations: %w", t.s.options.MaxIterations, ErrLimit))
	}
	t.take(nodeBytes)
}

// between ends the segment between two iterations if it has at least chunk nodes.
func (t *tracer) between() {
	if len(t.seg.nodes) >= chunk {
		t.end()
	}
}

func loop(t *tracer, n *node) []value {
	body := n.graph("body")
	sub := t.subgraph(body)
	states := append([]value(nil), n.in[min(2, len(n.in)):]...)
	scans := make([][]value, max(0, len(sub.outputs)-1-len(states)))
	if len(sub.outputs) < 1+len(states) {
		t.fail("body has %d outputs, want the condition and %d states", len(sub.outputs), len(states))
	}
	trips := -1
	if n.input(0).present() {
		m := t.hostInts(n.input(0))
		if len(m) != 1 {
			t.fail("trip count of shape %v, want one number", n.input(0).shape())
		}
		trips = max(0, m[0])
	}
	going := !n.input(1).present() || t.hostBool(n.input(1))
	yes := t.constInts(dtype.Bool, nil, []int{1})
	constant := trips >= 0 && trips <= unrolled
	for i := 0; going && (trips < 0 || i < trips); i++ {
		t.iterate(i)
		number := t.constInts(dtype.I64, nil, []int{i})
		if !constant {
			number = t.bind(number)
		}
		t.pin(append(scans, states)...)
		outs := t.run(body, append([]value{number, yes}, states...))
		states = outs[1 : 1+len(states)]
		for k := range scans {
			scans[k] = append(scans[k], outs[1+len(states)+k])
		}
		t.pin(append(scans, outs)...)
		going = t.hostBool(outs[0])
		if !constant {
			t.between()
		}
	}
	out := append([]value(nil), states...)
	for k, vs := range scans {
		if len(vs) == 0 {
			number := t.constInts(dtype.I64, nil, []int{0})
			out = append(out, t.none(sub, 1+len(states)+k, 0, func() []value {
				return t.run(body, append([]value{number, yes}, states...))
			}))
			continue
		}
		out = append(out, t.stack(vs, 0))
	}
	return out
}

// subgraph returns the analysis of a subgraph of the node being converted.
func (t *tracer) subgraph(g *pb.Graph) *graph {
	if g == nil {
		t.fail("a subgraph is missing")
	}
	sub := t.scopes[len(t.scopes)-1].g.subs[g]
	if sub == nil {
		t.fail("a subgraph belongs to another node")
	}
	return sub
}

// stack stacks tensors of one shape along a new axis.
func (t *tracer) stack(vs []value, axis int) value {
	parts := make([]value, len(vs))
	for i, v := range vs {
		if !v.isTensor() {
			t.fail("an output that is collected over iterations is %v, want a tensor", v.kind)
		}
		parts[i] = t.unsqueeze(v, axis)
	}
	return t.concat(t.axis(axis, parts[0].rank()), parts...)
}

// none returns the empty tensor that a loop of no iterations collects for output k of the body. Its element type and dimensions are the
// declared ones. If they are not declared, probe traces the body to find them and discards its result.
func (t *tracer) none(sub *graph, k, axis int, probe func() []value) value {
	var d dtype.DType
	var s shape.Shape
	info := ValueInfo{}
	if k < len(sub.decl) {
		info = typeInfo(sub.decl[k].Type)
	}
	if info.Kind == TensorKind && info.DType.Valid() && info.Ranked {
		d = info.DType
		for _, dim := range info.Shape {
			s = append(s, max(0, dim.Size))
		}
	} else {
		v := probe()[k]
		d, s = v.dtype(), v.shape().Clone()
	}
	a := t.axis(axis, len(s)+1)
	s = append(s[:a:a], append(shape.Of(0), s[a:]...)...)
	return t.do(op.Full, nil, op.ScalarInt("value", 0), op.Type("dtype", d), op.Dims("shape", s))
}

func sequenceMap(t *tracer, n *node) []value {
	body := n.graph("body")
	sub := t.subgraph(body)
	if !n.input(0).isSequence() {
		t.fail("input 0 is %v, want a sequence", n.input(0).kind)
	}
	count := len(n.input(0).elems())
	for i, v := range n.in {
		if v.isSequence() && len(v.elems()) != count {
			t.fail("input %d has %d elements, want %d", i, len(v.elems()), count)
		}
	}
	results := make([][]value, len(sub.outputs))
	for i := range count {
		t.iterate(i)
		args := make([]value, len(n.in))
		for k, v := range n.in {
			args[k] = v
			if v.isSequence() {
				args[k] = v.elems()[i]
			}
		}
		for k, v := range t.run(body, args) {
			results[k] = append(results[k], v)
		}
		t.pin(results...)
	}
	out := make([]value, len(results))
	for k, vs := range results {
		var d dtype.DType
		if k < len(sub.decl) {
			d = typeInfo(sub.decl[k].Type).DType
		}
		if len(vs) > 0 {
			d = vs[0].dtype()
		}
		out[k] = sequenceOf(d, vs)
	}
	return out
}
