package op

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Kind is the type of an attribute. Its numeric value is part of the wire protocol and never changes.
type Kind uint8

// The kinds of attributes.
const (
	KindInt    Kind = 1 // one int64
	KindFloat  Kind = 2 // one float64
	KindBool   Kind = 3
	KindString Kind = 4
	KindDType  Kind = 5
	KindInts   Kind = 6 // a list of int64: axes, strides, shapes
	KindFloats Kind = 7 // a list of float64
	KindScalar Kind = 8 // a number that keeps whether it was an integer or a float: fill values
)

var kindNames = [...]string{1: "int", 2: "float", 3: "bool", 4: "string", 5: "dtype", 6: "ints", 7: "floats", 8: "scalar"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is the value of an attribute: a tagged union that needs no allocation for single numbers. The zero Value is no
// value. Values are immutable; the slices that Ints and Floats return must not be changed.
type Value struct {
	kind   Kind
	isInt  bool   // of a scalar
	bits   uint64 // int, float, bool, dtype, scalar
	str    string
	ints   []int
	floats []float64
}

// Attr is a named attribute.
type Attr struct {
	Name  string
	Value Value
}

// Int returns an integer attribute.
func Int(name string, v int) Attr { return Attr{name, Value{kind: KindInt, bits: uint64(v)}} }

// Float returns a float attribute.
func Float(name string, v float64) Attr {
	return Attr{name, Value{kind: KindFloat, bits: math.Float64bits(v)}}
}

// Flag returns a bool attribute.
func Flag(name string, v bool) Attr {
	a := Attr{name, Value{kind: KindBool}}
	if v {
		a.Value.bits = 1
	}
	return a
}

// Str returns a string attribute.
func Str(name, v string) Attr { return Attr{name, Value{kind: KindString, str: v}} }

// Type returns a dtype attribute.
func Type(name string, d dtype.DType) Attr {
	return Attr{name, Value{kind: KindDType, bits: uint64(d)}}
}

// Ints returns an attribute that is a list of integers. It keeps v.
func Ints(name string, v ...int) Attr { return Attr{name, Value{kind: KindInts, ints: v}} }

// Dims returns an attribute that is a shape. It keeps s.
func Dims(name string, s shape.Shape) Attr { return Attr{name, Value{kind: KindInts, ints: s}} }

// Floats returns an attribute that is a list of floats. It keeps v.
func Floats(name string, v ...float64) Attr { return Attr{name, Value{kind: KindFloats, floats: v}} }

// ScalarInt returns a scalar attribute from an integer; unsigned 64-bit values are passed as their bits.
func ScalarInt(name string, v int64) Attr {
	return Attr{name, Value{kind: KindScalar, isInt: true, bits: uint64(v)}}
}

// ScalarFloat returns a scalar attribute from a float.
func ScalarFloat(name string, v float64) Attr {
	return Attr{name, Value{kind: KindScalar, bits: math.Float64bits(v)}}
}

// Kind returns the kind of v, 0 for no value.
func (v Value) Kind() Kind { return v.kind }

// Int returns the integer of a KindInt, KindBool or KindDType value, and the value of a scalar as an integer.
func (v Value) Int() int64 {
	if v.kind == KindScalar && !v.isInt {
		return int64(math.Float64frombits(v.bits))
	}
	return int64(v.bits)
}

// Float returns the float of a KindFloat value, and the value of a scalar as a float.
func (v Value) Float() float64 {
	if v.kind == KindFloat || v.kind == KindScalar && !v.isInt {
		return math.Float64frombits(v.bits)
	}
	return float64(int64(v.bits))
}

// Bits returns the 64 bits of a single number, as encoded on the wire, and whether a scalar is an integer.
func (v Value) Bits() (bits uint64, isInt bool) { return v.bits, v.isInt }

// Bool returns the value of a KindBool value.
func (v Value) Bool() bool { return v.bits != 0 }

// DType returns the value of a KindDType value.
func (v Value) DType() dtype.DType { return dtype.DType(v.bits) }

// Str returns the value of a KindString value.
func (v Value) Str() string { return v.str }

// Ints returns the value of a KindInts value.
func (v Value) Ints() []int { return v.ints }

// Floats returns the value of a KindFloats value.
func (v Value) Floats() []float64 { return v.floats }

// NumberValue returns the single-number value with the given bits: the inverse of Bits, for wire codecs.
func NumberValue(k Kind, bits uint64, isInt bool) Value {
	return Value{kind: k, bits: bits, isInt: isInt && k == KindScalar}
}

// Equal reports whether v and w are the same value of the same kind; NaN equals itself.
func (v Value) Equal(w Value) bool {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return v.kind == w.kind && v.isInt == w.isInt && v.bits == w.bits && v.str == w.str &&
		slices.Equal(v.ints, w.ints) && slices.EqualFunc(v.floats, w.floats, same)
}

func (v Value) String() string {
	switch v.kind {
	case KindInt:
		return strconv.FormatInt(v.Int(), 10)
	case KindFloat:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case KindBool:
		return strconv.FormatBool(v.Bool())
	case KindString:
		return strconv.Quote(v.str)
	case KindDType:
		return v.DType().String()
	case KindInts:
		return shape.Shape(v.ints).String()
	case KindFloats:
		return strings.ReplaceAll(fmt.Sprint(v.floats), " ", ",")
	case KindScalar:
		if v.isInt {
			return strconv.FormatInt(int64(v.bits), 10)
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return "none"
}

// Attrs is the list of attributes of a node. In a checked node they are complete and in the order of the row's schema. The getters return
// the zero value for a name that is absent.
type Attrs []Attr

// Get finds an attribute by name.
func (a Attrs) Get(name string) (Value, bool) {
	for i := range a {
		if a[i].Name == name {
			return a[i].Value, true
		}
	}
	return Value{}, false
}

// Value finds an attribute by name; a missing one is the zero Value.
func (a Attrs) Value(name string) Value {
	v, _ := a.Get(name)
	return v
}

// Int returns the integer attribute name.
func (a Attrs) Int(name string) int { return int(a.Value(name).Int()) }

// Float returns the float attribute name.
func (a Attrs) Float(name string) float64 { return a.Value(name).Float() }

// Bool returns the bool attribute name.
func (a Attrs) Bool(name string) bool { return a.Value(name).Bool() }

// Str returns the string attribute name.
func (a Attrs) Str(name string) string { return a.Value(name).Str() }

// DType returns the dtype attribute name.
func (a Attrs) DType(name string) dtype.DType { return a.Value(name).DType() }

// Ints returns the integer list attribute name.
func (a Attrs) Ints(name string) []int { return a.Value(name).Ints() }

// Floats returns the float list attribute name.
func (a Attrs) Floats(name string) []float64 { return a.Value(name).Floats() }

// Equal reports whether a and b hold the same attributes in the same order.
func (a Attrs) Equal(b Attrs) bool {
	return slices.EqualFunc(a, b, func(x, y Attr) bool { return x.Name == y.Name && x.Value.Equal(y.Value) })
}

// String prints "{axis=1 keep_dims=true}".
func (a Attrs) String() string {
	parts := make([]string, len(a))
	for i, at := range a {
		parts[i] = at.Name + "=" + at.Value.String()
	}
	return "{" + strings.Join(parts, " ") + "}"
}
