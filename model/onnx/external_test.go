package onnx_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// outside returns a tensor whose data are in a file.
func outside(name string, d pb.DataType, dims []int64, kv ...string) *pb.Tensor {
	t := &pb.Tensor{Name: name, DataType: d, Dims: dims, Location: pb.LocationExternal}
	for i := 0; i < len(kv); i += 2 {
		t.External = append(t.External, &pb.Property{Key: kv[i], Value: kv[i+1]})
	}
	return t
}

// stored writes a model and a data file beside it and loads it.
func stored(t *testing.T, m *pb.Model, data []byte) (*onnx.Model, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, os.WriteFile(path, m.Append(nil), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.bin"), data, 0o600))
	return onnx.Load(path, onnx.Options{})
}

// Weights of 4 bits are stored two per byte in a data file, as in a model; the first is in the lower half of the byte.
func TestExternalNarrowWeights(t *testing.T) {
	for _, d := range []pb.DataType{pb.Int4, pb.Uint4} {
		m := modelOf(21, &pb.Graph{Nodes: []*pb.Node{operator("DequantizeLinear", ss("w", "s"), ss("q")), operator("Mul", ss("q", "x"), ss("y"))},
			Initializers: []*pb.Tensor{outside("w", d, []int64{3}, "location", "w.bin", "offset", "1"), f32s("s", nil, 0.5)}, Inputs: []*pb.ValueInfo{decl("x", pb.Float)}, Outputs: bare("y")})
		parsed, err := stored(t, m, []byte{0xff, 0x9f, 0x07})
		require.NoError(t, err)
		h := &harness{t: t, dev: onStream(t, openRef(t))}
		h.s, err = parsed.Open(h.dev)
		require.NoError(t, err)
		want := map[pb.DataType][]float64{pb.Int4: {-0.5, -3.5, 3.5}, pb.Uint4: {7.5, 4.5, 3.5}}[d]
		h.want(h.run(map[string]onnx.Value{"x": h.f32(nil, 1)})["y"], []int{3}, want...)
	}
}

// External data is read for the initializers of a graph and of a branch, and for constants. Several tensors may share a range of the
// file. The data follow the definition of raw_data; bools other than 0 and 1 are true.
func TestExternalPlaces(t *testing.T) {
	data := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0} // 1, 2 in f32; 7 in i64; bools
	at := func(name, offset string) *pb.Tensor {
		return outside(name, pb.Float, nil, "location", "w.bin", "offset", offset)
	}
	branch := func(offset string) *pb.Graph {
		return &pb.Graph{Nodes: []*pb.Node{operator("Mul", ss("x", "k"), ss("r"))}, Initializers: []*pb.Tensor{at("k", offset)}, Outputs: bare("r")}
	}
	m := modelOf(17, &pb.Graph{
		Nodes: []*pb.Node{
			operator("Constant", nil, ss("two"), &pb.Attribute{Name: "value", Type: pb.AttrTensor, T: at("", "4")}),
			operator("If", ss("c"), ss("y"), graphAttr("then_branch", branch("0")), graphAttr("else_branch", branch("4"))),
			operator("Add", ss("x", "two"), ss("z")), operator("Cast", ss("b"), ss("d"), intAttr("to", int64(pb.Int64))), operator("Identity", ss("n"), ss("e")),
		},
		Initializers: []*pb.Tensor{outside("b", pb.Bool, []int64{4}, "location", "w.bin", "offset", "16"), outside("n", pb.Int64, []int64{1}, "location", "w.bin", "offset", "8", "length", "8")},
		Inputs:       []*pb.ValueInfo{decl("x", pb.Float), decl("c", pb.Bool)}, Outputs: bare("y", "z", "d", "e"),
	})
	parsed, err := stored(t, m, data)
	require.NoError(t, err)
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	h.s, err = parsed.Open(h.dev)
	require.NoError(t, err)
	for _, c := range []struct {
		pick bool
		y    float64
	}{{true, 5}, {false, 10}} {
		out := h.run(map[string]onnx.Value{"x": h.f32(nil, 5), "c": h.bool(c.pick)})
		h.want(out["y"], []int{}, c.y)
		h.want(out["z"], []int{}, 7)
		h.want(out["d"], []int{4}, 1, 0, 1, 0)
		h.want(out["e"], []int{1}, 7)
	}
}

// The values and indices of sparse tensors, in the graph and in a constant, may be in a file too, and so may the default of a function's
// attribute.
func TestExternalPartsAndDefaults(t *testing.T) {
	data := []byte{1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40} // places 1 and 4; 1, 2 in f32
	sparse := func(name string) *pb.SparseTensor {
		return &pb.SparseTensor{Dims: []int64{2, 3}, Values: outside(name, pb.Float, []int64{2}, "location", "w.bin", "offset", "16"), Indices: outside("", pb.Int64, []int64{2}, "location", "w.bin")}
	}
	m := wrap(operator("Constant", nil, ss("c"), &pb.Attribute{Name: "sparse_value", Type: pb.AttrSparseTensor, SparseTensor: sparse("")}), operator("Add", ss("c", "w"), ss("a")),
		operator("Two", nil, ss("two")), operator("Add", ss("a", "x"), ss("b")), operator("Mul", ss("b", "two"), ss("y")))
	m.Graph.Nodes[2].Domain = "f"
	m.Graph.SparseInitializers = []*pb.SparseTensor{sparse("w")}
	m.OpsetImports = append(m.OpsetImports, &pb.OperatorSetID{Domain: "f", Version: 1})
	m.Functions = []*pb.Function{{Name: "Two", Domain: "f", Outputs: ss("q"), OpsetImports: m.OpsetImports,
		AttributeDefaults: []*pb.Attribute{{Name: "v", Type: pb.AttrTensor, T: outside("", pb.Float, nil, "location", "w.bin", "offset", "20")}},
		Nodes:             []*pb.Node{operator("Constant", nil, ss("q"), &pb.Attribute{Name: "value", RefAttrName: "v", Type: pb.AttrTensor})}}}
	parsed, err := stored(t, m, data)
	require.NoError(t, err)
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	h.s, err = parsed.Open(h.dev)
	require.NoError(t, err)
	h.want(h.run(map[string]onnx.Value{"x": h.f32([]int{1}, 0)})["y"], []int{2, 3}, 0, 4, 0, 0, 8, 0)
}

// Load refuses external data whose location, offset, length or shape is illegal or does not match the file.
func TestExternalLies(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.bin")
	require.NoError(t, os.WriteFile(secret, make([]byte, 64), 0o600))
	for say, c := range map[string]struct {
		d    pb.DataType
		dims []int64
		kv   []string
	}{
		"want 8 bytes at offset 12, file has 16":                     {pb.Float, []int64{2}, []string{"location", "w.bin", "offset", "12"}},
		"want 8 bytes at offset 9223372036854775807":                 {pb.Float, []int64{2}, []string{"location", "w.bin", "offset", "9223372036854775807"}},
		`offset "9223372036854775808", want a number of bytes`:       {pb.Float, []int64{2}, []string{"location", "w.bin", "offset", "9223372036854775808"}},
		`offset "-4", want a number of bytes`:                        {pb.Float, []int64{2}, []string{"location", "w.bin", "offset", "-4"}},
		`length "8 ", want a number of bytes`:                        {pb.Float, []int64{2}, []string{"location", "w.bin", "length", "8 "}},
		"dims [2] of FLOAT want 8 bytes, length is 16":               {pb.Float, []int64{2}, []string{"location", "w.bin", "length", "16"}},
		"dims [3] of INT4 want 2 bytes, length is 3":                 {pb.Int4, []int64{3}, []string{"location", "w.bin", "length", "3"}},
		"want 17 bytes at offset 0, file has 16":                     {pb.Uint4, []int64{33}, []string{"location", "w.bin"}},
		"want 9 bytes at offset 8, file has 16":                      {pb.Int2, []int64{33}, []string{"location", "w.bin", "offset", "8"}},
		"no location":                                                {pb.Float, []int64{2}, []string{"offset", "0"}},
		`"other.bin"`:                                                {pb.Float, []int64{2}, []string{"location", "other.bin"}},
		`"../w.bin": want a path inside the model's directory`:       {pb.Float, []int64{2}, []string{"location", "../w.bin"}},
		`"` + secret + `": want a path inside the model's directory`: {pb.Float, []int64{2}, []string{"location", secret}},
		"external data is above":                                     {pb.Double, []int64{1 << 34}, []string{"location", "w.bin"}},
		"is 1099511627776 elements, limit":                           {pb.Float, []int64{1 << 20, 1 << 20}, []string{"location", "w.bin"}},
		"dims[0]: negative: -2":                                      {pb.Float, []int64{-2}, []string{"location", "w.bin"}},
	} {
		m := wrap(operator("Add", ss("x", "w"), ss("y")))
		m.Graph.Initializers = []*pb.Tensor{outside("w", c.d, c.dims, c.kv...)}
		_, err := stored(t, m, make([]byte, 16))
		require.ErrorContains(t, err, say)
	}
}
