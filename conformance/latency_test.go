package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/internal/delayed"
	"github.com/goburn/burn/core"
)

// checkParts checks the cases of several patterns at the same time, each pattern on its own backend, and returns the number of cases
// that passed. Running them at the same time saves time because the cases of a slow device wait more than they compute.
func checkParts(t *testing.T, open func() (core.Backend, error), parts []string) (passed int) {
	t.Helper()
	reports, errs := make([]*conformance.Report, len(parts)), make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() {
			reports[i], errs[i] = conformance.Check(t.Context(), open, conformance.Options{Profile: conformance.Core, Run: part, Shrink: -1})
		})
	}
	all.Wait()
	for i, r := range reports {
		require.NoError(t, errs[i], parts[i])
		for _, x := range r.Results {
			require.NotEqual(t, conformance.Failed, x.Status, "%s: %s", x.ID, x.Reason)
		}
		require.NotZero(t, r.Passed, parts[i])
		passed += r.Passed
	}
	return passed
}

// A device that takes 2 or 5 ms for every piece of work passes: no case of the contract depends on speed. The test runs the f32 cases
// of four ops, and of all ops with BURN_CONFORMANCE_FULL.
func TestLatencyPasses(t *testing.T) {
	t.Parallel()
	parts := []string{"^stream/[^o]", "^(errors|close)/", "^cancel/", "^tickets/[a-e]", "^tickets/f", "^tickets/[g-n]", "^tickets/[^a-n]", "^(add|matmul|sort|sum)/f32/[^/]+/plain$"}
	least := 100
	if sampled(4) == 1 {
		parts, least = parts[:len(parts)-1], 700
		for _, area := range []string{"stream/o", "lifecycle", "concurrent", "program", "events", "ownership", "donation", "blame", "refused", "peer", "collective", "profiling", "host"} {
			parts = append(parts, "^"+area)
		}
		for _, letters := range []string{"ab", "c", "d-f", "g-k", "l", "mn", "o-q", "rs", "t-z"} {
			parts = append(parts, "^["+letters+"][a-z0-9_]*/f32/[^/]+/plain$")
		}
	}
	for _, latency := range []time.Duration{2 * time.Millisecond, 5 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			open := func() (core.Backend, error) { return delayed.New(&delayed.Driver{Delay: latency}), nil }
			require.Greater(t, checkParts(t, open, parts), least)
		})
	}
}

// A case that fails only because the device is slow is reported as a hang, and it makes no other case fail.
func TestLatencyIsTold(t *testing.T) {
	for delay := 5 * time.Millisecond; ; delay *= 4 {
		limit := 60 * delay
		open := func() (core.Backend, error) { return delayed.New(&delayed.Driver{Delay: delay}), nil }
		r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^stream/(order|free)$", Timeout: limit})
		require.NoError(t, err)
		status := map[string]conformance.Result{}
		for _, x := range r.Results {
			status[x.ID] = x
		}
		if strings.Contains(status["stream/free"].Reason, "hang:") && limit < 15*time.Second {
			continue // on a busy machine the limit is too short for any case
		}
		requireStatus(t, conformance.Passed, status["stream/free"])
		require.Contains(t, status["stream/order"].Reason, fmt.Sprintf("hang: the case takes longer than %v", limit))
		break
	}
}
