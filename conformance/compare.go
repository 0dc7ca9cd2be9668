package conformance

import (
	"fmt"
	"math"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// compare returns an error if elements of got are not within the row's tolerance of want. The error names the first wrong
// element and states the number of wrong elements.
func compare(n *op.Node, in []op.Desc, output int, want, got ref.Tensor) error {
	rel, abs, exact := bounds(n, in, want.Desc.DType)
	return compareWithin(rel, abs, exact, output, want, got)
}

// bounds returns the tolerance of the row of n for results of type d.
func bounds(n *op.Node, in []op.Desc, d dtype.DType) (rel, abs float64, exact bool) {
	tolerance := op.Lookup(n.Op).Tolerance
	rel, abs = tolerance.Bounds(d, termsOf(n, in))
	return rel, abs, tolerance.Exact
}

// termsOf returns the number of terms that the tolerance of the row of n counts: 1 if it does not depend on terms.
func termsOf(n *op.Node, in []op.Desc) int {
	if op.Lookup(n.Op).Tolerance.PerTerm {
		return op.Terms(n, in)
	}
	return 1
}

// compareWithin is like compare, with the given bounds in place of the row's tolerance.
func compareWithin(rel, abs float64, exact bool, output int, want, got ref.Tensor) error {
	d := want.Desc.DType
	wrong, first := 0, -1
	for i := range want.Desc.Shape.Size() {
		ok := false
		if d.IsFloat() {
			ok = near(want.F[i], got.F[i], rel, abs, exact)
		} else {
			ok = want.I[i] == got.I[i]
		}
		if !ok {
			if wrong++; wrong == 1 {
				first = i
			}
		}
	}
	if wrong == 0 {
		return nil
	}
	what := fmt.Sprintf("output %d %v: %d of %d elements are wrong, first at %d: ", output, want.Desc, wrong, want.Desc.Shape.Size(), first)
	if d.IsFloat() {
		return fmt.Errorf("%sgot %v, want %v within %.3g·|want| + %.3g", what, got.F[first], want.F[first], rel, abs)
	}
	return fmt.Errorf("%sgot %d, want %d", what, got.I[first], want.I[first])
}

// near compares two floats. NaN is near only NaN, and an infinity only itself. Exact comparison distinguishes -0 from +0.
func near(want, got, rel, abs float64, exact bool) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case exact:
		return math.Float64bits(want) == math.Float64bits(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return want == got
	}
	return math.Abs(got-want) <= rel*math.Abs(want)+abs
}
