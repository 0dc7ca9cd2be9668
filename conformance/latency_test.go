package conformance_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/internal/delayed"
	"github.com/goburn/burn/core"
)

// A device that takes 2 or 5 ms for every piece of work passes: no case of the contract asks how fast it is. Ops have some of theirs run.
func TestLatencyPasses(t *testing.T) {
	contract := "^(stream/[^o]|errors|cancel|close|tickets)|^(add|matmul|sort|sum)/f32/[^/]+/plain$"
	if sampled() == 1 {
		contract = "^(stream|lifecycle|errors|cancel|concurrent|close|program|events|ownership|donation|tickets|blame|refused|peer|collective|profiling|host)/|/f32/[^/]+/plain$"
	}
	for _, latency := range []time.Duration{2 * time.Millisecond, 5 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			open := func() (core.Backend, error) { return delayed.New(&delayed.Driver{Delay: latency}), nil }
			r, err := conformance.Check(context.Background(), open, conformance.Options{Profile: conformance.Core, Run: contract})
			require.NoError(t, err)
			if err := r.Err(); err != nil {
				require.NoError(t, r.Write(os.Stdout))
				t.Fatal(err)
			}
		})
	}
}

// Where latency is the failure, the report says so: the case is a hang, and no other one fails of it.
func TestLatencyIsTold(t *testing.T) {
	open := func() (core.Backend, error) { return delayed.New(&delayed.Driver{Delay: 5 * time.Millisecond}), nil }
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^stream/(order|free)$", Timeout: 300 * time.Millisecond})
	require.NoError(t, err)
	status := map[string]conformance.Result{}
	for _, x := range r.Results {
		status[x.ID] = x
	}
	require.Equal(t, conformance.Passed, status["stream/free"].Status)
	require.Contains(t, status["stream/order"].Reason, "hang: the case takes longer than 300ms")
}
