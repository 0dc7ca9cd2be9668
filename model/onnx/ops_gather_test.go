package onnx_test

import (
	"testing"

	"github.com/goburn/burn/model/onnx/pb"
)

// TestGatherOfConstants covers indices that become a slice, and similar ones that do not.
func TestGatherOfConstants(t *testing.T) {
	for _, c := range []struct {
		name  string
		axis  int64
		dims  []int64
		index []int64
		shape []int
		want  []float64 // of [[0 1 2] [3 4 5] [6 7 8]]
	}{
		{"a row", 0, nil, []int64{1}, []int{3}, []float64{3, 4, 5}},
		{"the last column", 1, nil, []int64{-1}, []int{3}, []float64{2, 5, 8}},
		{"a row that stays a matrix", 0, []int64{1}, []int64{2}, []int{1, 3}, []float64{6, 7, 8}},
		{"two steps", 1, []int64{2}, []int64{0, 2}, []int{3, 2}, []float64{0, 2, 3, 5, 6, 8}},
		{"backwards", 0, []int64{3}, []int64{2, 1, 0}, []int{3, 3}, []float64{6, 7, 8, 3, 4, 5, 0, 1, 2}},
		{"a matrix of indices", 1, []int64{1, 2}, []int64{1, 2}, []int{3, 1, 2}, []float64{1, 2, 4, 5, 7, 8}},
		{"the same twice", 0, []int64{2}, []int64{1, 1}, []int{2, 3}, []float64{3, 4, 5, 3, 4, 5}},
		{"no run", 0, []int64{3}, []int64{0, 2, 1}, []int{3, 3}, []float64{0, 1, 2, 6, 7, 8, 3, 4, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Gather", ss("x", "i"), ss("y"), intAttr("axis", c.axis))},
				Initializers: []*pb.Tensor{i64s("i", c.dims, c.index...)}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 3, 3)}, Outputs: bare("y")}))
			out := h.run(values{"x": h.f32([]int{3, 3}, 0, 1, 2, 3, 4, 5, 6, 7, 8)})
			h.want(out["y"], c.shape, c.want...)
		})
	}
}
