package op

// Traits are facts about what an op computes, as bits of a row. Code that treats many ops alike decides by them, and not by
// names of ops or sections.
type Traits uint8

// The traits of ops.
const (
	// Elementwise: every element of the result is one function of the elements of the operands at its place, after
	// broadcasting, and of the attributes. It is the same function at every place.
	Elementwise Traits = 1 << iota
	// Reduces: every element of the result is one function of the elements of a line or block of the one operand, along the
	// attribute axes (or axis), which go from the shape or with keep_dims become 1.
	Reduces
	// Cheap: the op takes no longer than a few passes over operands and results, so recomputing a result may be better than
	// keeping it.
	Cheap
	// Quantized: operands or results are elements on a scale with a zero point.
	Quantized
	// Stores: elements are made or moved, and compared at most: what a type must be good for that is only stored or indexes.
	Stores
)

// Has reports whether all of want are set.
func (t Traits) Has(want Traits) bool { return t&want == want }
