package cuda_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda"
)

// open opens the backend for a test. Without a device it skips the test, with the reason.
func open(t testing.TB, options map[string]string) core.Backend {
	b, err := cuda.New(core.Config{Options: options})
	if err != nil {
		t.Skipf("no device to run this on: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestConformance compares a real device with the reference backend, on one in BURN_CUDA_SAMPLE (16 by default) of the cases that match the
// regular expression BURN_CUDA_RUN.
func TestConformance(t *testing.T) {
	for _, d := range open(t, nil).Info().Devices {
		t.Log(d)
	}
	o := conformance.Options{Run: os.Getenv("BURN_CUDA_RUN"), Sample: 16}
	if text := os.Getenv("BURN_CUDA_SAMPLE"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		o.Sample = n
	}
	conformance.Run(t, func() (core.Backend, error) { return cuda.New(core.Config{}) }, o)
}

// TestPlain compares a real device with the reference backend on a few programs, with the option plain: the host waits for each kernel.
func TestPlain(t *testing.T) {
	open(t, nil)
	conformance.Run(t, func() (core.Backend, error) {
		return cuda.New(core.Config{Options: map[string]string{"plain": "true"}})
	},
		conformance.Options{Run: "^(add|matmul|softmax|conv)/f32/.*/program$", Sample: 16})
}
