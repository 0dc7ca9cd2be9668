package onnx_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// greedy returns small models that ask for n elements on the host, keyed by the operator that the error must name.
func greedy(n int64) map[string]*pb.Model {
	nodes := func(inits []*pb.Tensor, ns ...*pb.Node) *pb.Model {
		return modelOf(17, &pb.Graph{Name: "g", Nodes: ns, Initializers: inits, Outputs: bare("y")})
	}
	long := func(ns ...*pb.Node) *pb.Model {
		return nodes([]*pb.Tensor{i64s("n", []int64{1}, n)}, append([]*pb.Node{operator("ConstantOfShape", ss("n"), ss("l"),
			&pb.Attribute{Name: "value", Type: pb.AttrTensor, T: i64s("", []int64{1}, 1)})}, ns...)...)
	}
	sparse := func() *pb.SparseTensor {
		return &pb.SparseTensor{Values: f32s("s", []int64{1}, 1), Indices: i64s("", []int64{1}, 3), Dims: []int64{n}}
	}
	range3 := []*pb.Tensor{i64s("a", nil, 0), i64s("b", nil, n), i64s("c", nil, 1)}
	init := nodes(nil, operator("Neg", ss("s"), ss("y")))
	init.Graph.SparseInitializers = []*pb.SparseTensor{sparse()}
	body := &pb.Graph{Nodes: []*pb.Node{operator("Identity", ss("go"), ss("on"))}, Inputs: bare("i", "go"), Outputs: bare("on", "i")}
	return map[string]*pb.Model{
		"Range":         nodes(range3, operator("Range", ss("a", "b", "c"), ss("y"))),
		"RandomNormal":  nodes(nil, operator("RandomNormal", nil, ss("y"), intsAttr("shape", n))),
		"RandomUniform": nodes(nil, operator("RandomUniform", nil, ss("y"), intsAttr("shape", n), &pb.Attribute{Name: "seed", Type: pb.AttrFloat, F: 1})),
		"Resize": nodes([]*pb.Tensor{f32s("x", []int64{1}, 1), i64s("n", []int64{1}, n)}, operator("Resize", ss("x", "", "", "n"), ss("y"),
			&pb.Attribute{Name: "mode", Type: pb.AttrString, S: []byte("linear")})),
		"Constant":        nodes(nil, operator("Constant", nil, ss("y"), &pb.Attribute{Name: "sparse_value", Type: pb.AttrSparseTensor, SparseTensor: sparse()})),
		"Neg":             init,
		"ConstantOfShape": nodes([]*pb.Tensor{i64s("n", []int64{1}, n)}, operator("ConstantOfShape", ss("n"), ss("y"))),
		"Tile":            nodes([]*pb.Tensor{i64s("x", []int64{2}, 1, 2), i64s("r", []int64{1}, n/2)}, operator("Tile", ss("x", "r"), ss("y"))),
		"Expand":          nodes([]*pb.Tensor{i64s("x", []int64{2, 1}, 1, 2), i64s("r", []int64{2}, 2, n/2)}, operator("Expand", ss("x", "r"), ss("y"))),
		"Add":             long(operator("Add", ss("l", "n"), ss("y"))),
		"HannWindow":      nodes([]*pb.Tensor{i64s("x", nil, n)}, operator("HannWindow", ss("x"), ss("y"))),
		"Gather":          long(operator("Gather", ss("n", "l"), ss("y"))),
		"SplitToSequence": long(operator("SplitToSequence", ss("l"), ss("s")), operator("ConcatFromSequence", ss("s"), ss("y"), intAttr("axis", 0))),
		"Loop":            nodes([]*pb.Tensor{i64s("m", nil, 1<<23)}, operator("Loop", ss("m", ""), ss("y"), graphAttr("body", body))),
	}
}

// allocated runs f and returns the number of bytes that it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestGreedyModels(t *testing.T) {
	const limit = 8 << 20
	for name, m := range greedy(1 << 32) {
		t.Run(name, func(t *testing.T) {
			h := openWith(t, m, onnx.Options{MaxHostBytes: limit})
			var err error
			took := allocated(func() { _, err = h.s.Run(t.Context(), nil) })
			require.ErrorIs(t, err, core.ErrOutOfMemory)
			require.ErrorContains(t, err, "MaxHostBytes")
			var ne *onnx.NodeError
			require.ErrorAs(t, err, &ne)
			require.Equal(t, name, ne.Op)
			require.Less(t, took, uint64(8*limit))
		})
	}
	// These models ask for more than the default limit of any machine.
	for _, name := range []string{"Range", "RandomNormal", "ConstantOfShape", "HannWindow"} {
		h := openWith(t, greedy(1 << 40)[name], onnx.Options{MaxTensorBytes: 1 << 50})
		_, err := h.s.Run(t.Context(), nil)
		require.ErrorIs(t, err, core.ErrOutOfMemory, name)
	}
}

// TestLongLists passes an operator more dimensions than a tensor can have. The operator refuses them before it allocates
// anything.
func TestLongLists(t *testing.T) {
	for _, n := range []*pb.Node{operator("Reshape", ss("n", "l"), ss("y")), operator("Expand", ss("n", "l"), ss("y")), operator("Tile", ss("n", "l"), ss("y")),
		operator("Unsqueeze", ss("n", "l"), ss("y")), operator("Pad", ss("n", "l"), ss("y")), operator("Slice", ss("n", "l", "l"), ss("y")),
		operator("ReduceSum", ss("n", "l"), ss("y")), operator("ConstantOfShape", ss("l"), ss("y"))} {
		h := open(t, modelOf(17, &pb.Graph{Name: "g", Outputs: bare("y"), Initializers: []*pb.Tensor{i64s("n", []int64{1}, 1<<32)},
			Nodes: []*pb.Node{operator("ConstantOfShape", ss("n"), ss("l")), n}}))
		var err error
		took := allocated(func() { _, err = h.s.Run(t.Context(), nil) })
		require.ErrorIs(t, err, core.ErrUnsupported, n.OpType)
		require.ErrorContains(t, err, n.OpType)
		require.Less(t, took, uint64(1<<20), n.OpType)
	}
}

// TestExplainIsCounted explains models with large declared inputs: their memory, which Explain allocates, counts towards the limit.
func TestExplainIsCounted(t *testing.T) {
	m := func(n int) *pb.Model {
		return modelOf(17, &pb.Graph{Name: "g", Inputs: []*pb.ValueInfo{decl("x", pb.Float, n)}, Outputs: bare("y"),
			Nodes: []*pb.Node{operator("Neg", ss("x"), ss("y"))}})
	}
	h := openWith(t, m(1<<32), onnx.Options{MaxHostBytes: 1 << 20})
	_, err := h.s.Explain(t.Context(), nil)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorContains(t, err, `input "x"`)
	h = openWith(t, m(100_000), onnx.Options{MaxHostBytes: 1 << 20})
	for range 5 {
		r, err := h.s.Explain(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, r.Partial)
	}
}

// TestBudgetIsGivenBack runs models that fit the limit many times, each time with shapes that need new constants.
func TestBudgetIsGivenBack(t *testing.T) {
	for _, name := range []string{"Range", "RandomNormal", "RandomUniform", "Constant", "Neg", "Tile", "Expand", "Add", "HannWindow"} {
		h := openWith(t, greedy(1000)[name], onnx.Options{MaxHostBytes: 64 << 10})
		for range 20 {
			for _, v := range h.run(nil) {
				v.Release()
			}
		}
	}
	m := modelOf(17, &pb.Graph{Name: "g", Inputs: []*pb.ValueInfo{decl("x", pb.Float, "n")}, Outputs: bare("y"),
		Initializers: []*pb.Tensor{i64s("a", nil, 0), i64s("c", nil, 1)},
		Nodes: []*pb.Node{operator("Size", ss("x"), ss("n")), operator("Range", ss("a", "n", "c"), ss("r")),
			operator("Cast", ss("r"), ss("f"), intAttr("to", int64(pb.Float))), operator("Add", ss("x", "f"), ss("y"))}})
	h := openWith(t, m, onnx.Options{MaxHostBytes: 128 << 10})
	for n := range 40 {
		x := h.upload(dtype.F32, []int{1000 + n}, make([]byte, 4*(1000+n)))
		want := make([]float64, 1000+n)
		for i := range want {
			want[i] = float64(i)
		}
		out := h.run(values{"x": x})
		h.want(out["y"], []int{1000 + n}, want...)
	}
	x := h.upload(dtype.F32, []int{20000}, make([]byte, 80000))
	_, err := h.s.Run(t.Context(), values{"x": x})
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorContains(t, err, "Range")
	// A failed run returns to the budget everything that it has counted.
	for range 3 {
		_, err := h.s.Run(t.Context(), values{"x": x})
		require.ErrorIs(t, err, core.ErrOutOfMemory)
	}
	h.run(values{"x": h.upload(dtype.F32, []int{1000}, make([]byte, 4000))})
}

// TestContentOfRunsIsCounted checks that the tensor contents that a run reads on the host count towards the limit, also after runs that
// follow an existing plan.
func TestContentOfRunsIsCounted(t *testing.T) {
	m := modelOf(17, &pb.Graph{Name: "g", Inputs: []*pb.ValueInfo{decl("x", pb.Float, "n", "n")}, Outputs: bare("y"),
		Nodes: []*pb.Node{operator("Det", ss("x"), ss("y"))}})
	h := openWith(t, m, onnx.Options{MaxHostBytes: 64 << 10})
	small := h.upload(dtype.F32, []int{2, 2}, make([]byte, 16))
	for range 3 {
		h.want(h.run(values{"x": small})["y"], []int{}, 0)
	}
	_, err := h.s.Run(t.Context(), values{"x": h.upload(dtype.F32, []int{100, 100}, make([]byte, 40000))})
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorContains(t, err, "Det")
}
