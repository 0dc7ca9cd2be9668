package op

import (
	"github.com/goburn/burn/core/dtype"
)

// Code is an op in this process: an index into the table. Codes differ between builds; on the wire an op is its name and
// version.
type Code uint16

// Class says what a backend owes for an op.
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

// Row is the description of an op as data. Rules (decomposition, reference kernel, gradient, kernels) are in the packages
// that own them, keyed by Code.
type Row struct {
	Name    string
	Version uint16
	Class   Class
	// Section is the heading in docs/OPS.md: "creation", "movement", ... It is for display: what code decides by is in Traits.
	Section string
	Doc     string // one line
	Traits  Traits
	// Operands in order. If the last is Variadic, it describes any number of inputs from Min on.
	Operands []Operand
	// Results names the outputs. A row whose number of outputs depends on attributes lists the greatest number.
	Results []string
	// Attrs are used as they are: a float attribute of an inexact row may be rounded to the element type first or not, both
	// are within the tolerance. Exact rows round it first.
	Attrs       []AttrSpec
	Constraints []Constraint
	Infer       InferFunc
	// Domain is, for each operand, the set from which its elements may be drawn so that the result is defined and well
	// conditioned; a missing entry is Real.
	Domain []Domain
	// Tolerance is the allowed difference of a result from the reference.
	Tolerance Tolerance

	draws bool
}

// Draws reports whether an op of the table draws random numbers by the attributes seed and counter, which differ from one node to the
// next. RandomBitsAt, which has them relative to an operand, does not.
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

// Constraint is a numbered rule that Infer enforces; invalid conformance cases and errors cite its number.
type Constraint struct {
	ID   string // "C1"
	Text string
}

// Domain is a range that test values of an operand are drawn from.
type Domain struct {
	Lo, Hi  float64 // inclusive; both zero: any value
	NonZero bool
	// Whole draws whole numbers only.
	Whole bool
	// Matrix makes the operand's last two dimensions matrices of a kind, and Lo and Hi mean nothing.
	Matrix MatrixKind
	// Index makes the operand an index into dimension Axis attribute of the first operand, in [0, size).
	Index bool
}

// MatrixKind is a kind of matrices on which linear algebra is defined and well conditioned.
type MatrixKind uint8

// The kinds of matrices.
const (
	// AnyMatrix is no particular kind.
	AnyMatrix MatrixKind = iota
	// FullRank matrices have singular values of full rank that are apart from each other.
	FullRank
	// PositiveDefinite matrices are symmetric with positive eigenvalues.
	PositiveDefinite
	// Symmetric matrices have eigenvalues of either sign whose magnitudes are apart from each other.
	Symmetric
	// Triangular matrices have well conditioned triangles on both sides of the diagonal.
	Triangular
)

// Tolerance bounds |got-want| by Abs + Rel·|want|. ULP kinds name the usual cases.
type Tolerance struct {
	// Exact results are equal bit by bit (NaN payloads aside).
	Exact bool
	// Units scales the error allowed: about that many units in the last place of the result's dtype for a single
	// rounding, times sqrt of the number of accumulated terms for reductions (PerTerm).
	Units   float64
	PerTerm bool
}

// Bounds returns relative and absolute tolerance for a result of type d that accumulates terms products or sums.
func (t Tolerance) Bounds(d dtype.DType, terms int) (rel, abs float64) {
	if t.Exact || !d.IsFloat() {
		return 0, 0
	}
	eps := map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[d]
	rel = t.Units * eps
	abs = map[dtype.DType]float64{dtype.F64: 0x1p-1022, dtype.F32: 0x1p-126, dtype.F16: 0x1p-14, dtype.BF16: 0x1p-126}[d]
	if t.PerTerm && terms > 1 {
		// Accumulation happens in at least f32, so narrow types pay eps of f32 per term and their own once.
		acc := min(eps, 0x1p-23)
		rel += t.Units * acc * float64(terms)
		abs += t.Units * acc * float64(terms)
	}
	return rel, abs
}
