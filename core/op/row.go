package op

import (
	"github.com/goburn/burn/core/dtype"
)

// Code is an op in this process: an index into the table. Codes differ between builds; on the wire an op is its name and
// version.
type Code uint16

// Class says whether backends must implement an op.
type Class uint8

// The classes of ops.
const (
	// Primitive ops are implemented by every backend.
	Primitive Class = iota
	// Composite ops have a decomposition; a backend may claim them for speed.
	Composite
	// Custom ops are registered by an application or a vendor; a decomposition is optional.
	Custom
)

func (c Class) String() string { return [...]string{"primitive", "composite", "custom"}[c] }

// InferFunc returns the outputs of an op for inputs and complete attributes, or an error that names the broken constraint.
// Operand counts, dtype classes and attribute kinds have been checked already. It is pure.
type InferFunc func(in []Desc, a Attrs) ([]Desc, error)

// Row describes an op as data. Rules (decomposition, reference kernel, gradient, kernels) are in the packages that own them, keyed by Code.
type Row struct {
	Name    string
	Version uint16
	Class   Class
	// Section is the heading in docs/OPS.md: "creation", "movement", ... It is only for display: code must decide by Traits.
	Section string
	Doc     string // one line
	Traits  Traits
	// Operands in order. If the last is Variadic, it describes all further inputs too.
	Operands []Operand
	// Results names the outputs. A row whose number of outputs depends on attributes lists the greatest number.
	Results []string
	// Attrs is the schema of the attributes. In exact rows, a float attribute is rounded to the element type before use. In inexact rows it
	// may be rounded or not: both are within the tolerance.
	Attrs       []AttrSpec
	Constraints []Constraint
	Infer       InferFunc
	// Domain is, for each operand, the set from which its elements may be drawn so that the result is defined and well
	// conditioned. A missing entry allows any value.
	Domain []Domain
	// Tolerance is the allowed difference of a result from the reference.
	Tolerance Tolerance

	draws bool
}

// Draws reports whether an op draws random numbers that depend on the attributes seed and counter, which differ from one node to the next.
// It reports false for RandomBitsAt, which has an operand for them.
func Draws(c Code) bool { return Lookup(c).draws }

// findDraws sets draws.
func (r *Row) findDraws(c Code) {
	found := 0
	for _, a := range r.Attrs {
		if a.Kind == KindInt && (a.Name == "seed" || a.Name == "counter") {
			found++
		}
	}
	r.draws = found == 2 && c != RandomBitsAt
}

// Operand is an input of an op.
type Operand struct {
	Name     string
	Types    dtype.Set
	SameAs   int  // 1-based number of an earlier operand whose dtype this one shares; 0: none
	Optional bool // trailing operands only
	Variadic bool // last operand only
}

// AttrSpec is one attribute in a row's schema.
type AttrSpec struct {
	Name    string
	Kind    Kind
	Default Value    // no value: the attribute is required
	OneOf   []string // for strings: the allowed values
	Doc     string
}

// Constraint is a numbered rule that Infer enforces. Errors and invalid conformance cases refer to the number.
type Constraint struct {
	ID   string // "C1"
	Text string
}

// Domain is a range that test values of an operand are drawn from.
type Domain struct {
	Lo, Hi  float64 // inclusive; both zero: any value
	NonZero bool
	// Whole restricts values to integers.
	Whole bool
	// Matrix is the kind of the matrices in the operand's last two dimensions. If it is not AnyMatrix, Lo and Hi are ignored.
	Matrix MatrixKind
	// Index means that the operand contains indices into the first operand along attribute axis, in [0, size).
	Index bool
}

// MatrixKind is a kind of matrices on which linear algebra is defined and well conditioned.
type MatrixKind uint8

// The kinds of matrices.
const (
	// AnyMatrix means no particular kind.
	AnyMatrix MatrixKind = iota
	// FullRank matrices have full rank and singular values that are well separated.
	FullRank
	// PositiveDefinite matrices are symmetric with positive eigenvalues.
	PositiveDefinite
	// Symmetric matrices have eigenvalues of either sign whose magnitudes are well separated.
	Symmetric
	// Triangular matrices have well conditioned triangles on both sides of the diagonal.
	Triangular
)

// Tolerance bounds |got-want| by Abs + Rel·|want|: see Bounds.
type Tolerance struct {
	// Exact results are equal bit by bit, except for NaN payloads.
	Exact bool
	// Units is the allowed error in units in the last place of the result's dtype. With PerTerm, the same number of units, in the last
	// place of f32 for narrower types, is allowed in addition for each accumulated term.
	Units   float64
	PerTerm bool
}

// Bounds returns the relative and absolute tolerance of a result of type d in which the given number of terms is accumulated.
func (t Tolerance) Bounds(d dtype.DType, terms int) (rel, abs float64) {
	if t.Exact || !d.IsFloat() {
		return 0, 0
	}
	eps := map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[d]
	rel = t.Units * eps
	abs = d.LeastNormal()
	if t.PerTerm && terms > 1 {
		// Terms are accumulated in at least f32, so narrow types have an error of f32 per term and one rounding to their own precision.
		acc := min(eps, 0x1p-23)
		rel += t.Units * acc * float64(terms)
		abs += t.Units * acc * float64(terms)
	}
	return rel, abs
}
