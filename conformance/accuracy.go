package conformance

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Accuracy is the worst error of an op on one type of result, over all elements that a run compared with the reference.
type Accuracy struct {
	Op   string `json:"op"`
	Type string `json:"type"`
	// ULP is the greatest distance from the reference, in units in the last place of the reference's value. For subnormal values it uses
	// the unit of the least normal number. If a sum cancels, a correct result can be off by many units: see Used.
	ULP float64 `json:"ulp"`
	// Used is the greatest ratio of an element's error to the op's tolerance. An element whose ratio exceeds 1 fails. Used is 0 for ops that
	// must be exact.
	Used float64 `json:"used"`
	// Terms is the number of products or summands accumulated in the element with the greatest ULP. It is 1 for ops that accumulate
	// nothing.
	Terms    int    `json:"terms"`
	Case     string `json:"case"` // the case with the greatest ULP
	Elements int    `json:"elements"`
}

// accuracies collects Accuracy values. It is safe for concurrent use.
type accuracies struct {
	mu sync.Mutex
	by map[accuracyKey]*Accuracy
}

type accuracyKey struct {
	op op.Code
	d  dtype.DType
}

// note records the errors of a result's elements. It ignores elements that are not finite, because their error has no size.
func (a *accuracies) note(id string, n *op.Node, in []op.Desc, want, got ref.Tensor) {
	d := want.Desc.DType
	if a == nil || !d.IsFloat() || !want.Desc.SameType(got.Desc) {
		return
	}
	rel, abs, exact := bounds(n, in, d)
	worst := Accuracy{Op: n.Op.String(), Type: d.String(), Terms: termsOf(n, in), Case: id}
	for i, w := range want.F {
		g := got.F[i]
		if math.IsNaN(w) || math.IsInf(w, 0) || math.IsNaN(g) || math.IsInf(g, 0) {
			continue
		}
		worst.Elements++
		off := math.Abs(g - w)
		worst.ULP = max(worst.ULP, off/ulp(d, w))
		if allowed := rel*math.Abs(w) + abs; !exact && allowed > 0 {
			worst.Used = max(worst.Used, off/allowed)
		}
	}
	if worst.Elements == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[accuracyKey]*Accuracy{}
	}
	key := accuracyKey{n.Op, d}
	old := a.by[key]
	if old == nil {
		a.by[key] = &worst
		return
	}
	elements, used := old.Elements+worst.Elements, max(old.Used, worst.Used)
	if worst.ULP > old.ULP || worst.ULP == old.ULP && worst.Case < old.Case { // so that the result does not depend on the order of cases
		*old = worst
	}
	old.Elements, old.Used = elements, used
}

// list returns the collected accuracies, sorted by op and type.
func (a *accuracies) list() []Accuracy {
	a.mu.Lock()
	defer a.mu.Unlock()
	var l []Accuracy
	for _, x := range a.by {
		l = append(l, *x)
	}
	slices.SortFunc(l, func(x, y Accuracy) int { return cmp.Or(cmp.Compare(x.Op, y.Op), cmp.Compare(x.Type, y.Type)) })
	return l
}

// ulp returns the distance between adjacent numbers of a type at the magnitude of f.
func ulp(d dtype.DType, f float64) float64 {
	digits := 23
	switch d {
	case dtype.F64:
		digits = 52
	case dtype.F16:
		digits = 10
	case dtype.BF16:
		digits = 7
	}
	_, e := math.Frexp(max(math.Abs(f), d.LeastNormal()))
	return math.Ldexp(1, e-1-digits)
}
