// Package ref computes every op of the table in the slowest and most obvious way. It is the executable specification: the conformance suite
// compares backends with it, and it shares no code with any of them. Floats of every width are computed in float64, and rounded to their
// type once, at the end. A type's own width shows before the end only where the row is exact: attributes that take part in its arithmetic
// are converted to the element type first, and quantize divides in f32 or wider. Integers are exact and wrap to their width.
package ref
