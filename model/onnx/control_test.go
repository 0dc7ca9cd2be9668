package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

func TestIf(t *testing.T) {
	branch := func(nodes ...*pb.Node) *pb.Graph { return &pb.Graph{Nodes: nodes, Outputs: bare("r")} }
	// y = x > 0 ? (k ? x+x : x·x) : -x, for one element; the branches use x and k from the enclosing graphs.
	nested := operator("If", ss("k"), ss("r"),
		graphAttr("then_branch", branch(operator("Add", ss("x", "x"), ss("r")))),
		graphAttr("else_branch", branch(operator("Mul", ss("x", "x"), ss("r")))))
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{
		operator("Greater", ss("x", "zero"), ss("positive")),
		operator("If", ss("positive"), ss("y"), graphAttr("then_branch", branch(nested)),
			graphAttr("else_branch", branch(operator("Neg", ss("x"), ss("r"))))),
	}, Initializers: []*pb.Tensor{f32s("zero", nil, 0)},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1), decl("k", pb.Bool)}, Outputs: bare("y")})
	h := open(t, m)
	for range 2 {
		h.want(h.run(values{"x": h.f32([]int{1}, 3), "k": h.bool(true)})["y"], []int{1}, 6)
		h.want(h.run(values{"x": h.f32([]int{1}, 3), "k": h.bool(false)})["y"], []int{1}, 9)
		h.want(h.run(values{"x": h.f32([]int{1}, -3), "k": h.bool(false)})["y"], []int{1}, 3)
		h.want(h.run(values{"x": h.f32([]int{1}, -2), "k": h.bool(true)})["y"], []int{1}, 2)
	}
	require.Equal(t, 5, h.s.Stats().Hits, "k is not read when x is negative")
}

// powers returns a model of a Loop whose state v starts at x. Each iteration sets v = v·x, until v reaches limit or, with trips, the trip
// count of input n is reached. The loop collects v.
func powers(limit float32, trips bool) *pb.Model {
	body := &pb.Graph{Nodes: []*pb.Node{
		operator("Mul", ss("v", "x"), ss("w")),
		operator("Less", ss("w", "limit"), ss("on")),
		operator("Identity", ss("w"), ss("each")),
	}, Inputs: bare("i", "go", "v"), Outputs: []*pb.ValueInfo{decl("on", pb.Bool), decl("w", pb.Float, 1), decl("each", pb.Float, 1)}}
	in := ss("", "", "x")
	inputs := []*pb.ValueInfo{decl("x", pb.Float, 1)}
	if trips {
		in[0] = "n"
		inputs = append(inputs, decl("n", pb.Int64))
	}
	return modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Loop", in, ss("last", "all"), graphAttr("body", body))},
		Initializers: []*pb.Tensor{f32s("limit", nil, limit)}, Inputs: inputs, Outputs: bare("last", "all")})
}

func TestLoopByCondition(t *testing.T) {
	h := open(t, powers(100, false))
	for range 2 {
		out := h.run(values{"x": h.f32([]int{1}, 2)})
		h.want(out["last"], []int{1}, 128)
		h.want(out["all"], []int{6, 1}, 4, 8, 16, 32, 64, 128)
	}
	first := h.s.Stats()
	require.Equal(t, 1, first.Hits)
	require.LessOrEqual(t, first.Programs, 4, "the iterations share one program, except the first, which reads the input, and the last, which stacks")
	out := h.run(values{"x": h.f32([]int{1}, 5)})
	h.want(out["last"], []int{1}, 125)
	h.want(out["all"], []int{2, 1}, 25, 125)
}

func TestLoopByCount(t *testing.T) {
	h := open(t, powers(1e30, true))
	for _, c := range []struct {
		n    int64
		last float64
		all  []float64
	}{{3, 16, []float64{4, 8, 16}}, {0, 2, nil}, {1, 4, []float64{4}}, {-5, 2, nil}, {3, 16, []float64{4, 8, 16}}} {
		out := h.run(values{"x": h.f32([]int{1}, 2), "n": h.i64(nil, c.n)})
		h.want(out["last"], []int{1}, c.last)
		h.want(out["all"], []int{len(c.all), 1}, c.all...)
	}
}

// A loop with too many iterations to unroll. It sums i times the element of row i of x.
func TestLongLoop(t *testing.T) {
	body := &pb.Graph{Nodes: []*pb.Node{
		operator("Gather", ss("x", "i"), ss("row")),
		operator("Cast", ss("i"), ss("fi"), intAttr("to", int64(pb.Float))),
		operator("Mul", ss("row", "fi"), ss("p")),
		operator("Add", ss("v", "p"), ss("w")),
		operator("Identity", ss("go"), ss("on")),
	}, Inputs: bare("i", "go", "v"), Outputs: bare("on", "w", "p")}
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Loop", ss("n", "", "zero"), ss("sum", "each"), graphAttr("body", body))},
		Initializers: []*pb.Tensor{f32s("zero", []int64{1}, 0), i64s("n", nil, 500)}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 500, 1)}, Outputs: bare("sum", "each")})
	h := open(t, m)
	x, each := make([]float32, 500), make([]float64, 500)
	sum := float32(0)
	for i := range x {
		x[i] = float32(i%7 - 3)
		each[i] = float64(x[i] * float32(i))
		sum += x[i] * float32(i) // whole numbers below 2^24 are exact
	}
	for range 2 {
		out := h.run(values{"x": h.f32([]int{500, 1}, x...)})
		h.want(out["sum"], []int{1}, float64(sum))
		h.want(out["each"], []int{500, 1}, each...)
		out["sum"].Release()
		out["each"].Release()
	}
	require.LessOrEqual(t, h.s.Stats().Programs, 4)
	require.Greater(t, h.s.Stats().Steps, 5)
}

// A loop whose state is a sequence. A nested loop in its body runs as often as the outer loop says.
func TestLoopOfSequences(t *testing.T) {
	inner := &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("u", "x"), ss("u2")), operator("Identity", ss("g2"), ss("on2"))},
		Inputs: bare("j", "g2", "u"), Outputs: bare("on2", "u2")}
	body := &pb.Graph{Nodes: []*pb.Node{
		operator("Loop", ss("i", "", "x"), ss("t"), graphAttr("body", inner)), // x·(i+1)
		operator("SequenceInsert", ss("s", "t"), ss("s2")),
		operator("Identity", ss("go"), ss("on")),
	}, Inputs: bare("i", "go", "s"), Outputs: bare("on", "s2")}
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{
		operator("SequenceEmpty", nil, ss("none")),
		operator("Loop", ss("n", "", "none"), ss("seq"), graphAttr("body", body)),
		operator("ConcatFromSequence", ss("seq"), ss("y"), intAttr("axis", 0)),
	}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 2), decl("n", pb.Int64)}, Outputs: bare("y", "seq")})
	h := open(t, m)
	for range 2 {
		out := h.run(values{"x": h.f32([]int{2}, 1, 10), "n": h.i64(nil, 3)})
		h.want(out["y"], []int{6}, 1, 10, 2, 20, 3, 30)
		require.Equal(t, onnx.SequenceKind, out["seq"].Kind())
		require.Equal(t, dtype.F32, out["seq"].DType())
		require.Len(t, out["seq"].Elems(), 3)
		h.want(out["seq"].Elems()[2], []int{2}, 3, 30)
		out["y"].Release()
		out["seq"].Release()
	}
	require.NoError(t, h.s.Close())
}

func TestSequenceInputs(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("SequenceMap", ss("s", "x"), ss("y"), graphAttr("body",
		&pb.Graph{Nodes: []*pb.Node{operator("Add", ss("a", "b"), ss("c"))}, Inputs: bare("a", "b"), Outputs: bare("c")}))},
		Inputs:  []*pb.ValueInfo{{Name: "s", Type: &pb.Type{Kind: pb.KindSequence, Elem: decl("", pb.Float, nil).Type}}, decl("x", pb.Float)},
		Outputs: bare("y")})
	h := open(t, m)
	seq := onnx.SequenceValue(dtype.F32, h.f32([]int{1}, 1), h.f32([]int{2}, 2, 3))
	out := h.run(values{"s": seq, "x": h.f32(nil, 10)})["y"]
	require.Equal(t, "sequence(f32[1], f32[2])", out.String())
	h.want(out.Elems()[1], []int{2}, 12, 13)
	out = h.run(values{"s": onnx.SequenceValue(dtype.F32), "x": h.f32(nil, 10)})["y"]
	require.Empty(t, out.Elems())
	require.Equal(t, 2, h.s.Stats().Specialisations, "the structure is part of the signature")
	_, err := h.s.Run(t.Context(), values{"s": onnx.SequenceValue(dtype.I64, h.i64([]int{1}, 1)), "x": h.f32(nil, 1)})
	require.ErrorIs(t, err, onnx.ErrInput)
	require.ErrorContains(t, err, "s: sequence(f32[?])")
}

// prefix returns a Scan body for running sums: v' = v + a, with v' as state and a·v as output.
func prefix() *pb.Graph {
	return &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("v", "a"), ss("w")), operator("Identity", ss("w"), ss("sum")), operator("Mul", ss("a", "v"), ss("p"))},
		Inputs: bare("v", "a"), Outputs: []*pb.ValueInfo{decl("w", pb.Float, 2), decl("sum", pb.Float, 2), decl("p", pb.Float, 2)}}
}

func TestScan(t *testing.T) {
	scan := func(attrs ...*pb.Attribute) *pb.Model {
		attrs = append(attrs, graphAttr("body", prefix()), intAttr("num_scan_inputs", 1))
		return modelOf(11, &pb.Graph{Nodes: []*pb.Node{operator("Scan", ss("v", "x"), ss("last", "sums", "products"), attrs...)},
			Inputs: []*pb.ValueInfo{decl("v", pb.Float, 2), decl("x", pb.Float, nil, nil)}, Outputs: bare("last", "sums", "products")})
	}
	h := open(t, scan())
	v, x := h.f32([]int{2}, 100, 200), h.f32([]int{3, 2}, 1, 2, 3, 4, 5, 6)
	for range 2 {
		out := h.run(values{"v": v, "x": x})
		h.want(out["last"], []int{2}, 109, 212)
		h.want(out["sums"], []int{3, 2}, 101, 202, 104, 206, 109, 212)
		h.want(out["products"], []int{3, 2}, 100, 400, 303, 808, 520, 1236)
	}
	out := h.run(values{"v": v, "x": h.f32([]int{0, 2})})
	h.want(out["last"], []int{2}, 100, 200)
	h.want(out["sums"], []int{0, 2})

	// The same numbers with the scanned axis last, read from the end, and written backward along the last axis.
	h = open(t, scan(intsAttr("scan_input_axes", -1), intsAttr("scan_input_directions", 1), intsAttr("scan_output_axes", -1, 0),
		intsAttr("scan_output_directions", 1, 0)))
	out = h.run(values{"v": h.f32([]int{2}, 100, 200), "x": h.f32([]int{2, 3}, 5, 3, 1, 6, 4, 2)})
	h.want(out["last"], []int{2}, 109, 212)
	h.want(out["sums"], []int{2, 3}, 109, 104, 101, 212, 206, 202)
	h.want(out["products"], []int{3, 2}, 100, 400, 303, 808, 520, 1236)
}

// A long scan in both directions at once, compared with the same sums in Go.
func TestLongScan(t *testing.T) {
	body := &pb.Graph{Nodes: []*pb.Node{operator("Sub", ss("a", "b"), ss("d")), operator("Add", ss("v", "d"), ss("w")), operator("Identity", ss("w"), ss("each"))},
		Inputs: bare("v", "a", "b"), Outputs: bare("w", "each")}
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Scan", ss("v", "x", "y"), ss("last", "each"), graphAttr("body", body), intAttr("num_scan_inputs", 2),
		intsAttr("scan_input_directions", 0, 1))},
		Inputs: []*pb.ValueInfo{decl("v", pb.Float), decl("x", pb.Float, "n"), decl("y", pb.Float, "n")}, Outputs: bare("last", "each")})
	h := open(t, m)
	const n = 300
	x, y, each := make([]float32, n), make([]float32, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float32(i*i%11), float32(i%5)
	}
	sum := 1.0
	for i := range x {
		sum += float64(x[i] - y[n-1-i])
		each[i] = sum
	}
	out := h.run(values{"v": h.f32(nil, 1), "x": h.f32([]int{n}, x...), "y": h.f32([]int{n}, y...)})
	h.want(out["last"], nil, sum)
	h.want(out["each"], []int{n}, each...)
	require.LessOrEqual(t, h.s.Stats().Programs, 4)
}

// Scan of opset 8: a batch whose entries have different lengths.
func TestBatchScan(t *testing.T) {
	m := modelOf(8, &pb.Graph{Nodes: []*pb.Node{operator("Scan", ss("lens", "v", "x"), ss("last", "sums", "products"), graphAttr("body", prefix()),
		intAttr("num_scan_inputs", 1), intsAttr("directions", 1))},
		Inputs:  []*pb.ValueInfo{decl("lens", pb.Int64, 2), decl("v", pb.Float, 2, 2), decl("x", pb.Float, 2, 3, 2)},
		Outputs: bare("last", "sums", "products")})
	h := open(t, m)
	out := h.run(values{"lens": h.i64([]int{2}, 3, 1), "v": h.f32([]int{2, 2}, 100, 200, 0, 0),
		"x": h.f32([]int{2, 3, 2}, 5, 6, 3, 4, 1, 2, 7, 8, 9, 9, 9, 9)})
	h.want(out["last"], []int{2, 2}, 109, 212, 7, 8)
	h.want(out["sums"], []int{2, 3, 2}, 101, 202, 104, 206, 109, 212, 7, 8, 0, 0, 0, 0)
	h.want(out["products"], []int{2, 3, 2}, 100, 400, 303, 808, 520, 1236, 0, 0, 0, 0, 0, 0)
}

// Results with data-dependent shapes select the branch of the plan by shape.
func TestHostOps(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{
		operator("Mul", ss("x", "x"), ss("sq")),
		operator("NonZero", ss("sq"), ss("at")),
		operator("Add", ss("at", "at"), ss("y")),
	}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 4)}, Outputs: bare("y")})
	h := open(t, m)
	h.want(h.run(values{"x": h.f32([]int{4}, 0, 1, 0, 2)})["y"], []int{1, 2}, 2, 6)
	h.want(h.run(values{"x": h.f32([]int{4}, 3, 0, 0, 2)})["y"], []int{1, 2}, 0, 6)
	require.Equal(t, 1, h.s.Stats().Hits, "as many nonzero elements as before, at other places")
	h.want(h.run(values{"x": h.f32([]int{4}, 0, 0, 0, 2)})["y"], []int{1, 1}, 6)
	h.want(h.run(values{"x": h.f32([]int{4}, 0, 0, 0, 0)})["y"], []int{1, 0})
	require.Equal(t, 1, h.s.Stats().Hits)
}

// Random numbers without a seed differ between runs: the operator is not folded into a constant.
func TestRandomIsNotFolded(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("RandomUniform", nil, ss("r"), intsAttr("shape", 16)), operator("Add", ss("x", "r"), ss("y"))},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float)}, Outputs: bare("y")})
	h := open(t, m)
	a, err := h.run(values{"x": h.f32(nil, 0)})["y"].Tensor().Bytes(t.Context())
	require.NoError(t, err)
	b, err := h.run(values{"x": h.f32(nil, 0)})["y"].Tensor().Bytes(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.Equal(t, 1, h.s.Stats().Hits)
}

func TestControlErrors(t *testing.T) {
	body := func(nodes ...*pb.Node) *pb.Graph {
		return &pb.Graph{Nodes: nodes, Inputs: bare("i", "go", "v"), Outputs: bare("on", "w")}
	}
	on := operator("Identity", ss("go"), ss("on"))
	bad := body(on, operator("MatMul", ss("v", "i"), ss("w")))
	bad.Nodes[1].Name = "culprit"
	for _, c := range []struct {
		name string
		node *pb.Node
		want string
	}{
		{"fault inside", operator("Loop", ss("n", "", "x"), ss("y"), graphAttr("body", bad)), `onnx: MatMul node "culprit" in Loop "y": `},
		{"too few states", operator("Loop", ss("n", ""), ss("y"), graphAttr("body", body(on, operator("Neg", ss("v"), ss("w"))))), "takes 3 inputs, got 2"},
		{"no body", operator("Loop", ss("n", "", "x"), ss("y")), "a subgraph is missing"},
		{"too many outputs", operator("Loop", ss("n", "", "x"), ss("y", "z"), graphAttr("body", body(on, operator("Neg", ss("v"), ss("w"))))), "1 outputs, want 2"},
		{"scan without inputs", operator("Scan", ss("x"), ss("y"), graphAttr("body", body(on, operator("Neg", ss("v"), ss("w"))))), "num_scan_inputs is 0"},
		{"condition of two", operator("If", ss("two"), ss("y"), graphAttr("then_branch", body(on, operator("Neg", ss("v"), ss("w"))))), "of one element"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := wrap(c.node)
			if len(c.node.Outputs) > 1 {
				m.Graph.Outputs = bare("y", "z")
			}
			m.Graph.Initializers = []*pb.Tensor{i64s("n", nil, 2), i64s("two", []int64{2}, 1, 1)}
			h := open(t, m)
			x := h.f32([]int{2}, 1, 2)
			_, err := h.s.Run(t.Context(), values{"x": x})
			require.ErrorContains(t, err, c.want)
			var ne *onnx.NodeError
			require.ErrorAs(t, err, &ne)
			x.Release()
			require.NoError(t, h.s.Close())
			require.Zero(t, h.memory())
		})
	}
}
