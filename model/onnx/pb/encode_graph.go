package pb

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append appends the encoded GraphProto to b.
func (g *Graph) Append(b []byte) []byte {
	b = putMany(b, 1, g.Nodes)
	b = putString(b, 2, g.Name)
	b = putMany(b, 5, g.Initializers)
	b = putString(b, 10, g.Doc)
	b = putMany(b, 11, g.Inputs)
	b = putMany(b, 12, g.Outputs)
	b = putMany(b, 13, g.ValueInfo)
	b = putMany(b, 15, g.SparseInitializers)
	return putMany(b, 16, g.Metadata)
}

// Append appends the encoded NodeProto to b.
func (n *Node) Append(b []byte) []byte {
	b = putStrings(b, 1, n.Inputs)
	b = putStrings(b, 2, n.Outputs)
	b = putString(b, 3, n.Name)
	b = putString(b, 4, n.OpType)
	b = putMany(b, 5, n.Attributes)
	b = putString(b, 6, n.Doc)
	b = putString(b, 7, n.Domain)
	b = putString(b, 8, n.Overload)
	return putMany(b, 9, n.Metadata)
}

// Append appends the encoded FunctionProto to b.
func (f *Function) Append(b []byte) []byte {
	b = putString(b, 1, f.Name)
	b = putStrings(b, 4, f.Inputs)
	b = putStrings(b, 5, f.Outputs)
	b = putStrings(b, 6, f.Attributes)
	b = putMany(b, 7, f.Nodes)
	b = putString(b, 8, f.Doc)
	b = putMany(b, 9, f.OpsetImports)
	b = putString(b, 10, f.Domain)
	b = putMany(b, 11, f.AttributeDefaults)
	b = putMany(b, 12, f.ValueInfo)
	b = putString(b, 13, f.Overload)
	return putMany(b, 14, f.Metadata)
}

// Append appends the encoded AttributeProto to b. The scalar that Type names is written even when it is zero, because other
// readers distinguish zero from absent.
func (a *Attribute) Append(b []byte) []byte {
	b = putString(b, 1, a.Name)
	if a.F != 0 || math.Signbit(float64(a.F)) || a.Type == AttrFloat && a.RefAttrName == "" {
		b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), math.Float32bits(a.F))
	}
	if a.I != 0 || a.Type == AttrInt && a.RefAttrName == "" {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(a.I))
	}
	s := a.S
	if s == nil && a.Type == AttrString && a.RefAttrName == "" {
		s = []byte{}
	}
	b = putBytes(b, 4, s)
	b = putOne(b, 5, a.T)
	b = putOne(b, 6, a.G)
	for _, v := range a.Floats {
		b = protowire.AppendFixed32(protowire.AppendTag(b, 7, protowire.Fixed32Type), math.Float32bits(v))
	}
	b = putInts(b, 8, a.Ints)
	b = putByteses(b, 9, a.Strings)
	b = putMany(b, 10, a.Tensors)
	b = putMany(b, 11, a.Graphs)
	b = putString(b, 13, a.Doc)
	b = putOne(b, 14, a.TypeProto)
	b = putMany(b, 15, a.TypeProtos)
	b = putInt(b, 20, int64(a.Type))
	b = putString(b, 21, a.RefAttrName)
	b = putOne(b, 22, a.SparseTensor)
	return putMany(b, 23, a.SparseTensors)
}

// Append appends the encoded ValueInfoProto to b.
func (v *ValueInfo) Append(b []byte) []byte {
	b = putString(b, 1, v.Name)
	b = putOne(b, 2, v.Type)
	b = putString(b, 3, v.Doc)
	return putMany(b, 4, v.Metadata)
}

// Append appends the encoded TypeProto to b.
func (t *Type) Append(b []byte) []byte {
	b = putString(b, 6, t.Denotation)
	for num, k := range typeKinds {
		if k != KindNone && k == t.Kind {
			b = putOne(b, protowire.Number(num), (*typeBody)(t))
		}
	}
	return b
}

// typeBody is the message inside a Type, one of TypeProto.Tensor, .Sequence and so on.
type typeBody Type

// Append appends the encoded message of the type's kind to b.
func (t *typeBody) Append(b []byte) []byte {
	switch t.Kind {
	case KindTensor, KindSparseTensor:
		return putOne(putInt(b, 1, int64(t.DataType)), 2, t.Shape)
	case KindSequence, KindOptional:
		return putOne(b, 1, t.Elem)
	case KindMap:
		return putOne(putInt(b, 1, int64(t.DataType)), 2, t.Elem)
	case KindOpaque:
		return putString(putString(b, 1, t.OpaqueDomain), 2, t.OpaqueName)
	}
	return b
}

// Append appends the encoded TensorShapeProto to b.
func (s *Shape) Append(b []byte) []byte {
	for i := range s.Dims {
		b = putOne(b, 1, &s.Dims[i])
	}
	return b
}

// Append appends the encoded TensorShapeProto.Dimension to b.
func (d *Dim) Append(b []byte) []byte {
	switch d.Kind {
	case DimValue:
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(d.Value))
	case DimParam:
		b = putString(b, 2, d.Param)
	}
	return putString(b, 3, d.Denotation)
}
