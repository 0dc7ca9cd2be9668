package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

type operand struct {
	dims []int
	v    []float32
}

func counting(dims ...int) operand {
	n := 1
	for _, d := range dims {
		n *= d
	}
	o := operand{dims: dims, v: make([]float32, n)}
	for i := range o.v {
		o.v[i] = float32(i)
	}
	return o
}

// runNode runs a node whose inputs are x0, x1, ... and returns its first output, of type f32.
func runNode(t *testing.T, opset int64, n *pb.Node, in []operand, extra ...*pb.Node) (onnx.Value, error) {
	t.Helper()
	names := []string{"x0", "x1", "x2", "x3", "x4"}[:len(in)]
	s, d := openGraph(t, graphOf(opset, names, []string{"y"}, append(extra, n)...))
	feed := map[string]onnx.Value{}
	for i, o := range in {
		feed[names[i]] = onnx.TensorValue(tensor.From(d, o.v, o.dims...))
	}
	got, err := s.Run(t.Context(), feed)
	return got["y"], err
}

// The expected numbers were worked out by hand from the operator texts of opsets 1 to 6.
func TestEarlyForms(t *testing.T) {
	type attrs = []*pb.Attribute
	grid := counting(2, 3) // 0 1 2, 3 4 5
	row, column := operand{[]int{3}, []float32{10, 20, 30}}, operand{[]int{2}, []float32{10, 20}}
	signs := operand{[]int{2, 2}, []float32{-1, -2, -3, 4}}
	inf := float32(math.Inf(1))
	on := attrInt("broadcast", 1)
	for name, c := range map[string]struct {
		op    string
		opset int64
		in    []operand
		attrs attrs
		dims  []int
		want  []float32
	}{
		"add same shape":      {"Add", 6, []operand{grid, grid}, nil, []int{2, 3}, []float32{0, 2, 4, 6, 8, 10}},
		"add last dimensions": {"Add", 1, []operand{grid, row}, attrs{on, attrInts("consumed_inputs", 0, 0)}, []int{2, 3}, []float32{10, 21, 32, 13, 24, 35}},
		"add first dimension": {"Add", 6, []operand{grid, column}, attrs{on, attrInt("axis", 0)}, []int{2, 3}, []float32{10, 11, 12, 23, 24, 25}},
		"sub negative axis":   {"Sub", 6, []operand{grid, row}, attrs{on, attrInt("axis", -1)}, []int{2, 3}, []float32{-10, -19, -28, -7, -16, -25}},
		"mul one element":     {"Mul", 3, []operand{grid, {[]int{1, 1}, []float32{3}}}, attrs{on}, []int{2, 3}, []float32{0, 3, 6, 9, 12, 15}},
		"div column of ones":  {"Div", 6, []operand{grid, {[]int{2, 1}, []float32{1, 2}}}, attrs{on}, []int{2, 3}, []float32{0, 1, 2, 1.5, 2, 2.5}},
		"pow":                 {"Pow", 1, []operand{grid, {[]int{}, []float32{3}}}, attrs{on}, []int{2, 3}, []float32{0, 1, 8, 27, 64, 125}},
		"prelu per channel":   {"PRelu", 6, []operand{signs, {[]int{2}, []float32{10, 100}}}, nil, []int{2, 2}, []float32{-10, -200, -30, 4}},
		"prelu shared":        {"PRelu", 1, []operand{signs, {[]int{1}, []float32{10}}}, nil, []int{2, 2}, []float32{-10, -20, -30, 4}},
		"prelu later": {"PRelu", 7, []operand{{[]int{1, 2, 1}, []float32{-1, -2}}, {[]int{2, 1}, []float32{10, 100}}}, nil, []int{1, 2, 1},
			[]float32{-10, -200}},
		"clip without bounds":  {"Clip", 5, []operand{{[]int{2}, []float32{-inf, inf}}}, nil, []int{2}, []float32{-inf, inf}},
		"clip default bounds":  {"Clip", 6, []operand{{[]int{2}, []float32{-inf, inf}}}, nil, []int{2}, []float32{-math.MaxFloat32, math.MaxFloat32}},
		"clip":                 {"Clip", 1, []operand{grid}, attrs{attrFloat("min", 1), attrFloat("max", 3)}, []int{2, 3}, []float32{1, 1, 2, 3, 3, 3}},
		"concat default axis":  {"Concat", 1, []operand{signs, signs}, nil, []int{2, 4}, []float32{-1, -2, -1, -2, -3, 4, -3, 4}},
		"split attribute":      {"Split", 1, []operand{counting(5)}, attrs{attrInts("split", 2, 3), attrInt("axis", 0)}, []int{2}, []float32{0, 1}},
		"split input":          {"Split", 1, []operand{counting(5), {[]int{2}, []float32{2, 3}}}, attrs{attrInt("axis", 0)}, []int{2}, []float32{0, 1}},
		"reshape":              {"Reshape", 1, []operand{counting(2, 3, 2)}, attrs{attrInts("shape", 0, -1)}, []int{2, 6}, counting(12).v},
		"tile":                 {"Tile", 1, []operand{signs, {[]int{}, []float32{2}}, {[]int{}, []float32{1}}}, nil, []int{2, 4}, []float32{-1, -2, -1, -2, -3, 4, -3, 4}},
		"cast":                 {"Cast", 1, []operand{grid}, attrs{attrStr("to", "FLOAT")}, []int{2, 3}, grid.v},
		"dropout in a test":    {"Dropout", 6, []operand{grid}, attrs{attrInt("is_test", 1)}, []int{2, 3}, grid.v},
		"dropout of none":      {"Dropout", 1, []operand{grid}, attrs{attrFloat("ratio", 0)}, []int{2, 3}, grid.v},
		"sum of three":         {"Sum", 1, []operand{grid, grid, grid}, nil, []int{2, 3}, []float32{0, 3, 6, 9, 12, 15}},
		"elu":                  {"Elu", 1, []operand{{[]int{1}, []float32{2}}}, attrs{attrInts("consumed_inputs", 0)}, []int{1}, []float32{2}},
		"selu of opset 1":      {"Selu", 1, []operand{{[]int{1}, []float32{2}}}, nil, []int{1}, []float32{2 * 1.0507}},
		"pad paddings":         {"Pad", 1, []operand{{[]int{1, 1}, []float32{7}}}, attrs{attrInts("paddings", 0, 1, 0, 0)}, []int{1, 2}, []float32{0, 7}},
		"upsample":             {"Upsample", 1, []operand{{[]int{1, 1, 1, 2}, []float32{1, 2}}}, attrs{attrFloat("height_scale", 2), attrFloat("width_scale", 1)}, []int{1, 1, 2, 2}, []float32{1, 2, 1, 2}},
		"gemm broadcast":       {"Gemm", 6, []operand{signs, signs, {[]int{2}, []float32{1, 2}}}, attrs{on}, []int{2, 2}, []float32{8, -4, -8, 24}},
		"batch normalization":  {"BatchNormalization", 1, []operand{signs, {[]int{2}, []float32{1, 2}}, {[]int{2}, []float32{0, 1}}, {[]int{2}, []float32{0, 0}}, {[]int{2}, []float32{1, 4}}}, attrs{attrInts("consumed_inputs", 0, 0), attrInt("is_test", 1), attrFloat("epsilon", 0)}, []int{2, 2}, []float32{-1, -1, -3, 5}},
		"topk attribute":       {"TopK", 1, []operand{grid}, attrs{attrInt("k", 1)}, []int{2, 1}, []float32{2, 5}},
		"slice by attributes":  {"Slice", 1, []operand{grid}, attrs{attrInts("starts", 1), attrInts("ends", 9), attrInts("axes", 1)}, []int{2, 2}, []float32{1, 2, 4, 5}},
		"norm of a float":      {"GlobalLpPool", 1, []operand{{[]int{1, 1, 2}, []float32{3, 4}}}, attrs{attrFloat("p", 2)}, []int{1, 1, 1}, []float32{5}},
		"squeeze by attribute": {"Squeeze", 1, []operand{{[]int{1, 1}, []float32{7}}}, attrs{attrInts("axes", 0)}, []int{1}, []float32{7}},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{"x0", "x1", "x2", "x3", "x4"}[:len(c.in)]
			outs := []string{"y"}
			if c.op == "Split" {
				outs = append(outs, "z")
			}
			got, err := runNode(t, c.opset, nodeOf(c.op, names, outs, c.attrs...), c.in)
			require.NoError(t, err)
			require.Equal(t, c.dims, append([]int{}, got.Tensor().Shape()...))
			require.InDeltaSlice(t, toFloat64(c.want), toFloat64(floatsOf(t, got)), 1e-5)
		})
	}
}

func TestEarlyForms_comparisons(t *testing.T) {
	n := nodeOf("Less", []string{"x0", "x1"}, []string{"b"}, attrInt("broadcast", 1), attrInt("axis", 0))
	cast := nodeOf("Cast", []string{"b"}, []string{"y"}, attrStr("to", "FLOAT"))
	got, err := runNode(t, 5, cast, []operand{counting(2, 2), {[]int{2}, []float32{1, 3}}}, n)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 0, 1, 0}, floatsOf(t, got))
}

func TestEarlyForms_refused(t *testing.T) {
	grid := counting(2, 3)
	on := attrInt("broadcast", 1)
	for name, c := range map[string]struct {
		n    *pb.Node
		in   []operand
		want string
	}{
		"without broadcast":  {nodeOf("Add", ss("x0", "x1"), ss("y")), []operand{grid, counting(3)}, "attribute broadcast"},
		"does not fit":       {nodeOf("Add", ss("x0", "x1"), ss("y"), on), []operand{grid, counting(2)}, "does not fit axis 1"},
		"grows the first":    {nodeOf("Add", ss("x0", "x1"), ss("y"), on), []operand{counting(3), grid}, "from axis -1"},
		"axis beyond":        {nodeOf("Add", ss("x0", "x1"), ss("y"), on, attrInt("axis", 2)), []operand{grid, counting(3)}, "from axis 2"},
		"cast to no type":    {nodeOf("Cast", ss("x0"), ss("y"), attrStr("to", "FLOAT9")), []operand{grid}, `to is "FLOAT9"`},
		"dropout of all":     {nodeOf("Dropout", ss("x0"), ss("y"), attrFloat("ratio", 1)), []operand{grid}, "ratio is 1"},
		"tile beyond":        {nodeOf("Tile", ss("x0", "x1", "x2"), ss("y")), []operand{grid, {[]int{}, []float32{2}}, {[]int{}, []float32{2}}}, "axis 2"},
		"reshape of nothing": {nodeOf("Reshape", ss("x0"), ss("y")), []operand{grid}, "elements do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runNode(t, 4, c.n, c.in)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestEarlyDropout drops about half of the elements and doubles the rest.
func TestEarlyDropout(t *testing.T) {
	x := operand{dims: []int{1000}, v: make([]float32, 1000)}
	for i := range x.v {
		x.v[i] = 1
	}
	got, err := runNode(t, 6, nodeOf("Dropout", ss("x0"), ss("y", "m")), []operand{x})
	require.NoError(t, err)
	sum := float32(0)
	for _, v := range floatsOf(t, got) {
		require.Contains(t, []float32{0, 2}, v)
		sum += v
	}
	require.InDelta(t, 1000, sum, 200)
}

// A file older than format version 3 has no imports and means opset 1.
func TestOldestFormat(t *testing.T) {
	m := modelOf(1, wrap(operator("Concat", ss("x", "x"), ss("y"))).Graph)
	m.OpsetImports, m.IRVersion = nil, 2
	_, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	m.IRVersion = 3
	_, err = parse(m, onnx.Options{})
	require.ErrorContains(t, err, "no opset of the default domain is imported")
}
