package export

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/pb"
)

func reductionRules() map[op.Code]rule {
	m := map[op.Code]rule{
		op.Softmax: as("Softmax", intOf("axis", "axis")), op.LogSoftmax: as("LogSoftmax", intOf("axis", "axis")),
		op.Hardmax: as("Hardmax", intOf("axis", "axis")).when(floats),
		op.ArgMax:  as("ArgMax", intOf("axis", "axis"), keepDims), op.ArgMin: as("ArgMin", intOf("axis", "axis"), keepDims),
		op.CumSum: made(func(e *emitter, n *node, in []string) string {
			axis := e.constant(dtype.I64, nil, integer(dtype.I64, int64(n.attrs.Int("axis"))))
			return e.node("CumSum", []string{in[0], axis}, attrBool("exclusive", n.attrs.Bool("exclusive")), attrBool("reverse", n.attrs.Bool("reverse")))
		}),
		op.Sort: {emit: func(e *emitter, n *node) error {
			axis := n.attrs.Int("axis")
			k := e.dims(n.inputs[0].shape[axis : axis+1])
			return topK(e, n, k, n.attrs.Bool("descending"))
		}},
		op.TopK: {emit: func(e *emitter, n *node) error { return topK(e, n, e.dims(n.dims("k")), n.attrs.Bool("largest")) }},
	}
	for c, kind := range map[op.Code]string{op.Sum: "ReduceSum", op.Prod: "ReduceProd", op.ReduceMax: "ReduceMax", op.ReduceMin: "ReduceMin",
		op.Mean: "ReduceMean", op.LogSumExp: "ReduceLogSumExp"} {
		m[c] = rule{emit: func(e *emitter, n *node) error {
			axes, err := n.static("axes")
			if err != nil {
				return err
			}
			n.outputs[0].name = e.node(kind, []string{n.inputs[0].name, e.vector(axes...)}, keepDims(n), attrInt("noop_with_empty_axes", 1))
			return nil
		}}
	}
	return m
}

func keepDims(n *node) *pb.Attribute { return attrBool("keepdims", n.attrs.Bool("keep_dims")) }

// topK emits a TopK that returns values and indices; in both, equal elements keep their order.
func topK(e *emitter, n *node, k string, largest bool) error {
	out := e.nodes("TopK", 2, []string{n.inputs[0].name, k}, attrInt("axis", n.attrs.Int("axis")), attrBool("largest", largest), attrInt("sorted", 1))
	for i := range n.outputs {
		n.outputs[i].name = out[i]
	}
	return nil
}
