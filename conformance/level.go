package conformance

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// level contains the element types and the rank that a profile requires of a device.
type level struct {
	types dtype.Set
	rank  int
}

var (
	// coreLevel is required of every backend that is to run any model.
	coreLevel = level{dtype.Required, shape.MaxRank}
	// inferenceLevel is for hardware that runs networks in f32. It requires neither i64 nor u8. Indices are i32.
	inferenceLevel = level{dtype.SetOf(dtype.F32, dtype.I32, dtype.Bool), 5}
)

// Levels returns the profiles that say how much a backend can be used for. Each includes the requirements of the previous one.
func Levels() []Profile { return []Profile{InferenceF32, Core, All} }

// holds reports whether a device of the level can run the case.
func (l level) holds(c testCase) bool {
	if c.types&^l.types != 0 {
		return false
	}
	if c.spec == nil {
		return true
	}
	ranks := c.spec.in
	if n, err := c.spec.node(c.spec.in); err == nil {
		ranks = append(ranks[:len(ranks):len(ranks)], n.Outputs...)
	}
	for _, d := range ranks {
		if len(d.Shape) > l.rank {
			return false
		}
	}
	return true
}

// inInference reports whether the case belongs to the profile of inferenceLevel.
func (c testCase) inInference() bool {
	if c.level != "" {
		return c.level == InferenceF32
	}
	if c.training || !inferenceLevel.holds(c) {
		return false
	}
	return c.op == op.NoOp || op.Lookup(c.op).Class == op.Primitive && !op.Lookup(c.op).Traits.Has(op.Quantized)
}

// checkLevel checks that a capability document meets the requirements of a level.
func checkLevel(c *core.Capabilities, l level) error {
	if missing := l.types &^ c.Types; missing != 0 {
		return fmt.Errorf("types %v are missing; every backend of the level has %v", missing, l.types)
	}
	if c.Limits.Rank < l.rank || c.Limits.Rank > shape.MaxRank {
		return fmt.Errorf("greatest rank is %d, want %d to %d", c.Limits.Rank, l.rank, shape.MaxRank)
	}
	return nil
}

// levelCases check the claims that inferenceLevel requires. The cases with ids claims/... check the claims that coreLevel requires.
func levelCases() []testCase {
	cases := []testCase{contract("level/"+string(InferenceF32)+"/document", func(_ context.Context, q *queue) error {
		if err := checkLevel(q.dev.Capabilities(), inferenceLevel); err != nil {
			return err
		}
		return checkSense(q.dev.Capabilities())
	})}
	for _, c := range op.All() {
		row := op.Lookup(c)
		if row.Class != op.Primitive || !inferenceOps()[c] {
			continue
		}
		cases = append(cases, contract("level/"+string(InferenceF32)+"/"+row.Name, func(_ context.Context, q *queue) error {
			return checkPrimitive(q.dev.Capabilities(), row, inferenceLevel.types)
		}))
	}
	for i := range cases {
		cases[i].level = InferenceF32
	}
	return cases
}

// inferenceOps contains the primitives with at least one node that uses only the types of inferenceLevel. Argmax is not one of them, because
// its result is i64.
var inferenceOps = sync.OnceValue(func() map[op.Code]bool {
	ops := map[op.Code]bool{}
	for _, c := range op.All() {
		p, ok := planOf(c)
		if row := op.Lookup(c); !ok || row.Class != op.Primitive {
			continue
		}
		for _, first := range (firstTypes(op.Lookup(c)) & inferenceLevel.types).List() {
			for _, x := range opCases(c, p, first) {
				ops[c] = ops[c] || inferenceLevel.holds(x)
			}
		}
	}
	return ops
})
