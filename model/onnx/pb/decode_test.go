package pb

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// msg writes a length-delimited field.
func msg(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), bytes.Join(parts, nil))
}

func TestMalformed(t *testing.T) {
	attribute := func(body ...byte) []byte { // the fourth node's first attribute
		empty := msg(1)
		return msg(7, empty, empty, empty, msg(1, msg(5, body)))
	}
	for _, c := range []struct {
		in   []byte
		want string
	}{
		{nil, "onnx: graph: missing"},
		{msg(7)[:1], "onnx: graph: truncated"},
		{[]byte{0x3a, 5, 0x12, 1}, "onnx: graph: truncated, want 5 bytes, got 2"},
		{[]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "onnx: graph: truncated, want 18446744073709551615 bytes, got 0"},
		{attribute(0x2a, 9, 0), "onnx: graph.node[3].attribute[0].t: truncated, want 9 bytes, got 1"},
		{attribute(0x15, 0, 0), "onnx: graph.node[3].attribute[0].f: truncated"},
		{attribute(0x18, 0x80), "onnx: graph.node[3].attribute[0].i: truncated"},
		{attribute(0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), "onnx: graph.node[3].attribute[0].i: variable length integer overflow"},
		{attribute(0x10, 0), "onnx: graph.node[3].attribute[0].f: wire type varint, want fixed32"},
		{attribute(0x1a, 0), "onnx: graph.node[3].attribute[0].i: wire type bytes, want varint"},
		{attribute(0x28, 0), "onnx: graph.node[3].attribute[0].t: wire type varint, want bytes"},
		{attribute(0x3a, 3, 0, 0, 0), "onnx: graph.node[3].attribute[0].floats: truncated, 3 bytes is no multiple of 4"},
		{attribute(0x42, 3, 0, 0, 0x80), "onnx: graph.node[3].attribute[0].ints: entry 2: truncated"},
		{attribute(0x0b, 0x0c), "onnx: graph.node[3].attribute[0].name: wire type group, want bytes"},
		{attribute(0xfb, 7), "onnx: graph.node[3].attribute[0].field 127: truncated"},
		{attribute(0x0c), "onnx: graph.node[3].attribute[0].name: mismatching end group marker"},
		{attribute(0x00), "onnx: graph.node[3].attribute[0]: bad field tag: invalid field number"},
		{attribute(0x0f), "onnx: graph.node[3].attribute[0].name: cannot parse reserved wire type"},
		{attribute(0xa0, 1, 0x80, 0x80, 0x80, 0x80, 0x10), "onnx: graph.node[3].attribute[0].type: 4294967296 is out of range"},
		{attribute(0x2a, 2, 0x1a, 0), "onnx: graph.node[3].attribute[0].t.segment: segmented tensors are not supported"},
		{msg(7, msg(5), msg(5, []byte{0x10, 1, 8, 4})), "onnx: graph.initializer[1].float_data: dims [4] of FLOAT want 4 entries, got 0"},
		{msg(7, msg(15, []byte{0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})), "onnx: graph.sparse_initializer[0].dims[0]: negative: -1"},
		{msg(7, msg(11, msg(2, msg(1, msg(2, msg(1), msg(1, []byte{8})))))), "onnx: graph.input[0].type.tensor_type.shape.dim[1].dim_value: truncated"},
		{msg(25, msg(7, msg(4)[:1])), "onnx: functions[0].node[0].op_type: truncated"},
	} {
		_, err := DecodeModel(c.in, Limits{})
		require.EqualError(t, err, c.want)
		require.NotErrorIs(t, err, ErrLimit)
		var fe *FormatError
		require.ErrorAs(t, err, &fe)
	}
	_, err := DecodeTensor(nil, Limits{})
	require.EqualError(t, err, "onnx: tensor.data_type: missing")
	_, err = DecodeSequence(msg(3, []byte{8}), Limits{})
	require.EqualError(t, err, "onnx: sequence.tensor_values[0].dims: truncated")
	_, err = DecodeOptional(msg(5, msg(6, msg(5, []byte{0}))), Limits{})
	require.EqualError(t, err, "onnx: optional.sequence_value.map_values[0].values: bad field tag: invalid field number")
}

func TestLimits(t *testing.T) {
	deepGraph := func(levels int) []byte {
		g := msg(2)
		for range levels {
			g = msg(1, msg(5, msg(6, g)))
		}
		return msg(7, g)
	}
	deepType := msg(1)
	deepSequence := msg(1)
	for range 60 {
		deepType = msg(4, msg(1, deepType))
	}
	for range 120 {
		deepSequence = msg(5, deepSequence)
	}
	_, err := DecodeModel(deepGraph(33), Limits{})
	require.NoError(t, err, "1+33*3 messages are within the limit of 100")
	for name, c := range map[string]struct {
		in   []byte
		lim  Limits
		want string
	}{
		"graphs":   {deepGraph(34), Limits{}, "nested deeper than 100 messages"},
		"far":      {deepGraph(5000), Limits{}, "nested deeper than 100 messages"},
		"types":    {msg(7, msg(11, msg(2, deepType))), Limits{}, "nested deeper than 100 messages"},
		"depth":    {deepGraph(1), Limits{MaxDepth: 3}, "onnx: graph.node[0].attribute[0].g: nested deeper than 3 messages"},
		"nodes":    {msg(7, msg(1), msg(1), msg(1)), Limits{MaxNodes: 2}, "onnx: graph.node[2]: more than 2 nodes"},
		"bytes":    {make([]byte, 11), Limits{MaxBytes: 10}, "onnx: 11 bytes, limit 10"},
		"elements": {msg(7, msg(5, []byte{0x10, 1, 8, 4})), Limits{MaxElements: 3}, "onnx: graph.initializer[0].dims: [4] is 4 elements, limit 3"},
		"growth":   {msg(7, bytes.Repeat(msg(1), 1<<16)), Limits{}, "expands to more than 32 times the input"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeModel(c.in, c.lim)
			require.ErrorIs(t, err, ErrLimit)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err = DecodeSequence(deepSequence, Limits{})
	require.ErrorIs(t, err, ErrLimit)
}

// TestHostileAllocation limits the memory that decoding allocates for inputs that decode to much more than their size.
func TestHostileAllocation(t *testing.T) {
	const size = 1 << 20
	fill := func(unit []byte) []byte { return bytes.Repeat(unit, size/len(unit)) }
	tensor := func(b []byte) []byte { return msg(7, msg(5, b)) }
	for name, in := range map[string][]byte{
		"nodes":        msg(7, fill(msg(1))),
		"initializers": msg(7, fill(msg(5))),
		"inputs":       msg(7, msg(1, fill(msg(1)))),
		"functions":    fill(msg(25)),
		"attributes":   msg(7, msg(1, fill(msg(5)))),
		"dims":         tensor(fill([]byte{8, 1})),
		"packed":       tensor(append([]byte{0x10, 7}, msg(7, fill([]byte{1}))...)),
		"small packed": tensor(append([]byte{0x10, 7}, fill([]byte{0x3a, 1, 1})...)),
		"shape":        msg(7, msg(11, msg(2, msg(1, msg(2, fill(msg(1))))))),
		"many dims":    tensor([]byte{0x10, 1, 8, 0xff, 0xff, 0xff, 0xff, 0x3f}),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := DecodeModel(in, Limits{})
			runtime.ReadMemStats(&after)
			t.Logf("%.1f times the input, error %v", float64(after.TotalAlloc-before.TotalAlloc)/float64(len(in)), err)
			// Slices grow by copying, so the total may be a multiple of the charged size.
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*(growth*len(in)+slack)))
		})
	}
}

// TestEveryPrefix truncates a model that has every field at every byte. The rest is either refused, or contains complete fields
// only.
func TestEveryPrefix(t *testing.T) {
	full := readGolden(t, "every_field.onnx")
	whole := 0
	for n := range len(full) {
		if _, err := DecodeModel(full[:n], Limits{}); err == nil {
			whole++
		} else {
			require.True(t, strings.HasPrefix(err.Error(), "onnx: "))
		}
	}
	require.Less(t, whole, 12, "only a cut between fields after graph leaves a complete model")
}

func TestNames(t *testing.T) {
	require.Equal(t, "FLOAT8E4M3FNUZ", Float8E4M3FNUZ.String())
	require.Equal(t, "DataType(-1)", DataType(-1).String())
	require.Equal(t, "TYPE_PROTOS", AttrTypeProtos.String())
	require.Equal(t, "AttributeType(15)", AttributeType(15).String())
	require.Equal(t, "optional", KindOptional.String())
	for _, c := range []struct {
		t          DataType
		bits, size int
	}{{Float, 32, 4}, {Int2, 2, 1}, {Float6E3M2, 6, 1}, {Complex128, 128, 16}, {String, 0, 0}, {99, 0, 0}, {-1, 0, 0}} {
		require.Equal(t, c.bits, c.t.Bits())
		require.Equal(t, c.size, c.t.Size())
	}
}
