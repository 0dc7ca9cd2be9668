package conformance_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/internal/small"
	"github.com/goburn/burn/core"
)

func checkSmall(t *testing.T, d small.Driver, o conformance.Options) *conformance.Report {
	t.Helper()
	o.Shrink = -1
	r, err := conformance.Check(context.Background(), func() (core.Backend, error) { return small.New(&d), nil }, o)
	require.NoError(t, err)
	return r
}

// A device of 1 MiB passes the core profile: only large cases need more memory, and memory that cases leave behind does not add up.
func TestSmallMemoryPasses(t *testing.T) {
	t.Parallel()
	r := checkSmall(t, small.Driver{Memory: 1 << 20, Stated: 1 << 20}, conformance.Options{Profile: conformance.Core, Sample: sampled(4)})
	if err := r.Err(); err != nil {
		require.NoError(t, r.Write(os.Stdout))
		t.Fatal(err)
	}
	large := map[conformance.Status]int{}
	for _, x := range r.Results {
		if strings.Contains(x.ID, "/large-") {
			large[x.Status]++
			continue
		}
		require.NotContains(t, x.Reason, "bytes of memory", x.ID)
	}
	require.NotZero(t, large[conformance.Skipped])
	if sampled(4) == 1 {
		require.NotZero(t, large[conformance.Passed], "sums of 800,000 bytes fit into the memory")
	}
}

// Cases that need more memory than a device says it has are skipped and disclosed beside the verdict. On a device that does not
// state its memory they are failures.
func TestSmallMemoryIsTold(t *testing.T) {
	t.Parallel()
	const run = "^stream/round-trip/(f32|i64|bool)$"
	r := checkSmall(t, small.Driver{Memory: 64 << 10, Stated: 64 << 10}, conformance.Options{Run: run})
	require.Equal(t, 3, r.Skipped, "%+v", r.Results)
	const reason = "the case creates tensors of more bytes than the 65536 bytes of memory that the device states"
	require.Contains(t, r.Disclosure().Holes, conformance.Hole{Profile: conformance.Core, Reason: reason, Cases: 3})
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	require.Regexp(t, `(?m)^profile core .*\n    3 not tested: `+reason+`$`, b.String())

	r = checkSmall(t, small.Driver{Memory: 64 << 10}, conformance.Options{Run: run})
	require.Equal(t, 3, r.Failed)
}

// A device that leaks memory when a node fails for lack of memory is caught: later work on the stream finds no memory.
func TestSmallMemoryLost(t *testing.T) {
	t.Parallel()
	r := checkSmall(t, small.Driver{Memory: 1 << 20, Stated: 1 << 20, Lost: 1 << 20}, conformance.Options{Run: "^(lifecycle/out-of-memory|errors/read-short)$"})
	require.Equal(t, 1, r.Failed)
	require.Equal(t, "lifecycle/out-of-memory", r.Results[0].ID)
	require.Contains(t, r.Results[0].Reason, "the stream does not go on")
	require.Equal(t, conformance.Passed, r.Results[1].Status, "the failure of one case does not fail the next")
}
