package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// claimCases check what the backend says of itself.
func claimCases() []testCase {
	cases := []testCase{
		contract("claims/info", func(_ context.Context, q *queue) error { return checkInfo(q.backend.Info()) }),
		contract("claims/document", func(_ context.Context, q *queue) error { return checkDocument(q.backend.Capabilities()) }),
		contract("claims/features", checkFeatures),
		contract("claims/no-device", func(ctx context.Context, q *queue) error {
			for _, i := range []int{-1, len(q.backend.Info().Devices)} {
				if _, err := q.backend.OpenStream(ctx, i); !errors.Is(err, core.ErrNotFound) {
					return fmt.Errorf("stream on device %d: error is %v, want %v", i, err, core.ErrNotFound)
				}
			}
			return nil
		}),
	}
	for _, c := range op.All() {
		if row := op.Lookup(c); row.Class == op.Primitive {
			cases = append(cases, contract("claims/"+row.Name, func(_ context.Context, q *queue) error { return checkPrimitive(q.backend.Capabilities(), row) }))
		}
	}
	return cases
}

// checkFeatures: a feature is named when, and only when, the stream has its interface.
func checkFeatures(_ context.Context, q *queue) error {
	named := q.backend.Capabilities().Features
	_, programs := core.As[core.Programs](q.Stream)
	_, memory := core.As[core.MemoryStats](q.Stream)
	for name, has := range map[string]bool{"programs": programs, "memory_stats": memory} {
		if slices.Contains(named, name) != has {
			return fmt.Errorf("feature %q: named is %v, the stream has it is %v", name, slices.Contains(named, name), has)
		}
	}
	return nil
}

func checkInfo(i core.Info) error {
	if i.Name == "" || i.Version == "" || len(i.Devices) == 0 {
		return fmt.Errorf("info lacks a name, a version or devices: %+v", i)
	}
	for k, d := range i.Devices {
		if d.Index != k || d.Name == "" || d.Kind == "" {
			return fmt.Errorf("device %d lacks a name or a kind, or has another index: %+v", k, d)
		}
	}
	return nil
}

func checkDocument(c *core.Capabilities) error {
	if missing := dtype.Required &^ c.Types; missing != 0 {
		return fmt.Errorf("types %v are missing; every backend has %v", missing, dtype.Set(dtype.Required))
	}
	if c.MaxRank != shape.MaxRank {
		return fmt.Errorf("greatest rank is %d, want %d", c.MaxRank, shape.MaxRank)
	}
	for name, claim := range c.Ops {
		code, ok := op.ByName(name)
		if !ok {
			return fmt.Errorf("op %s is not in the table", name)
		}
		if row := op.Lookup(code); claim.Version != row.Version {
			return fmt.Errorf("op %s has version %d, want %d", name, claim.Version, row.Version)
		}
	}
	return nil
}

// createdTypes is the types that ops without operands make.
var createdTypes = map[string]dtype.Set{
	op.Full.String(): dtype.Any, op.Iota.String(): dtype.Numbers, op.RandomBits.String(): dtype.SetOf(dtype.I32, dtype.U32),
}

// checkPrimitive checks that a primitive is there for every required type that its row takes.
func checkPrimitive(c *core.Capabilities, row *op.Row) error {
	claim, ok := c.Ops[row.Name]
	if !ok {
		return fmt.Errorf("primitive %s is not claimed", row.Name)
	}
	need := firstTypes(row) & dtype.Required
	if missing := need &^ claim.Types; missing != 0 {
		return fmt.Errorf("primitive %s is not claimed for %v", row.Name, missing)
	}
	return nil
}
