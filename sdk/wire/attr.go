package wire

import (
	"encoding/binary"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// appendValue writes kind and value of an attribute.
func appendValue(b []byte, v op.Value) []byte {
	b = append(b, byte(v.Kind()))
	switch v.Kind() {
	case op.KindInt:
		b = appendVarint(b, v.Int())
	case op.KindFloat:
		b = appendFloat(b, v.Float())
	case op.KindBool, op.KindDType:
		bits, _ := v.Bits()
		b = append(b, byte(bits))
	case op.KindString:
		b = appendText(b, v.Str())
	case op.KindInts:
		b = binary.AppendUvarint(b, uint64(len(v.Ints())))
		for _, i := range v.Ints() {
			b = appendVarint(b, int64(i))
		}
	case op.KindFloats:
		b = binary.AppendUvarint(b, uint64(len(v.Floats())))
		for _, f := range v.Floats() {
			b = appendFloat(b, f)
		}
	case op.KindScalar:
		if bits, isInt := v.Bits(); isInt {
			b = appendVarint(append(b, 1), int64(bits))
		} else {
			b = binary.LittleEndian.AppendUint64(append(b, 0), bits)
		}
	}
	return b
}

// value reads what appendValue wrote, as the attribute called name.
func (r *reader) value(name string) op.Attr {
	number := func(k op.Kind, bits uint64, isInt bool) op.Attr {
		return op.Attr{Name: name, Value: op.NumberValue(k, bits, isInt)}
	}
	switch k := op.Kind(r.byte()); k {
	case op.KindInt:
		return number(k, uint64(r.varint()), false)
	case op.KindFloat:
		return number(k, math.Float64bits(r.float()), false)
	case op.KindBool:
		c := r.byte()
		if c > 1 {
			r.fail("attribute %q: bool %d", name, c)
		}
		return number(k, uint64(c), false)
	case op.KindDType:
		d := dtype.DType(r.byte())
		if r.err == nil && !d.Valid() {
			r.fail("attribute %q: element type %d", name, d)
		}
		return number(k, uint64(d), false)
	case op.KindString:
		return op.Str(name, r.text(MaxText))
	case op.KindInts:
		n := r.count("integers", 1)
		var l []int
		if n > 0 {
			l = make([]int, n)
		}
		for i := range l {
			l[i] = int(r.varint())
		}
		return op.Ints(name, l...)
	case op.KindFloats:
		n := r.count("floats", 8)
		var l []float64
		if n > 0 {
			l = make([]float64, n)
		}
		for i := range l {
			l[i] = r.float()
		}
		return op.Floats(name, l...)
	case op.KindScalar:
		switch c := r.byte(); c {
		case 0:
			return number(k, math.Float64bits(r.float()), false)
		case 1:
			return number(k, uint64(r.varint()), true)
		default:
			r.fail("attribute %q: scalar of kind %d", name, c)
		}
	default:
		r.fail("attribute %q of kind %d", name, k)
	}
	return op.Attr{Name: name}
}
