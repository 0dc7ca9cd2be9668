// Package conformance says whether a backend computes what the op table defines. Cases are generated from the rows: ops, the
// element types that the backend claims, shapes, layouts of the operands, values, and attributes; the expected results come from
// conformance/ref, and the tolerance from the row. Further cases test the semantics of streams.
//
// Check returns a report; Run is the same as Go subtests. A case has a stable id, op/types/variant/kind, such as
// add/f32/rank0/special, and a regular expression over ids selects what runs. Values depend on the seed and the id alone,
// so a case can be replayed by itself.
//
// # Tolerance
//
// A result is compared by its row's op.Tolerance for the result's type. Rows that accumulate (PerTerm) name a number of
// terms, which terms.go counts for each: the products or summands that meet in one element of the result, and for norms a
// few more for scaling and shifting. The absolute part of such a tolerance is meant for operands of magnitude 1, so they
// are drawn from [-1, 1]. NaN and infinities must agree, and for exact rows the sign of zero too.
package conformance
