package onnx_test

import (
	"testing"

	"github.com/goburn/burn/model/onnx/pb"
)

// TestScaleOfOneElement dequantizes a vector of one element, as quantizers write the bias of one output. The axis of a scale with
// one element is irrelevant, and defaults to 1.
func TestScaleOfOneElement(t *testing.T) {
	h := open(t, modelOf(17, &pb.Graph{Nodes: []*pb.Node{
		operator("Cast", ss("x"), ss("q"), intAttr("to", int64(pb.Int32))),
		operator("DequantizeLinear", ss("q", "scale"), ss("y")),
	}, Initializers: []*pb.Tensor{f32s("scale", []int64{1}, 0.5)}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1)}, Outputs: bare("y")}))
	h.want(h.run(values{"x": h.f32([]int{1}, 7)})["y"], []int{1}, 3.5)
}
