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

// A device whose Submit only queues work, and which learns of failures late, passes the suite. The suite checks that it blames only
// nodes that failed; the test checks that it releases every value exactly once.
func TestDelayedPasses(t *testing.T) {
	t.Parallel()
	driver := new(delayed.Driver)
	open := func() (core.Backend, error) { return delayed.New(driver), nil }
	sample := 8
	if !testing.Short() {
		sample = sampled(4)
	}
	r, err := conformance.Check(context.Background(), open, conformance.Options{Profile: conformance.Core, Sample: sample})
	require.NoError(t, err)
	if err := r.Err(); err != nil {
		require.NoError(t, r.Write(os.Stdout))
		t.Fatal(err)
	}
	require.Greater(t, r.Passed, 1000)
	require.Zero(t, driver.Twice(), "values that were released twice")
	require.Zero(t, driver.Live(), "values that were never released")
}

// A device with slow queues passes the cases of events, tickets, ownership, blame and collectives: the order between streams is
// kept no matter how late the work is done.
func TestSlowQueuesPass(t *testing.T) {
	t.Parallel()
	open := func() (core.Backend, error) { return delayed.New(&delayed.Driver{Delay: 20 * time.Microsecond}), nil }
	checkParts(t, open, []string{"^events/[a-c]", "^events/[^a-c]", "^tickets/[a-f]", "^tickets/[^a-f]", "^(donation|ownership)/", "^(blame|refused|peer)/", "^(collective|profiling)/"})
}
