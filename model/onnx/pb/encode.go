package pb

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append appends the encoded ModelProto to b. Fields are written in the order of their numbers; zero values, which
// decode as zero anyway, are left out.
func (m *Model) Append(b []byte) []byte {
	b = putInt(b, 1, m.IRVersion)
	b = putString(b, 2, m.ProducerName)
	b = putString(b, 3, m.ProducerVersion)
	b = putString(b, 4, m.Domain)
	b = putInt(b, 5, m.ModelVersion)
	b = putString(b, 6, m.Doc)
	b = putOne(b, 7, m.Graph)
	b = putMany(b, 8, m.OpsetImports)
	b = putMany(b, 14, m.Metadata)
	return putMany(b, 25, m.Functions)
}

// Append appends the encoded TensorProto to b. It does not check the tensor.
func (t *Tensor) Append(b []byte) []byte {
	b = putInts(b, 1, t.Dims)
	b = putInt(b, 2, int64(t.DataType))
	if len(t.FloatData) > 0 {
		b = protowire.AppendTag(b, 4, protowire.BytesType)
		b = protowire.AppendVarint(b, 4*uint64(len(t.FloatData)))
		for _, v := range t.FloatData {
			b = protowire.AppendFixed32(b, math.Float32bits(v))
		}
	}
	b = putPacked(b, 5, t.Int32Data)
	b = putByteses(b, 6, t.StringData)
	b = putPacked(b, 7, t.Int64Data)
	b = putString(b, 8, t.Name)
	b = putBytes(b, 9, t.RawData)
	if len(t.DoubleData) > 0 {
		b = protowire.AppendTag(b, 10, protowire.BytesType)
		b = protowire.AppendVarint(b, 8*uint64(len(t.DoubleData)))
		for _, v := range t.DoubleData {
			b = protowire.AppendFixed64(b, math.Float64bits(v))
		}
	}
	b = putPacked(b, 11, t.Uint64Data)
	b = putString(b, 12, t.Doc)
	b = putMany(b, 13, t.External)
	b = putInt(b, 14, int64(t.Location))
	return putMany(b, 16, t.Metadata)
}

// Append appends the encoded SparseTensorProto to b.
func (s *SparseTensor) Append(b []byte) []byte {
	b = putOne(b, 1, s.Values)
	b = putOne(b, 2, s.Indices)
	return putInts(b, 3, s.Dims)
}

// Append appends the encoded SequenceProto to b.
func (s *Sequence) Append(b []byte) []byte {
	b = putString(b, 1, s.Name)
	b = putInt(b, 2, int64(s.Kind))
	b = putMany(b, 3, s.Tensors)
	b = putMany(b, 4, s.SparseTensors)
	b = putMany(b, 5, s.Sequences)
	b = putMany(b, 6, s.Maps)
	return putMany(b, 7, s.Optionals)
}

// Append appends the encoded MapProto to b.
func (m *Map) Append(b []byte) []byte {
	b = putString(b, 1, m.Name)
	b = putInt(b, 2, int64(m.KeyType))
	b = putInts(b, 3, m.Keys)
	b = putByteses(b, 4, m.StringKeys)
	return putOne(b, 5, m.Values)
}

// Append appends the encoded OptionalProto to b.
func (o *Optional) Append(b []byte) []byte {
	b = putString(b, 1, o.Name)
	b = putInt(b, 2, int64(o.Kind))
	b = putOne(b, 3, o.Tensor)
	b = putOne(b, 4, o.SparseTensor)
	b = putOne(b, 5, o.Sequence)
	b = putOne(b, 6, o.Map)
	return putOne(b, 7, o.Optional)
}

// Append appends the encoded OperatorSetIdProto to b.
func (o *OperatorSetID) Append(b []byte) []byte {
	return putInt(putString(b, 1, o.Domain), 2, o.Version)
}

// Append appends the encoded StringStringEntryProto to b.
func (p *Property) Append(b []byte) []byte {
	return putString(putString(b, 1, p.Key), 2, p.Value)
}

// message is any struct of this package, by pointer.
type message[T any] interface {
	*T
	Append([]byte) []byte
}

// putOne appends m as a field. The message is encoded in place and then moved by the size of its length prefix, so that nothing
// is encoded twice or buffered.
func putOne[T any, P message[T]](b []byte, num protowire.Number, m P) []byte {
	if m == nil {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	start := len(b)
	b = m.Append(b)
	size := len(b) - start
	var head [10]byte
	prefix := protowire.AppendVarint(head[:0], uint64(size))
	b = append(b, prefix...)
	copy(b[start+len(prefix):], b[start:start+size])
	copy(b[start:], prefix)
	return b
}

func putMany[T any, P message[T]](b []byte, num protowire.Number, ms []P) []byte {
	for _, m := range ms {
		b = putOne(b, num, m)
	}
	return b
}

func putInt(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

// putInts writes the unpacked form, which ONNX uses unless a field is declared packed.
func putInts(b []byte, num protowire.Number, vs []int64) []byte {
	for _, v := range vs {
		b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
	}
	return b
}

func putPacked[T int32 | int64 | uint64](b []byte, num protowire.Number, vs []T) []byte {
	if len(vs) == 0 {
		return b
	}
	size := 0
	for _, v := range vs {
		size += protowire.SizeVarint(uint64(v))
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func putString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

func putStrings(b []byte, num protowire.Number, ss []string) []byte {
	for _, s := range ss {
		b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	return b
}

// putBytes writes an empty field for empty bytes and none for nil.
func putBytes(b []byte, num protowire.Number, v []byte) []byte {
	if v == nil {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func putByteses(b []byte, num protowire.Number, vs [][]byte) []byte {
	for _, v := range vs {
		b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
	}
	return b
}
