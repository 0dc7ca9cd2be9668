// Package dtype defines the element types of tensors: their codes, names, sizes and classes, and the two 16-bit floating point formats that
// Go lacks. It is the lowest layer: it depends on no other package of burn. No other package may define element types.
package dtype

import (
	"fmt"
	"strings"
)

// DType is an element type. Its numeric value is part of the wire protocol and never changes.
type DType uint8

// The element types. Bool is stored as one byte, 0 or 1; every other value of that byte is invalid.
const (
	Invalid DType = 0
	F64     DType = 1
	F32     DType = 2
	F16     DType = 3
	BF16    DType = 4
	I64     DType = 5
	I32     DType = 6
	I16     DType = 7
	I8      DType = 8
	U64     DType = 9
	U32     DType = 10
	U16     DType = 11
	U8      DType = 12
	Bool    DType = 13
)

// Class says how arithmetic treats a type.
type Class uint8

// The classes.
const (
	NoClass Class = iota
	Float
	Signed
	Unsigned
	Boolean
)

var facts = [...]struct {
	name  string
	size  int
	class Class
}{
	Invalid: {"invalid", 0, NoClass},
	F64:     {"f64", 8, Float},
	F32:     {"f32", 4, Float},
	F16:     {"f16", 2, Float},
	BF16:    {"bf16", 2, Float},
	I64:     {"i64", 8, Signed},
	I32:     {"i32", 4, Signed},
	I16:     {"i16", 2, Signed},
	I8:      {"i8", 1, Signed},
	U64:     {"u64", 8, Unsigned},
	U32:     {"u32", 4, Unsigned},
	U16:     {"u16", 2, Unsigned},
	U8:      {"u8", 1, Unsigned},
	Bool:    {"bool", 1, Boolean},

	F8E4M3FN:   {"f8e4m3fn", 1, Storage},
	F8E5M2:     {"f8e5m2", 1, Storage},
	F8E4M3FNUZ: {"f8e4m3fnuz", 1, Storage},
	F8E5M2FNUZ: {"f8e5m2fnuz", 1, Storage},
	F8E8M0:     {"f8e8m0", 1, Storage},
	F4E2M1:     {"f4e2m1", 1, Storage},
	I4:         {"i4", 1, Storage},
	U4:         {"u4", 1, Storage},
	I2:         {"i2", 1, Storage},
	U2:         {"u2", 1, Storage},
}

// All lists the types that arithmetic is defined on, in the order of the codes. The storage types are Smalls.List().
func All() []DType {
	return []DType{F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool}
}

// Valid reports whether d is one of the types above.
func (d DType) Valid() bool { return d != Invalid && int(d) < len(facts) }

// String returns the short name: f32, i64, bool.
func (d DType) String() string {
	if int(d) < len(facts) {
		return facts[d].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Size returns the number of bytes of one element, 0 for an invalid type.
func (d DType) Size() int {
	if int(d) < len(facts) {
		return facts[d].size
	}
	return 0
}

// Class returns the class of d, NoClass for an invalid type.
func (d DType) Class() Class {
	if int(d) < len(facts) {
		return facts[d].class
	}
	return NoClass
}

// IsFloat reports whether d is a floating point type, of any width.
func (d DType) IsFloat() bool { return d.Class() == Float }

// IsInt reports whether d is an integer type, signed or not. Bool is not an integer type.
func (d DType) IsInt() bool { return d.Class() == Signed || d.Class() == Unsigned }

// LeastNormal returns the least positive normal number of a floating point type: numbers closer to zero have fewer digits. It is 0 for
// other types.
func (d DType) LeastNormal() float64 {
	switch d {
	case F64:
		return 0x1p-1022
	case F32, BF16:
		return 0x1p-126
	case F16:
		return 0x1p-14
	}
	return 0
}

// Parse is the inverse of String. It also accepts the long names of other tools: float32, int64, uint8, bfloat16, half.
func Parse(s string) (DType, error) {
	l := strings.ToLower(strings.TrimSpace(s))
	for d := range facts {
		if d := DType(d); d.Valid() && facts[d].name == l {
			return d, nil
		}
	}
	if d, ok := aliases[l]; ok {
		return d, nil
	}
	return Invalid, fmt.Errorf("dtype: unknown type %q, want one of %v", s, All())
}

var aliases = map[string]DType{
	"float64": F64, "double": F64, "float32": F32, "float": F32, "float16": F16, "half": F16, "bfloat16": BF16,
	"int64": I64, "int32": I32, "int16": I16, "int8": I8, "uint64": U64, "uint32": U32, "uint16": U16, "uint8": U8,
	"boolean": Bool,
}

// Native is the set of Go types that store one element of some DType.
type Native interface {
	float64 | float32 | Float16 | BFloat16 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8 | bool
}

// Of returns the DType that Go type T stores.
func Of[T Native]() DType {
	var z T
	switch any(z).(type) {
	case float64:
		return F64
	case float32:
		return F32
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case int64:
		return I64
	case int32:
		return I32
	case int16:
		return I16
	case int8:
		return I8
	case uint64:
		return U64
	case uint32:
		return U32
	case uint16:
		return U16
	case uint8:
		return U8
	}
	return Bool
}
