package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// Control operators with unsuitable subgraphs, attributes or inputs are refused with an error that names the operator. MaxIterations
// limits a loop.
func TestControlRefusals(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	body := func(outs int, nodes ...*pb.Node) *pb.Graph {
		g := &pb.Graph{Nodes: nodes, Inputs: bare("i", "go", "v"), Outputs: bare(ss("on", "w", "each")[:outs]...)}
		return g
	}
	pass := []*pb.Node{operator("Identity", ss("go"), ss("on")), operator("Add", ss("v", "x"), ss("w")), operator("Identity", ss("w"), ss("each"))}
	state := func(ins []string, outs []string, nodes ...*pb.Node) *pb.Graph {
		return &pb.Graph{Nodes: nodes, Inputs: bare(ins...), Outputs: bare(outs...)}
	}
	sum := operator("Add", ss("s", "e"), ss("s2"))
	copied := operator("Identity", ss("e"), ss("each"))
	for _, c := range []struct {
		node *pb.Node
		more []*pb.Tensor
		say  string
	}{
		{operator("Loop", ss("n", "", "x"), ss("y"), graphAttr("body", body(1, pass[0]))), []*pb.Tensor{i64s("n", nil, 2)}, "body has 1 outputs, want the condition and 1 states"},
		{operator("Loop", ss("n", "", "x"), ss("y"), graphAttr("body", body(2, pass[:2]...))), []*pb.Tensor{i64s("n", []int64{2}, 2, 3)}, "trip count of shape [2], want one number"},
		{operator("Loop", ss("", "", "x"), ss("y"), graphAttr("body", body(2, pass[:2]...))), nil, "more than 40 iterations"},
		{operator("Loop", ss("n", "", "x"), ss("y")), []*pb.Tensor{i64s("n", nil, 2)}, "a subgraph is missing"},
		{operator("Scan", ss("x", "x"), ss("a", "y"), intAttr("num_scan_inputs", 3), graphAttr("body", state(ss("s", "e"), ss("s2", "each"), sum, copied))), nil, "num_scan_inputs is 3, want one in [1,2]"},
		{operator("Scan", ss("x", "x"), ss("y"), intAttr("num_scan_inputs", 0), graphAttr("body", state(ss("s", "e"), ss("s2", "each"), sum, copied))), nil, "num_scan_inputs is 0"},
		{operator("Scan", ss("x", "w"), ss("y"), intAttr("num_scan_inputs", 2), graphAttr("body", state(ss("s", "e"), ss("s2"), sum))), []*pb.Tensor{f32s("w", []int64{2}, 1, 2)}, "scan input 1 has length 2, want 3 as the others"},
		{operator("Scan", ss("x"), ss("y"), intAttr("num_scan_inputs", 1), intsAttr("scan_input_axes", 0, 0), graphAttr("body", state(ss("e"), ss("each"), copied))), nil, "scan_input_axes has 2 entries, want 1"},
		{operator("Scan", ss("x"), ss("y"), intAttr("num_scan_inputs", 1), intsAttr("scan_input_directions", 0, 1), graphAttr("body", state(ss("e"), ss("each"), copied))), nil, "scan_input_directions has 2 entries, want 1"},
		{operator("Scan", ss("x"), ss("y"), intAttr("num_scan_inputs", 1), intsAttr("scan_output_axes", 0, 1), graphAttr("body", state(ss("e"), ss("each"), copied))), nil, "scan_output_axes has 2 entries, want 1"},
		{operator("Scan", ss("s0", "x"), ss("y"), intAttr("num_scan_inputs", 1), graphAttr("body", state(ss("s", "e"), nil))), []*pb.Tensor{f32s("s0", nil, 1)}, "body has 0 outputs, want at least 1 states"},
		{operator("SequenceMap", ss("x"), ss("y"), graphAttr("body", state(ss("e"), ss("each"), copied))), nil, "input 0 is tensor, want a sequence"},
		{operator("If", ss("x"), ss("y"), graphAttr("then_branch", state(nil, ss("r"), operator("Neg", ss("x"), ss("r")))), graphAttr("else_branch", state(nil, ss("r"), operator("Neg", ss("x"), ss("r"))))), nil, "tensor of shape [3], want a tensor of one element"},
	} {
		t.Run(c.say, func(t *testing.T) {
			m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{c.node}, Initializers: c.more, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 3)}, Outputs: bare("y")})
			parsed, err := parse(m, onnx.Options{MaxIterations: 40})
			if err == nil {
				s, openErr := parsed.Open(h.dev)
				require.NoError(t, openErr)
				defer func() { require.NoError(t, s.Close()) }()
				_, err = s.Run(t.Context(), map[string]onnx.Value{"x": h.f32([]int{3}, 1, 2, 3)})
			}
			require.ErrorContains(t, err, c.say)
			require.ErrorContains(t, err, c.node.OpType)
		})
	}
}

// A Scan along the last axis sums in either direction, and stacks its outputs along the axis of scan_output_axes.
func TestScanDirectionsAndAxes(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	sums := &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("s", "e"), ss("s2")), operator("Identity", ss("s2"), ss("each"))}, Inputs: bare("s", "e"), Outputs: []*pb.ValueInfo{decl("s2", pb.Float, 2), decl("each", pb.Float, 2)}}
	for _, c := range []struct {
		attrs []*pb.Attribute
		dims  []int
		each  []float64 // running sums of the columns of [1 2 3; 10 20 30]
	}{
		{nil, []int{3, 2}, []float64{1, 10, 3, 30, 6, 60}},
		{attrs(intsAttr("scan_output_axes", 1)), []int{2, 3}, []float64{1, 3, 6, 10, 30, 60}},
		{attrs(intsAttr("scan_output_axes", -1)), []int{2, 3}, []float64{1, 3, 6, 10, 30, 60}},
		{attrs(intsAttr("scan_input_directions", 1)), []int{3, 2}, []float64{3, 30, 5, 50, 6, 60}},
		{attrs(intsAttr("scan_output_directions", 1)), []int{3, 2}, []float64{6, 60, 3, 30, 1, 10}},
		{attrs(intsAttr("scan_input_directions", 1), intsAttr("scan_output_directions", 1), intsAttr("scan_output_axes", 1)), []int{2, 3}, []float64{6, 5, 3, 60, 50, 30}},
	} {
		node := operator("Scan", ss("s0", "x"), ss("last", "all"), append(c.attrs, intAttr("num_scan_inputs", 1), intsAttr("scan_input_axes", 1), graphAttr("body", sums))...)
		m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{node}, Initializers: []*pb.Tensor{f32s("s0", []int64{2}, 0, 0)}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 2, 3)}, Outputs: bare("last", "all")})
		parsed, err := parse(m, onnx.Options{})
		require.NoError(t, err)
		h.s, err = parsed.Open(h.dev)
		require.NoError(t, err)
		out := h.run(map[string]onnx.Value{"x": h.f32([]int{2, 3}, 1, 2, 3, 10, 20, 30)})
		h.want(out["last"], []int{2}, 6, 60)
		h.want(out["all"], c.dims, c.each...)
		require.NoError(t, h.s.Close())
	}
}
