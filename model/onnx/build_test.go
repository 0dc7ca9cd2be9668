package onnx_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// This file builds models for tests, message by message.

func operator(opType string, in, out []string, attrs ...*pb.Attribute) *pb.Node {
	return &pb.Node{OpType: opType, Inputs: in, Outputs: out, Attributes: attrs}
}

func ss(names ...string) []string { return names }

func intAttr(name string, v int64) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInt, I: v}
}

func intsAttr(name string, v ...int64) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInts, Ints: v}
}

func graphAttr(name string, g *pb.Graph) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrGraph, G: g}
}

// decl declares a tensor. Each of dims is a number, a symbol, or nil for an unknown dimension.
func decl(name string, d pb.DataType, dims ...any) *pb.ValueInfo {
	s := &pb.Shape{}
	for _, v := range dims {
		switch v := v.(type) {
		case int:
			s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimValue, Value: int64(v)})
		case string:
			s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimParam, Param: v})
		default:
			s.Dims = append(s.Dims, pb.Dim{})
		}
	}
	return &pb.ValueInfo{Name: name, Type: &pb.Type{Kind: pb.KindTensor, DataType: d, Shape: s}}
}

// bare declares a name without a type.
func bare(names ...string) []*pb.ValueInfo {
	out := make([]*pb.ValueInfo, len(names))
	for i, n := range names {
		out[i] = &pb.ValueInfo{Name: n}
	}
	return out
}

func f32s(name string, dims []int64, v ...float32) *pb.Tensor {
	return &pb.Tensor{Name: name, DataType: pb.Float, Dims: dims, FloatData: v}
}

func i64s(name string, dims []int64, v ...int64) *pb.Tensor {
	return &pb.Tensor{Name: name, DataType: pb.Int64, Dims: dims, Int64Data: v}
}

func modelOf(opset int64, g *pb.Graph) *pb.Model {
	return &pb.Model{IRVersion: 8, OpsetImports: []*pb.OperatorSetID{{Version: opset}}, Graph: g}
}

func parse(m *pb.Model, o onnx.Options) (*onnx.Model, error) { return onnx.Parse(m.Append(nil), "", o) }

// harness is a model with a device of its own.
type harness struct {
	t   *testing.T
	dev *tensor.Device
	s   *onnx.Session
}

func open(t *testing.T, m *pb.Model) *harness { return openWith(t, m, onnx.Options{}) }

func openWith(t *testing.T, m *pb.Model, o onnx.Options) *harness {
	t.Helper()
	parsed, err := parse(m, o)
	require.NoError(t, err)
	dev := onStream(t, openRef(t))
	s, err := parsed.Open(dev)
	require.NoError(t, err)
	return &harness{t, dev, s}
}

func (h *harness) f32(dims []int, v ...float32) onnx.Value {
	h.t.Helper()
	var b []byte
	for _, e := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e))
	}
	return h.upload(dtype.F32, dims, b)
}

func (h *harness) i64(dims []int, v ...int64) onnx.Value {
	h.t.Helper()
	var b []byte
	for _, e := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(e))
	}
	return h.upload(dtype.I64, dims, b)
}

func (h *harness) bool(v bool) onnx.Value {
	h.t.Helper()
	b := []byte{0}
	if v {
		b[0] = 1
	}
	return h.upload(dtype.Bool, nil, b)
}

func (h *harness) upload(d dtype.DType, dims []int, b []byte) onnx.Value {
	h.t.Helper()
	x, err := h.dev.FromBytes(h.t.Context(), d, shape.Shape(dims), b)
	require.NoError(h.t, err)
	return onnx.TensorValue(x)
}

func (h *harness) run(in map[string]onnx.Value) map[string]onnx.Value {
	h.t.Helper()
	out, err := h.s.Run(h.t.Context(), in)
	require.NoError(h.t, err)
	return out
}

// want checks that a value is a tensor with the given shape and content, of type f32, i64 or a type of one byte.
func (h *harness) want(got onnx.Value, dims []int, v ...float64) {
	h.t.Helper()
	require.Equal(h.t, onnx.TensorKind, got.Kind())
	require.True(h.t, got.Tensor().Shape().Equal(shape.Shape(dims)), "shape %v, want %v", got.Tensor().Shape(), dims)
	b, err := got.Tensor().Bytes(h.t.Context())
	require.NoError(h.t, err)
	var have []float64
	for len(b) > 0 {
		switch got.DType() {
		case dtype.F32:
			have, b = append(have, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), b[4:]
		case dtype.I64:
			have, b = append(have, float64(int64(binary.LittleEndian.Uint64(b)))), b[8:]
		default:
			have, b = append(have, float64(b[0])), b[1:]
		}
	}
	require.Equal(h.t, v, have)
}

// memory waits for all queued work and returns the numbers of bytes and tensors in use.
func (h *harness) memory() core.Memory {
	h.t.Helper()
	require.NoError(h.t, h.dev.Sync(h.t.Context()))
	m, ok := h.dev.Memory()
	require.True(h.t, ok)
	m.Reserved = 0
	return m
}
