package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// claimCases check the backend's capability document and extensions.
func claimCases() []testCase {
	cases := []testCase{
		contract("claims/info", func(_ context.Context, q *queue) error { return checkInfo(q.backend.Info()) }),
		contract("claims/document", func(_ context.Context, q *queue) error { return checkDocument(q.dev.Capabilities()) }),
		contract("claims/features", checkFeatures),
		contract("claims/no-device", func(ctx context.Context, q *queue) error {
			for _, i := range []int{-1, len(q.backend.Info().Devices)} {
				if _, err := q.backend.Open(ctx, i); !errors.Is(err, core.ErrNotFound) {
					return fmt.Errorf("open of device %d: error is %v, want %v", i, err, core.ErrNotFound)
				}
			}
			return nil
		}),
	}
	for i := range cases {
		if cases[i].id == "claims/document" { // levelCases check the requirements of inferenceLevel
			cases[i].level = Core
		}
	}
	cases = append(cases, documentCases()...)
	for _, c := range op.All() {
		if row := op.Lookup(c); row.Class == op.Primitive {
			x := contract("claims/"+row.Name, func(_ context.Context, q *queue) error {
				return checkPrimitive(q.dev.Capabilities(), row, coreLevel.types)
			})
			x.level = Core
			cases = append(cases, x)
		}
	}
	return cases
}

// checkFeatures checks that the document names a feature if and only if the device has the extension.
func checkFeatures(_ context.Context, q *queue) error {
	named := q.dev.Capabilities().Features
	_, programs := core.Extension[core.Programs](q.dev)
	_, memory := core.Extension[core.MemoryStats](q.dev)
	for name, has := range map[string]bool{"programs": programs, "memory_stats": memory} {
		if slices.Contains(named, name) != has {
			return fmt.Errorf("feature %q: the document names it: %v, the device has the extension: %v; want both or neither", name, slices.Contains(named, name), has)
		}
	}
	return nil
}

func checkInfo(i core.Info) error {
	if i.Name == "" || i.Version == "" || len(i.Devices) == 0 {
		return fmt.Errorf("the backend's info has no name, no version or no devices: %+v", i)
	}
	for k, d := range i.Devices {
		if d.Index != k || d.Name == "" || d.Kind == "" {
			return fmt.Errorf("the info of device %d has no name, no kind or another index: %+v", k, d)
		}
	}
	return nil
}
