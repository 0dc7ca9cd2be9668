package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// graphOf returns an encoded model of nodes with untyped inputs and outputs.
func graphOf(opset int64, ins, outs []string, nodes ...*pb.Node) []byte {
	g := &pb.Graph{Name: "g", Nodes: nodes}
	for _, n := range ins {
		g.Inputs = append(g.Inputs, &pb.ValueInfo{Name: n})
	}
	for _, n := range outs {
		g.Outputs = append(g.Outputs, &pb.ValueInfo{Name: n})
	}
	m := &pb.Model{IRVersion: 8, Graph: g, OpsetImports: []*pb.OperatorSetID{{Version: opset}}}
	return m.Append(nil)
}

func nodeOf(op string, ins, outs []string, attrs ...*pb.Attribute) *pb.Node {
	return &pb.Node{OpType: op, Inputs: ins, Outputs: outs, Attributes: attrs}
}

func attrInt(name string, v int64) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInt, I: v}
}

func attrInts(name string, v ...int64) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInts, Ints: v}
}

func attrFloat(name string, v float32) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrFloat, F: v}
}

func attrStr(name, v string) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrString, S: []byte(v)}
}

// constOf returns a Constant node of integers: one value is a scalar, none an empty vector.
func constOf(out string, v ...int64) *pb.Node {
	if len(v) == 1 {
		return nodeOf("Constant", nil, []string{out}, attrInt("value_int", v[0]))
	}
	return nodeOf("Constant", nil, []string{out}, attrInts("value_ints", v...))
}

func openGraph(t *testing.T, b []byte) (*onnx.Session, *tensor.Device) {
	t.Helper()
	d := onStream(t, openRef(t))
	m, err := onnx.Parse(b, "", onnx.Options{})
	require.NoError(t, err)
	s, err := m.Open(d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, d
}

func floatsOf(t *testing.T, v onnx.Value) []float32 {
	t.Helper()
	require.Equal(t, onnx.TensorKind, v.Kind())
	b, err := v.Tensor().Bytes(t.Context())
	require.NoError(t, err)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24)
	}
	return out
}

func TestSequences(t *testing.T) {
	type nodes = []*pb.Node
	abc := nodeOf("SequenceConstruct", []string{"a", "b", "c"}, []string{"s"})
	tests := []struct {
		name  string
		nodes nodes
		want  []float32
	}{
		{"at the end", nodes{abc, constOf("p", -1), nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})}, []float32{5, 6}},
		{"at the start", nodes{abc, constOf("p", -3), nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})}, []float32{1, 2}},
		{"concatenated", nodes{abc, nodeOf("ConcatFromSequence", []string{"s"}, []string{"y"}, attrInt("axis", -1))}, []float32{1, 2, 3, 4, 5, 6}},
		{"stacked last", nodes{abc, nodeOf("ConcatFromSequence", []string{"s"}, []string{"y"}, attrInt("axis", -1), attrInt("new_axis", 1))},
			[]float32{1, 3, 5, 2, 4, 6}},
		{"erased last", nodes{abc, nodeOf("SequenceErase", []string{"s"}, []string{"r"}),
			nodeOf("ConcatFromSequence", []string{"r"}, []string{"y"}, attrInt("axis", 0))}, []float32{1, 2, 3, 4}},
		{"erased", nodes{abc, constOf("p", -2), nodeOf("SequenceErase", []string{"s", "p"}, []string{"r"}),
			nodeOf("ConcatFromSequence", []string{"r"}, []string{"y"}, attrInt("axis", 0))}, []float32{1, 2, 5, 6}},
		{"inserted before the last", nodes{abc, constOf("p", -1), nodeOf("SequenceInsert", []string{"s", "a", "p"}, []string{"r"}),
			nodeOf("ConcatFromSequence", []string{"r"}, []string{"y"}, attrInt("axis", 0))}, []float32{1, 2, 3, 4, 1, 2, 5, 6}},
		{"inserted into nothing", nodes{nodeOf("SequenceEmpty", nil, []string{"s"}), nodeOf("SequenceInsert", []string{"s", "b"}, []string{"r"}),
			nodeOf("ConcatFromSequence", []string{"r"}, []string{"y"}, attrInt("axis", 0))}, []float32{3, 4}},
		{"the sequence that was read stays", nodes{abc, nodeOf("SequenceErase", []string{"s"}, []string{"r"}), constOf("p", 2),
			nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})}, []float32{5, 6}},
		{"length", nodes{abc, nodeOf("SequenceLength", []string{"s"}, []string{"l"}), nodeOf("Cast", []string{"l"}, []string{"y"}, attrInt("to", 1))},
			[]float32{3}},
		{"split in ones", nodes{nodeOf("SplitToSequence", []string{"a"}, []string{"s"}, attrInt("keepdims", 0)), constOf("p", 1),
			nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})}, []float32{2}},
		{"split in threes", nodes{nodeOf("Concat", []string{"a", "b"}, []string{"ab"}, attrInt("axis", 0)), constOf("by", 3),
			nodeOf("SplitToSequence", []string{"ab", "by"}, []string{"s"}), constOf("p", 1), nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})},
			[]float32{4}},
		{"split in given parts", nodes{nodeOf("Concat", []string{"a", "b"}, []string{"ab"}, attrInt("axis", 0)), constOf("by", 3, 0, 1),
			nodeOf("SplitToSequence", []string{"ab", "by"}, []string{"s"}), constOf("p", 0), nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})},
			[]float32{1, 2, 3}},
		{"through an optional", nodes{nodeOf("Optional", []string{"b"}, []string{"o"}), nodeOf("OptionalGetElement", []string{"o"}, []string{"y"})},
			[]float32{3, 4}},
		{"an empty optional", nodes{nodeOf("Optional", nil, []string{"o"}), nodeOf("OptionalHasElement", []string{"o"}, []string{"h"}),
			nodeOf("Cast", []string{"h"}, []string{"y"}, attrInt("to", 1))}, []float32{0}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s, d := openGraph(t, graphOf(18, []string{"a", "b", "c"}, []string{"y"}, c.nodes...))
			feed := map[string]onnx.Value{}
			for i, n := range []string{"a", "b", "c"} {
				feed[n] = onnx.TensorValue(tensor.From(d, []float32{float32(2*i + 1), float32(2*i + 2)}))
			}
			for range 2 {
				got, err := s.Run(t.Context(), feed)
				require.NoError(t, err)
				require.Equal(t, c.want, floatsOf(t, got["y"]))
			}
		})
	}
}

// TestIllegalNodes runs nodes that break a rule of their operator.
func TestIllegalNodes(t *testing.T) {
	x := []string{"x", "p"}
	seq := nodeOf("SequenceConstruct", []string{"x"}, []string{"s"})
	tests := []struct {
		name  string
		want  error
		nodes []*pb.Node
	}{
		{"reshape to other elements", onnx.ErrModel, []*pb.Node{constOf("p", 4, 2), nodeOf("Reshape", x, []string{"y"})}},
		{"two unknown dimensions", onnx.ErrModel, []*pb.Node{constOf("p", -1, -1), nodeOf("Reshape", x, []string{"y"})}},
		{"squeeze of 3", onnx.ErrModel, []*pb.Node{constOf("p", 1, 0), nodeOf("Squeeze", x, []string{"y"})}},
		{"axis twice", onnx.ErrModel, []*pb.Node{constOf("p", 1, -3), nodeOf("Unsqueeze", x, []string{"y"})}},
		{"step 0", onnx.ErrModel, []*pb.Node{constOf("p", 0, 0), nodeOf("Slice", []string{"x", "p", "p", "", "p"}, []string{"y"})}},
		{"axis beyond the rank", onnx.ErrModel, []*pb.Node{constOf("p", 0, 2), nodeOf("ReduceSum", x, []string{"y"})}},
		{"pads for one axis", onnx.ErrModel, []*pb.Node{constOf("p", 1, 1), nodeOf("Pad", x, []string{"y"})}},
		{"pad mode", onnx.ErrModel, []*pb.Node{constOf("p", 1, 1, 0, 0), nodeOf("Pad", x, []string{"y"}, attrStr("mode", "mirror"))}},
		{"split does not add up", onnx.ErrModel, []*pb.Node{constOf("p", 1, 3), nodeOf("Split", x, []string{"y", "z"})}},
		{"scatter reduction", onnx.ErrModel, []*pb.Node{constOf("p", 0, 0), nodeOf("ScatterND", []string{"x", "p", "x"}, []string{"y"}, attrStr("reduction", "sub"))}},
		{"float mod", onnx.ErrModel, []*pb.Node{nodeOf("Mod", []string{"x", "x"}, []string{"y"})}},
		{"shift nowhere", onnx.ErrModel, []*pb.Node{nodeOf("BitShift", []string{"x", "x"}, []string{"y"})}},
		{"position beyond the end", onnx.ErrModel, []*pb.Node{seq, constOf("p", 1), nodeOf("SequenceAt", []string{"s", "p"}, []string{"y"})}},
		{"tensor as sequence", onnx.ErrModel, []*pb.Node{constOf("p", 1), nodeOf("SequenceAt", x, []string{"y"})}},
		{"content of an empty optional", onnx.ErrModel, []*pb.Node{nodeOf("Optional", nil, []string{"o"}), nodeOf("OptionalGetElement", []string{"o"}, []string{"y"})}},
		{"sum of other shapes", core.ErrShape, []*pb.Node{constOf("p", 1, 2, 3, 4), nodeOf("Cast", []string{"p"}, []string{"q"}, attrInt("to", 1)),
			nodeOf("Add", []string{"x", "q"}, []string{"y"})}},
		{"sum of other types", core.ErrDType, []*pb.Node{constOf("p", 1), nodeOf("Add", x, []string{"y"})}},
		{"cast to text", core.ErrUnsupported, []*pb.Node{nodeOf("Cast", []string{"x"}, []string{"y"}, attrInt("to", int64(pb.String)))}},
		{"cast to complex numbers", core.ErrUnsupported, []*pb.Node{nodeOf("Cast", []string{"x"}, []string{"y"}, attrInt("to", int64(pb.Complex64)))}},
		{"constant text", core.ErrUnsupported, []*pb.Node{nodeOf("Constant", nil, []string{"y"}, attrStr("value_string", "a"))}},
		{"index outside", core.ErrIndex, []*pb.Node{constOf("p", 2), nodeOf("Gather", x, []string{"y"})}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s, d := openGraph(t, graphOf(17, []string{"x"}, []string{"y"}, c.nodes...))
			got, err := s.Run(t.Context(), map[string]onnx.Value{"x": onnx.TensorValue(tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3))})
			if err == nil { // an error of the device arrives when the content is read
				_, err = got["y"].Tensor().Bytes(t.Context())
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestSparseConstant(t *testing.T) {
	for _, index := range []*pb.Tensor{
		{DataType: pb.Int64, Dims: []int64{2}, Int64Data: []int64{1, 5}},
		{DataType: pb.Int64, Dims: []int64{2, 2}, Int64Data: []int64{0, 1, 1, 2}},
	} {
		sparse := &pb.Attribute{Name: "sparse_value", Type: pb.AttrSparseTensor, SparseTensor: &pb.SparseTensor{Dims: []int64{2, 3},
			Values: &pb.Tensor{DataType: pb.Float, Dims: []int64{2}, FloatData: []float32{7, 8}}, Indices: index}}
		s, _ := openGraph(t, graphOf(17, nil, []string{"y"}, nodeOf("Constant", nil, []string{"y"}, sparse)))
		got, err := s.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, []float32{0, 7, 0, 0, 0, 8}, floatsOf(t, got["y"]))
	}
}
