package pb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The goldens come from the reference library (testdata/make.py); the expected values are written out here by hand.

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return b
}

func small() *Tensor {
	return &Tensor{Name: "small", DataType: Int64, Dims: []int64{2}, Int64Data: []int64{-1, 300}}
}

func sparse() *SparseTensor {
	return &SparseTensor{
		Values:  &Tensor{Name: "sv", DataType: Float, Dims: []int64{1}, FloatData: []float32{2.5}},
		Indices: &Tensor{Name: "si", DataType: Int64, Dims: []int64{1}, Int64Data: []int64{3}},
		Dims:    []int64{2, 4},
	}
}

func inner() *Graph {
	return &Graph{Name: "inner", Nodes: []*Node{{OpType: "Identity", Inputs: []string{"a"}, Outputs: []string{"b"}}}}
}

func kv(k, v string) []*Property { return []*Property{{k, v}} }

func tensorType(dt DataType, s *Shape) *Type { return &Type{Kind: KindTensor, DataType: dt, Shape: s} }

func everyField() *Model {
	return &Model{
		IRVersion: 10, ProducerName: "maker", ProducerVersion: "1.2", Domain: "org.test", ModelVersion: -7,
		Doc: "model doc", OpsetImports: []*OperatorSetID{{"", 21}, {"vendor", 3}}, Metadata: kv("author", "nobody"),
		Graph: &Graph{
			Name: "main", Doc: "graph doc", Metadata: kv("gk", "gv"),
			Nodes: []*Node{{
				OpType: "Everything", Name: "n0", Domain: "vendor", Overload: "fast", Doc: "node doc",
				Inputs: []string{"x", "", "w"}, Outputs: []string{"y", "z"}, Metadata: kv("nk", "nv"),
				Attributes: []*Attribute{
					{Name: "f", Type: AttrFloat, F: -0.5, Doc: "attribute doc"},
					{Name: "i", Type: AttrInt, I: -3},
					{Name: "s", Type: AttrString, S: []byte("\xff\x00s")},
					{Name: "t", Type: AttrTensor, T: small()},
					{Name: "g", Type: AttrGraph, G: inner()},
					{Name: "floats", Type: AttrFloats, Floats: []float32{1, -2}},
					{Name: "ints", Type: AttrInts, Ints: []int64{0, -1, 1 << 40}},
					{Name: "strings", Type: AttrStrings, Strings: [][]byte{[]byte("a"), {}}},
					{Name: "tensors", Type: AttrTensors, Tensors: []*Tensor{small(), small()}},
					{Name: "graphs", Type: AttrGraphs, Graphs: []*Graph{inner()}},
					{Name: "sparse", Type: AttrSparseTensor, SparseTensor: sparse()},
					{Name: "sparses", Type: AttrSparseTensors, SparseTensors: []*SparseTensor{sparse()}},
					{Name: "tp", Type: AttrTypeProto, TypeProto: tensorType(Float, nil)},
					{Name: "tps", Type: AttrTypeProtos, TypeProtos: []*Type{tensorType(Bool, &Shape{})}},
					{Name: "ref", Type: AttrInt, RefAttrName: "outer"},
					{Name: "untyped", Type: AttrInts, Ints: []int64{5}},
				},
			}},
			Initializers: []*Tensor{
				{Name: "raw", DataType: Float, Dims: []int64{1, 2}, RawData: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
				{Name: "f32", DataType: Float, Dims: []int64{2}, FloatData: []float32{0.25, -8}},
				{Name: "i32", DataType: Int32, Dims: []int64{3}, Int32Data: []int32{1, -1, 2147483647}},
				{Name: "u8", DataType: Uint8, Int32Data: []int32{200}},
				{Name: "str", DataType: String, Dims: []int64{2}, StringData: [][]byte{[]byte("hi"), {}}},
				{Name: "f64", DataType: Double, Dims: []int64{1}, DoubleData: []float64{1e300}},
				{Name: "u64", DataType: Uint64, Dims: []int64{1}, Uint64Data: []uint64{1<<64 - 1}},
				{Name: "ext", DataType: Float, Dims: []int64{4}, Location: LocationExternal, Doc: "tensor doc",
					External: []*Property{{"location", "w.bin"}, {"offset", "16"}, {"length", "16"}}, Metadata: kv("tk", "tv")},
			},
			SparseInitializers: []*SparseTensor{sparse()},
			Inputs: []*ValueInfo{
				{Name: "x", Doc: "value doc", Metadata: kv("vk", "vv"), Type: &Type{
					Kind: KindTensor, DataType: Float16, Denotation: "IMAGE", Shape: &Shape{Dims: []Dim{
						{Kind: DimParam, Param: "batch", Denotation: "DATA_BATCH"}, {Kind: DimValue, Value: 3}, {},
					}}}},
				{Name: "neg", Type: tensorType(Float, &Shape{Dims: []Dim{{}, {Kind: DimValue}}})},
			},
			Outputs: []*ValueInfo{
				{Name: "seq", Type: &Type{Kind: KindSequence, Elem: tensorType(Int8, nil)}},
				{Name: "opt", Type: &Type{Kind: KindOptional, Elem: &Type{
					Kind: KindMap, DataType: String, Elem: tensorType(Double, &Shape{})}}},
			},
			ValueInfo: []*ValueInfo{
				{Name: "sp", Type: &Type{Kind: KindSparseTensor, DataType: Float,
					Shape: &Shape{Dims: []Dim{{Kind: DimValue, Value: 2}}}}},
				{Name: "op", Type: &Type{Kind: KindOpaque, OpaqueDomain: "d", OpaqueName: "n"}},
				{Name: "untyped"},
			},
		},
		Functions: []*Function{{
			Name: "fn", Domain: "vendor", Overload: "fast", Doc: "function doc",
			Inputs: []string{"a"}, Outputs: []string{"b"}, Attributes: []string{"req"},
			AttributeDefaults: []*Attribute{{Name: "alpha", Type: AttrFloat, F: 1.5}},
			Nodes:             []*Node{{OpType: "Relu", Inputs: []string{"a"}, Outputs: []string{"b"}}},
			OpsetImports:      []*OperatorSetID{{"", 20}}, Metadata: kv("fk", "fv"),
			ValueInfo: []*ValueInfo{{Name: "b", Type: tensorType(Float, nil)}},
		}},
	}
}

func everySequence() *Sequence {
	return &Sequence{
		Name: "s", Kind: ValueTensor, Tensors: []*Tensor{small()}, SparseTensors: []*SparseTensor{sparse()},
		Sequences: []*Sequence{{Name: "empty", Kind: ValueSequence}},
		Maps: []*Map{
			{Name: "m", KeyType: Int64, Keys: []int64{-1, 1}, Values: &Sequence{Tensors: []*Tensor{small(), small()}}},
			{KeyType: String, StringKeys: [][]byte{[]byte("k")}},
		},
		Optionals: []*Optional{{Name: "o", Kind: ValueTensor, Tensor: small()}, {Kind: ValueSequence}},
	}
}

func TestEveryField(t *testing.T) {
	m, err := DecodeModel(readGolden(t, "every_field.onnx"), Limits{})
	require.NoError(t, err)
	require.Equal(t, everyField(), m)

	m, err = DecodeModel(everyField().Append(nil), Limits{})
	require.NoError(t, err)
	require.Equal(t, everyField(), m, "Append writes every field")

	require.Equal(t, int64(-3), m.Graph.Nodes[0].Attribute("i").I)
	require.Nil(t, m.Graph.Nodes[0].Attribute("absent"))
}

func TestSequenceAndOptional(t *testing.T) {
	golden := readGolden(t, "sequence.pb")
	s, err := DecodeSequence(golden, Limits{})
	require.NoError(t, err)
	require.Equal(t, everySequence(), s)

	outer := &Optional{Name: "outer", Kind: ValueSequence, Sequence: everySequence()}
	o, err := DecodeOptional(readGolden(t, "optional.pb"), Limits{})
	require.NoError(t, err)
	require.Equal(t, outer, o)

	o, err = DecodeOptional(outer.Append(nil), Limits{})
	require.NoError(t, err)
	require.Equal(t, outer, o)

	o, err = DecodeOptional(nil, Limits{})
	require.NoError(t, err)
	require.Equal(t, &Optional{}, o, "an optional without a value may be an empty file")
}

func TestRawDataIsNotCopied(t *testing.T) {
	in := (&Tensor{DataType: Uint8, Dims: []int64{3}, RawData: []byte{7, 8, 9}}).Append(nil)
	d, err := DecodeTensor(in, Limits{})
	require.NoError(t, err)
	b, err := d.Bytes(nil)
	require.NoError(t, err)
	in[len(in)-1] = 42
	require.Equal(t, []byte{7, 8, 42}, b)
	require.Equal(t, 3, cap(d.RawData), "an append by the caller must not write into the input")
}

// TestMerge follows protobuf: a message field that occurs twice is merged into one message, and repeated fields are concatenated.
func TestMerge(t *testing.T) {
	part := func(op string) []byte {
		return (&Model{Graph: &Graph{Nodes: []*Node{{OpType: op}}}}).Append(nil)
	}
	m, err := DecodeModel(append(part("A"), part("B")...), Limits{})
	require.NoError(t, err)
	require.Equal(t, []*Node{{OpType: "A"}, {OpType: "B"}}, m.Graph.Nodes)
}
