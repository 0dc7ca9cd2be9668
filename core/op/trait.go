package op

// Traits are facts about what an op computes, as bits of a row. Code that treats groups of ops alike must decide by traits, not by names of
// ops or sections.
type Traits uint8

// The traits of ops.
const (
	// Elementwise: every element of the result is the same function of the elements of the operands at its index, after broadcasting, and
	// of the attributes.
	Elementwise Traits = 1 << iota
	// Reduces: every element of the result is the same function of the elements of the single operand along the attribute axes (or axis).
	// These axes are removed from the shape or, with keep_dims, become 1.
	Reduces
	// Cheap: the op takes no longer than a few passes over operands and results, so recomputing a result may be better than
	// keeping it.
	Cheap
	// Quantized: operands or results are quantized, with a scale and a zero point.
	Quantized
	// Stores: elements are only created, moved or compared. A type that is only used for storage or indices must support these ops.
	Stores
)

// Has reports whether all of want are set.
func (t Traits) Has(want Traits) bool { return t&want == want }
