package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/internal/pair"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// narrow reduces the capabilities of the reference to those of an NPU: primitives on f32, i32 and bool up to rank 5.
func narrow(c *core.Capabilities) {
	const rank = 5
	types := dtype.SetOf(dtype.F32, dtype.I32, dtype.Bool)
	c.Types, c.Limits.Rank = types, rank
	for name, claim := range c.Ops {
		code, _ := op.ByName(name)
		if row := op.Lookup(code); row.Class != op.Primitive || code == op.Sort || code == op.ArgMax || code == op.ArgMin {
			delete(c.Ops, name) // the host computes composites, and the other three ops have results of i64
			continue
		}
		for _, sets := range [][]dtype.Set{claim.Operands, claim.Results} {
			for i := range sets {
				sets[i] &= types
			}
		}
	}
}

func verdict(r *conformance.Report, p conformance.Profile) conformance.Verdict {
	for _, x := range r.Profiles {
		if x.Profile == p {
			return x.Verdict
		}
	}
	return ""
}

// A device without i64, u8 and ranks above 5 passes the level inference-f32 and fails the level core.
func TestInferenceLevel(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Declaring(narrow))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Profile: conformance.InferenceF32})
	require.NoError(t, err)
	if err := r.Err(); err != nil {
		require.NoError(t, r.Write(os.Stdout))
		t.Fatal(err)
	}
	require.Equal(t, conformance.Pass, verdict(r, conformance.InferenceF32))
	require.Greater(t, r.Passed, 2000)
	for _, x := range r.Results {
		require.False(t, x.Status == conformance.Skipped && x.Op != "" && !x.Moot, "%s: %s", x.ID, x.Reason)
	}

	r, err = conformance.Check(context.Background(), open, conformance.Options{Profile: conformance.Core, Run: "^claims/"})
	require.NoError(t, err)
	failed := map[string]bool{}
	for _, x := range r.Results {
		failed[x.ID] = x.Status == conformance.Failed
	}
	require.True(t, failed["claims/document"] && failed["claims/sort"] && failed["claims/add"])
	require.Equal(t, conformance.Fail, verdict(r, conformance.Core))
}

// Each device of a backend has its own capabilities: one passes core and the other fails it, and the package contains the capability
// documents of both.
func TestCapabilitiesPerDevice(t *testing.T) {
	t.Parallel()
	open := func() (core.Backend, error) { return pair.New(ref.New(), ref.New(ref.Declaring(narrow))), nil }
	for device, want := range []struct {
		status conformance.Status // of the cases that check the requirements of core
	}{{conformance.Passed}, {conformance.Failed}} {
		r, err := conformance.Check(t.Context(), open, conformance.Options{Device: device, Run: "^(claims|level)/"})
		require.NoError(t, err)
		for _, x := range r.Results {
			switch x.ID {
			case "claims/document", "claims/sort":
				require.Equal(t, want.status, x.Status, "device %d: %s: %s", device, x.ID, x.Reason)
			case "level/inference-f32/document", "level/inference-f32/matmul":
				require.Equal(t, conformance.Passed, x.Status, "device %d: %s: %s", device, x.ID, x.Reason)
			}
		}
	}

	r, err := conformance.Check(t.Context(), open, conformance.Options{Device: 1, Profile: conformance.InferenceF32, Sample: 200})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	path := filepath.Join(t.TempDir(), "report")
	_, err = r.WritePackage(path)
	require.NoError(t, err)
	m, err := conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrIncomplete, "it is a sample")
	require.Equal(t, 1, m.Disclosure.Device)
	require.Len(t, m.Disclosure.Devices, 2)
	wide, small := m.Disclosure.Devices[0].Capabilities, m.Disclosure.Devices[1].Capabilities
	require.Equal(t, []int{8, 5}, []int{wide.Limits.Rank, small.Limits.Rank})
	require.Contains(t, wide.Ops, "sort")
	require.NotContains(t, small.Ops, "sort")
	require.NotContains(t, small.Types, "i64")
	require.Equal(t, *small, m.Capabilities, "the manifest has the capabilities of the device under test")
}

// A device that lacks one requirement of a level fails exactly the case of that requirement.
func TestInferenceLevelRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Capabilities){
		"level/inference-f32/document": func(c *core.Capabilities) { c.Limits.Rank = 4 },
		"level/inference-f32/matmul":   func(c *core.Capabilities) { delete(c.Ops, "matmul") },
		"level/inference-f32/where":    func(c *core.Capabilities) { delete(c.Ops, "where") },
	} {
		open := openRef(ref.Declaring(func(c *core.Capabilities) { narrow(c); change(c) }))
		r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^level/"})
		require.NoError(t, err)
		require.Equal(t, 1, r.Failed, name)
		for _, x := range r.Results {
			require.Equal(t, x.ID == name, x.Status == conformance.Failed, x.ID)
		}
	}
}

// Each level has all cases of the level before it, except the cases that check a requirement of that earlier level alone.
func TestLevelsNest(t *testing.T) {
	t.Parallel()
	ids := func(p conformance.Profile) map[string]bool {
		l, err := conformance.IDs(conformance.Options{Profile: p})
		require.NoError(t, err)
		m := map[string]bool{}
		for _, id := range l {
			m[id] = true
		}
		return m
	}
	levels := conformance.Levels()
	for i := range levels[1:] {
		small, large := ids(levels[i]), ids(levels[i+1])
		require.Less(t, len(small), len(large))
		for id := range small {
			require.True(t, large[id] || len(id) > 6 && id[:6] == "level/", id)
		}
	}
}
