package op

import (
	encoding "encoding/binary"
	"math"
)

// AppendKey appends the structure of a node with inputs in to b: op, version, attributes, and the types and shapes of operands and results.
// Keys are equal if and only if nodes differ at most in ids and Drop. Keys, like op codes, are only valid within one process.
func AppendKey(b []byte, n *Node, in []Desc) []byte {
	b = encoding.AppendUvarint(b, uint64(n.Op))
	b = encoding.AppendUvarint(b, uint64(n.Version))
	b = AppendTypes(b, in)
	b = AppendTypes(b, n.Outputs)
	return AppendAttrs(b, n.Attrs)
}

// AppendTypes appends types and shapes to a key.
func AppendTypes(b []byte, ds []Desc) []byte {
	b = encoding.AppendUvarint(b, uint64(len(ds)))
	for i := range ds {
		b = append(b, byte(ds[i].DType), byte(len(ds[i].Shape)))
		for _, v := range ds[i].Shape {
			b = encoding.AppendUvarint(b, uint64(v))
		}
	}
	return b
}

// AppendAttrs appends attributes to a key.
func AppendAttrs(b []byte, attrs Attrs) []byte {
	b = encoding.AppendUvarint(b, uint64(len(attrs)))
	for i := range attrs {
		v := &attrs[i].Value
		b = encoding.AppendUvarint(b, uint64(len(attrs[i].Name)))
		b = append(b, attrs[i].Name...)
		kind := byte(v.kind) << 1
		if v.isInt {
			kind |= 1
		}
		b = append(b, kind)
		switch v.kind {
		case KindString:
			b = encoding.AppendUvarint(b, uint64(len(v.str)))
			b = append(b, v.str...)
		case KindInts:
			b = encoding.AppendUvarint(b, uint64(len(v.ints)))
			for _, k := range v.ints {
				b = encoding.AppendUvarint(b, uint64(k))
			}
		case KindFloats:
			b = encoding.AppendUvarint(b, uint64(len(v.floats)))
			for _, f := range v.floats {
				b = encoding.LittleEndian.AppendUint64(b, math.Float64bits(f))
			}
		default:
			b = encoding.AppendUvarint(b, v.bits)
		}
	}
	return b
}
