package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// claimCases check what the backend says of itself.
func claimCases(b core.Backend) []testCase {
	cases := []testCase{
		{"claims/info", func(context.Context, *queue) error { return checkInfo(b.Info()) }},
		{"claims/document", func(context.Context, *queue) error { return checkDocument(b.Capabilities()) }},
		{"claims/no-device", func(ctx context.Context, _ *queue) error {
			for _, i := range []int{-1, len(b.Info().Devices)} {
				if _, err := b.OpenStream(ctx, i); !errors.Is(err, core.ErrNotFound) {
					return fmt.Errorf("stream on device %d: error is %v, want %v", i, err, core.ErrNotFound)
				}
			}
			return nil
		}},
	}
	caps := b.Capabilities()
	for _, c := range op.All() {
		if row := op.Lookup(c); row.Class == op.Primitive {
			cases = append(cases, testCase{"claims/" + row.Name, func(context.Context, *queue) error { return checkPrimitive(caps, row) }})
		}
	}
	return cases
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

// checkPrimitive checks that a primitive is there for every required type that its row takes.
func checkPrimitive(c *core.Capabilities, row *op.Row) error {
	claim, ok := c.Ops[row.Name]
	if !ok {
		return fmt.Errorf("primitive %s is not claimed", row.Name)
	}
	need := dtype.Set(dtype.Required)
	switch {
	case row.Name == op.RandomBits.String():
		need = dtype.SetOf(dtype.I32)
	case row.Name == op.Iota.String():
		need &= dtype.Numbers
	case len(row.Operands) > 0:
		need &= row.Operands[0].Types
	}
	if missing := need &^ claim.Types; missing != 0 {
		return fmt.Errorf("primitive %s is not claimed for %v", row.Name, missing)
	}
	return nil
}
