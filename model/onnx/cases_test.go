package onnx_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx/onnxtest"
)

// drawn lists the cases whose expected outputs come from another random number generator.
var drawn = map[string]bool{
	"test_bernoulli": true, "test_bernoulli_expanded": true, "test_bernoulli_double": true, "test_bernoulli_double_expanded": true,
	"test_bernoulli_seed": true, "test_bernoulli_seed_expanded": true,
}

// TestOfficialCases runs an unpacked tree of ONNX backend tests. The reference computes on one goroutine and takes 20 s of a
// processor for the largest convolution, so that short runs, such as those under the race detector, leave it out.
func TestOfficialCases(t *testing.T) {
	root := os.Getenv("BURN_ONNX_CASES")
	if root == "" {
		t.Skip("BURN_ONNX_CASES is not set: it names the folder of the unpacked ONNX backend tests")
	}
	cases, err := onnxtest.Find(root)
	require.NoError(t, err)
	names := backends
	if testing.Short() {
		names = backends[len(backends)-1:]
	}
	for _, name := range names {
		dev := openBackend(t, name)
		for _, c := range cases {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				switch r := onnxtest.Run(t.Context(), dev, c, onnxtest.Options{Timeout: 10 * time.Minute}); {
				case r.Status == onnxtest.Skipped:
					t.Skip("the case is not for this reader: ", r.Reason)
				case r.Status == onnxtest.Failed && drawn[c.Name] && r.Mismatch != nil:
					t.Skip("the expected values were drawn at random: ", r.Reason)
				case r.Status == onnxtest.Failed:
					t.Error(r.Reason, r.Stack)
				}
			})
		}
	}
}
