package onnx_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// wrap returns a model of nodes that compute y from x.
func wrap(nodes ...*pb.Node) *pb.Model {
	return modelOf(17, &pb.Graph{Name: "g", Nodes: nodes, Inputs: []*pb.ValueInfo{decl("x", pb.Float, "n")}, Outputs: bare("y")})
}

func TestChecks(t *testing.T) {
	add := func(in1, in2, out string) *pb.Node { return operator("Add", ss(in1, in2), ss(out)) }
	twice := wrap(add("x", "x", "y"))
	twice.Graph.Initializers = []*pb.Tensor{f32s("w", nil, 1), f32s("w", nil, 2)}
	shadow := wrap(add("x", "x", "y"))
	shadow.Graph.Initializers = []*pb.Tensor{f32s("y", nil, 1)}
	inputs := wrap(add("x", "x", "y"))
	inputs.Graph.Inputs = append(inputs.Graph.Inputs, decl("x", pb.Float))
	noImport := wrap(add("x", "x", "y"))
	noImport.OpsetImports = nil
	imports := wrap(add("x", "x", "y"))
	imports.OpsetImports = append(imports.OpsetImports, &pb.OperatorSetID{Domain: "ai.onnx", Version: 17})
	sub := &pb.Graph{Nodes: []*pb.Node{add("x", "nowhere", "r")}, Outputs: bare("r")}
	inner := wrap(operator("If", ss("c"), ss("y"), graphAttr("then_branch", sub), graphAttr("else_branch", sub)))
	inner.Graph.Inputs = append(inner.Graph.Inputs, decl("c", pb.Bool))
	// A subgraph that needs the result of the node that it belongs to.
	self := wrap(operator("If", ss("x"), ss("y"),
		graphAttr("then_branch", &pb.Graph{Nodes: []*pb.Node{add("x", "y", "r")}, Outputs: bare("r")})))
	for _, c := range []struct {
		name  string
		model *pb.Model
		want  []string
		is    error
	}{
		{"undefined input", wrap(add("x", "z", "y")), []string{`Add "y"`, `"z"`}, onnx.ErrModel},
		{"undefined output", wrap(add("x", "x", "z")), []string{`output "y"`}, onnx.ErrModel},
		{"defined twice", wrap(add("x", "x", "y"), add("x", "x", "y")), []string{`"y" is defined twice`}, onnx.ErrModel},
		{"defines an input", wrap(add("x", "x", "x"), add("x", "x", "y")), []string{`"x" is defined twice`}, onnx.ErrModel},
		{"defines an initializer", shadow, []string{`"y" is defined twice`}, onnx.ErrModel},
		{"initializer twice", twice, []string{`"w" is given twice`}, onnx.ErrModel},
		{"input twice", inputs, []string{`"x" is listed twice`}, onnx.ErrModel},
		{"cycle", wrap(add("x", "c", "a"), add("a", "x", "b"), add("b", "x", "c"), add("a", "x", "y")),
			[]string{"cycle", `Add "a" -> Add "b" -> Add "c" -> Add "a"`}, onnx.ErrModel},
		{"needs itself", wrap(add("x", "y", "y")), []string{"cycle", `Add "y" -> Add "y"`}, onnx.ErrModel},
		{"cycle through a subgraph", self, []string{"cycle", `If "y"`}, onnx.ErrModel},
		{"undefined in a subgraph", inner, []string{`"nowhere"`, `If "y"`}, onnx.ErrModel},
		{"opset too low", modelOf(0, wrap(add("x", "x", "y")).Graph), []string{"opset version 0", "1 to 28"}, core.ErrUnsupported},
		{"opset too high", modelOf(29, wrap(add("x", "x", "y")).Graph), []string{"opset version 29", "1 to 28"}, core.ErrUnsupported},
		{"no opset", noImport, []string{"no opset"}, onnx.ErrModel},
		{"opset twice", imports, []string{"imported twice"}, onnx.ErrModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.model, onnx.Options{})
			require.ErrorIs(t, err, c.is)
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
		})
	}
}

// The nodes of the file are in no topological order, and one of them is dead.
func TestOutOfOrder(t *testing.T) {
	m := wrap(operator("Sub", ss("b", "x"), ss("y")), operator("Mul", ss("a", "a"), ss("b")), operator("NoSuchOperator", ss("a"), ss("dead")),
		operator("Add", ss("x", "one"), ss("a")))
	m.Graph.Initializers = []*pb.Tensor{f32s("one", nil, 1)}
	h := open(t, m)
	x := h.f32([]int{3}, 1, 2, 3)
	h.want(h.run(map[string]onnx.Value{"x": x})["y"], []int{3}, 3, 7, 13) // (x+1)²-x
	require.Equal(t, 1, h.s.Model().Info().Dead)
	require.Equal(t, 3, h.s.Model().Info().Nodes)
}

func TestUnsupportedOperatorsAreListedAtOnce(t *testing.T) {
	odd := func(domain, opType, name, in, out string) *pb.Node {
		return &pb.Node{Domain: domain, OpType: opType, Name: name, Inputs: ss(in), Outputs: ss(out)}
	}
	branch := &pb.Graph{Nodes: []*pb.Node{odd("", "Strange", "inside", "x", "r")}, Outputs: bare("r")}
	m := wrap(odd("", "Strange", "first", "x", "a"), odd("my.domain", "Custom", "", "a", "b"), operator("Wrapped", ss("b"), ss("c")),
		operator("If", ss("k"), ss("y"), graphAttr("then_branch", branch), graphAttr("else_branch", branch)))
	m.Graph.Nodes[2].Domain = "my.functions"
	m.Graph.Inputs = append(m.Graph.Inputs, decl("k", pb.Bool))
	m.Graph.Outputs = append(m.Graph.Outputs, bare("c")...)
	m.OpsetImports = append(m.OpsetImports, &pb.OperatorSetID{Domain: "my.domain", Version: 3}, &pb.OperatorSetID{Domain: "my.functions", Version: 1})
	m.Functions = []*pb.Function{{Name: "Wrapped", Domain: "my.functions", Inputs: ss("p"), Outputs: ss("q"),
		Nodes:        []*pb.Node{odd("", "Stranger", "in the function", "p", "q")},
		OpsetImports: []*pb.OperatorSetID{{Version: 17}}}}
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err, "a model can be parsed whatever operators it has")
	_, err = parsed.Open(onStream(t, openRef(t)))
	require.ErrorIs(t, err, core.ErrUnsupported)
	var list *onnx.UnsupportedError
	require.ErrorAs(t, err, &list)
	require.Equal(t, []onnx.UnsupportedOp{
		{Op: "Strange", Version: 17, Nodes: []string{"first", "inside", "inside"}},
		{Domain: "my.domain", Op: "Custom", Version: 3, Nodes: []string{"b"}},
		{Op: "Stranger", Version: 17, Nodes: []string{"in the function"}},
	}, list.Ops)
	require.EqualError(t, err, `onnx: 3 unsupported operators: Strange (domain ai.onnx, version 17; nodes "first", "inside", "inside"); `+
		`Custom (domain my.domain, version 3; nodes "b"); Stranger (domain ai.onnx, version 17; nodes "in the function")`)
}

func TestInfo(t *testing.T) {
	m := wrap(operator("Add", ss("x", "w"), ss("a")), operator("Add", ss("a", "v"), ss("y")), operator("Neg", ss("a"), ss("z")))
	m.ProducerName, m.ProducerVersion, m.Doc = "by hand", "1", "adds"
	m.Metadata = []*pb.Property{{Key: "k", Value: "v"}}
	m.Graph.Outputs = append(m.Graph.Outputs, bare("z")...)
	m.Graph.Initializers = []*pb.Tensor{f32s("w", []int64{2, 3}, 1, 2, 3, 4, 5, 6), f32s("v", nil, 1)}
	m.Graph.Inputs = append(m.Graph.Inputs, decl("v", pb.Float), decl("u", pb.Int64, 4, nil, 0))
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	i := parsed.Info()
	require.EqualValues(t, 7, i.Parameters)
	require.EqualValues(t, 28, i.ParameterBytes)
	require.Equal(t, []onnx.OperatorCount{{Op: "Add", Count: 2, Supported: true}, {Op: "Neg", Count: 1, Supported: true}}, i.Operators)
	require.Equal(t, []onnx.Opset{{Domain: "ai.onnx", Version: 17}}, i.Opsets)
	require.Equal(t, []onnx.Property{{Key: "k", Value: "v"}}, i.Metadata)
	require.Equal(t, "by hand 1 adds", fmt.Sprint(i.ProducerName, " ", i.ProducerVersion, " ", i.Doc))
	var names []string
	for _, v := range parsed.Inputs() {
		names = append(names, v.String())
	}
	require.Equal(t, []string{"x: f32[n]", "u: i64[4,?,?]", "v: f32[]"}, names)
	require.True(t, parsed.Inputs()[2].Default)
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	m := wrap(operator("Add", ss("x", "w"), ss("a")), operator("Mul", ss("a", "v"), ss("y")))
	external := func(name string, offset string) *pb.Tensor {
		return &pb.Tensor{Name: name, DataType: pb.Float, Dims: []int64{2}, Location: pb.LocationExternal,
			External: []*pb.Property{{Key: "location", Value: "w.bin"}, {Key: "offset", Value: offset}, {Key: "length", Value: "8"}}}
	}
	m.Graph.Initializers = []*pb.Tensor{external("w", "0"), external("v", "8")}
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, os.WriteFile(path, m.Append(nil), 0o600))
	_, err := onnx.Load(path, onnx.Options{})
	require.ErrorContains(t, err, "w.bin")
	raw := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40} // 1 2 3 4
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.bin"), raw, 0o600))
	_, err = onnx.Load(path, onnx.Options{MaxExternalBytes: 15})
	require.ErrorIs(t, err, onnx.ErrLimit)
	_, err = parse(m, onnx.Options{})
	require.ErrorIs(t, err, onnx.ErrModel, "there is no directory to read external data from")
	loaded, err := onnx.Load(path, onnx.Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "w.bin")), "Load has read the data")
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	h.s, err = loaded.Open(h.dev)
	require.NoError(t, err)
	h.want(h.run(map[string]onnx.Value{"x": h.f32([]int{2}, 10, 20)})["y"], []int{2}, 33, 88)
	_, err = onnx.Load(filepath.Join(dir, "none.onnx"), onnx.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = onnx.Load(dir, onnx.Options{})
	require.Error(t, err)
	_, err = onnx.Load(path, onnx.Options{Limits: pb.Limits{MaxBytes: 10}})
	require.ErrorIs(t, err, pb.ErrLimit)
}

// A function with a subgraph calls another function, both with a given attribute and with its default.
func TestFunctions(t *testing.T) {
	ref := func(name, of string, kind pb.AttributeType) *pb.Attribute {
		return &pb.Attribute{Name: name, RefAttrName: of, Type: kind}
	}
	imports := []*pb.OperatorSetID{{Version: 17}, {Domain: "f", Version: 1}}
	call := func(opType string, in, out []string, attrs ...*pb.Attribute) *pb.Node {
		n := operator(opType, in, out, attrs...)
		n.Domain = "f"
		return n
	}
	leaky := &pb.Function{Name: "Bent", Domain: "f", Inputs: ss("p"), Outputs: ss("q"), AttributeDefaults: []*pb.Attribute{{Name: "slope",
		Type: pb.AttrFloat, F: 0.5}}, Nodes: []*pb.Node{operator("LeakyRelu", ss("p"), ss("q"), ref("alpha", "slope", pb.AttrFloat))}, OpsetImports: imports}
	branch := func(nodes ...*pb.Node) *pb.Graph { return &pb.Graph{Nodes: nodes, Outputs: bare("r")} }
	both := &pb.Function{Name: "Both", Domain: "f", Inputs: ss("p", "opt"), Outputs: ss("q"), Attributes: ss("slope", "pick"), OpsetImports: imports,
		Nodes: []*pb.Node{
			operator("Constant", nil, ss("pick"), ref("value_int", "pick", pb.AttrInt)),
			operator("Cast", ss("pick"), ss("k"), intAttr("to", int64(pb.Bool))),
			operator("If", ss("k"), ss("q"),
				graphAttr("then_branch", branch(call("Bent", ss("p"), ss("r"), ref("slope", "slope", pb.AttrFloat)))),
				graphAttr("else_branch", branch(call("Bent", ss("p"), ss("r"))))),
		}}
	attrs := func(pick int64) []*pb.Attribute {
		return []*pb.Attribute{{Name: "slope", Type: pb.AttrFloat, F: 0.25}, intAttr("pick", pick)}
	}
	m := wrap(call("Both", ss("x"), ss("y"), attrs(1)...), call("Both", ss("x"), ss("z"), attrs(0)...))
	m.Graph.Outputs = bare("y", "z")
	m.OpsetImports, m.Functions = imports, []*pb.Function{both, leaky}
	h := open(t, m)
	out := h.run(map[string]onnx.Value{"x": h.f32([]int{2}, -4, 4)})
	h.want(out["y"], []int{2}, -1, 4)
	h.want(out["z"], []int{2}, -2, 4)

	leaky.Nodes = []*pb.Node{call("Both", ss("p"), ss("q"))}
	_, err := parse(m, onnx.Options{})
	require.ErrorIs(t, err, onnx.ErrModel)
	require.ErrorContains(t, err, "Both -> Bent -> Both")

	// Each function calls the previous one twice: 2^40 nodes, which no limit on the file size prevents.
	m.Functions = []*pb.Function{{Name: "F0", Domain: "f", Inputs: ss("p"), Outputs: ss("q"), OpsetImports: imports,
		Nodes: []*pb.Node{operator("Neg", ss("p"), ss("q"))}}}
	for i := 1; i <= 40; i++ {
		before := fmt.Sprint("F", i-1)
		m.Functions = append(m.Functions, &pb.Function{Name: fmt.Sprint("F", i), Domain: "f", Inputs: ss("p"), Outputs: ss("q"), OpsetImports: imports,
			Nodes: []*pb.Node{call(before, ss("p"), ss("m")), call(before, ss("m"), ss("q"))}})
	}
	m.Graph.Nodes, m.Graph.Outputs = []*pb.Node{call("F40", ss("x"), ss("y"))}, bare("y")
	h = openWith(t, m, onnx.Options{MaxNodes: 5000})
	_, err = h.s.Run(t.Context(), map[string]onnx.Value{"x": h.f32([]int{1}, 1)})
	require.ErrorIs(t, err, onnx.ErrLimit)

	// A chain of function calls that is nested too deeply.
	m.Functions = m.Functions[:1]
	for i := 1; i <= 5000; i++ {
		m.Functions = append(m.Functions, &pb.Function{Name: fmt.Sprint("F", i), Domain: "f", Inputs: ss("p"), Outputs: ss("q"), OpsetImports: imports,
			Nodes: []*pb.Node{call(fmt.Sprint("F", i-1), ss("p"), ss("q"))}})
	}
	_, err = parse(m, onnx.Options{})
	require.ErrorIs(t, err, onnx.ErrModel)
	require.ErrorContains(t, err, "deep")
}

func TestSparseInitializer(t *testing.T) {
	m := wrap(operator("Add", ss("x", "w"), ss("a")), operator("Add", ss("a", "v"), ss("y")))
	m.Graph.SparseInitializers = []*pb.SparseTensor{
		{Dims: []int64{2, 3}, Values: f32s("w", []int64{2}, 5, 7), Indices: i64s("", []int64{2, 2}, 0, 1, 1, 2)},
		{Dims: []int64{2, 3}, Values: f32s("v", []int64{1}, 100), Indices: i64s("", []int64{1}, 3)},
	}
	h := open(t, m)
	h.want(h.run(map[string]onnx.Value{"x": h.f32([]int{1}, 0)})["y"], []int{2, 3}, 0, 5, 0, 100, 0, 7)
	m.Graph.SparseInitializers[1].Indices.Int64Data[0] = 6
	h = open(t, m)
	_, err := h.s.Run(t.Context(), map[string]onnx.Value{"x": h.f32([]int{1}, 0)})
	require.ErrorIs(t, err, onnx.ErrModel)
	var ne *onnx.NodeError
	require.True(t, errors.As(err, &ne))
	require.Equal(t, "y", ne.Node)
}
