package dtype

import "strings"

// Set is a set of types, used in capability documents and operand classes. The zero Set is empty.
type Set uint32

// SetOf returns a set of the given types.
func SetOf(ds ...DType) Set {
	var s Set
	for _, d := range ds {
		s |= 1 << d
	}
	return s
}

// The sets that op rows refer to.
var (
	Floats    = SetOf(F64, F32, F16, BF16)
	SignedInt = SetOf(I64, I32, I16, I8)
	UnsignedI = SetOf(U64, U32, U16, U8)
	Ints      = SignedInt | UnsignedI
	Bools     = SetOf(Bool)
	Numbers   = Floats | Ints
	Signeds   = Floats | SignedInt
	Any       = Numbers | Bools
	Indices   = SetOf(I64, I32)
	// Required contains the types that every backend has. Capabilities declare further types.
	Required = SetOf(F32, I32, I64, U8, Bool)
)

// Has reports whether d is in s.
func (s Set) Has(d DType) bool { return d.Valid() && s&(1<<d) != 0 }

// List returns the members of s in the order of their codes.
func (s Set) List() []DType {
	var l []DType
	for d := range DType(len(facts)) {
		if s.Has(d) {
			l = append(l, d)
		}
	}
	return l
}

// String lists the members: "f32|f64".
func (s Set) String() string {
	var names []string
	for _, d := range s.List() {
		names = append(names, d.String())
	}
	return strings.Join(names, "|")
}
