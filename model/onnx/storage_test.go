package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// storage lists the element types that are only stored, each with the bits of an element, as in a file, and its number.
var storage = []struct {
	d    pb.DataType
	code byte
	v    float64
}{
	{pb.Int4, 0xf, -1}, {pb.Uint4, 0xf, 15}, {pb.Int2, 3, -1}, {pb.Uint2, 3, 3}, {pb.Float8E4M3FN, 0x3c, 1.5}, {pb.Float8E5M2, 0xc2, -3}, {pb.Float8E4M3FNUZ, 0x44, 1.5}, {pb.Float8E5M2FNUZ, 0x42, 1.5}, {pb.Float4E2M1, 3, 1.5}, {pb.Float8E8M0, 0x81, 4},
}

// ConstantOfShape with a value of a storage type returns that value, on the device and where the importer reads the constant on the
// host: that conversion once did not end.
func TestFullOfStorageTypes(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	for _, c := range storage {
		fill := &pb.Attribute{Name: "value", Type: pb.AttrTensor, T: &pb.Tensor{DataType: c.d, Dims: []int64{1}, RawData: []byte{c.code}}}
		node := operator("ConstantOfShape", ss("n"), ss("p"), fill)
		h.want(chained(t, h, node, 25, h.f32([]int{1}, 0), i64s("n", []int64{2}, 2, 1)), []int{2, 1}, c.v, c.v)

		m := modelOf(25, &pb.Graph{Nodes: []*pb.Node{node, operator("Tile", ss("x", "p"), ss("y"))}, Initializers: []*pb.Tensor{i64s("n", []int64{1}, 1)},
			Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1)}, Outputs: bare("y")})
		parsed, err := parse(m, onnx.Options{})
		require.NoError(t, err)
		h.s, err = parsed.Open(h.dev)
		require.NoError(t, err)
		in := map[string]onnx.Value{"x": h.f32([]int{1}, 7)}
		if c.v < 0 {
			_, err = h.s.Run(t.Context(), in)
			require.ErrorContains(t, err, "want none negative", "%v", c.d)
		} else {
			want := make([]float64, int(c.v))
			for i := range want {
				want[i] = 7
			}
			h.want(h.run(in)["y"], []int{int(c.v)}, want...)
		}
		require.NoError(t, h.s.Close())
	}
}

// A missing zero point is zero, for every type of the quantized elements.
func TestDequantizeStorageTypesWithoutZeroPoint(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	for _, c := range storage {
		if c.d == pb.Float8E8M0 { // has no zero
			continue
		}
		m := modelOf(25, &pb.Graph{Nodes: []*pb.Node{operator("DequantizeLinear", ss("q", "s"), ss("w")), operator("Add", ss("w", "x"), ss("y"))}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1)},
			Initializers: []*pb.Tensor{{Name: "q", DataType: c.d, Dims: []int64{1}, RawData: []byte{c.code}}, f32s("s", nil, 0.5)}, Outputs: bare("y")})
		parsed, err := parse(m, onnx.Options{})
		require.NoError(t, err)
		h.s, err = parsed.Open(h.dev)
		require.NoError(t, err)
		h.want(h.run(map[string]onnx.Value{"x": h.f32([]int{1}, 100)})["y"], []int{1}, 100+c.v/2)
		require.NoError(t, h.s.Close())
	}
}

// A bit cast keeps the code of each element, and the result has the value of that code in the new type. Types of different widths are
// refused, although all of them take a byte in memory.
func TestBitCastOfStorageTypes(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	for _, c := range []struct {
		from, to pb.DataType
		code     byte
		want     float64
	}{
		{pb.Int4, pb.Uint4, 0xf, 15}, {pb.Uint4, pb.Int4, 0xf, -1}, {pb.Int4, pb.Uint4, 5, 5}, {pb.Int2, pb.Uint2, 2, 2}, {pb.Uint2, pb.Int2, 2, -2},
		{pb.Int4, pb.Float4E2M1, 0xb, -1.5}, {pb.Float4E2M1, pb.Int4, 0xb, -5}, {pb.Float4E2M1, pb.Uint4, 0xb, 11}, {pb.Float8E5M2, pb.Uint8, 0xc2, 0xc2}, {pb.Int8, pb.Float8E4M3FN, 0x3c, 1.5},
	} {
		in := &pb.Tensor{Name: "q", DataType: c.from, Dims: []int64{1}, RawData: []byte{c.code}}
		cast := operator("BitCast", ss("q"), ss("p"), intAttr("to", int64(c.to)))
		h.want(chained(t, h, cast, 26, h.f32([]int{1}, 0), in), []int{1}, c.want)
	}
	m := modelOf(26, &pb.Graph{Nodes: []*pb.Node{operator("BitCast", ss("q"), ss("y"), intAttr("to", int64(pb.Uint8)))},
		Initializers: []*pb.Tensor{{Name: "q", DataType: pb.Int4, Dims: []int64{1}, RawData: []byte{1}}}, Outputs: bare("y")})
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	h.s, err = parsed.Open(h.dev)
	require.NoError(t, err)
	_, err = h.s.Run(t.Context(), nil)
	require.ErrorContains(t, err, "to is u8 for i4, want as many bits")
	require.NoError(t, h.s.Close())
}
