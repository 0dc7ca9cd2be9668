// Package ref computes every op of the table in the simplest way. It is the executable specification: package conformance compares backends
// with it. It must not share code with a backend, and must not be optimized. Floats of every width are computed in float64 and rounded to
// their type once, at the end. Only ops whose row is exact round earlier: attributes that take part in its arithmetic are converted to the
// element type first, and quantize divides in f32 or wider. Integers are exact and wrap to their width.
package ref
