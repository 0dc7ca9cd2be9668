package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// addFacts adds the driver version and the clocks of NVIDIA GPUs to the report, and nothing if nvidia-smi is missing or fails.
func TestAddFacts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the tool of this test is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	r := &conformance.Report{}
	addFacts(t.Context(), r)
	require.Empty(t, r.Machine.Facts)

	tool := filepath.Join(dir, "nvidia-smi")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\necho 'NVIDIA H200, 570.1, 96.0, 1980 MHz, 3201 MHz, 1980 MHz, 3201 MHz, 700.00 W, Enabled'\n"), 0o755))
	addFacts(t.Context(), r)
	require.Equal(t, "570.1", r.Machine.Facts["gpu0.driver_version"])
	require.Equal(t, "1980 MHz", r.Machine.Facts["gpu0.clocks.sm"])

	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\nfor i in 0 1 2 3 4 5 6 7 8 9 10; do echo \"GPU $i, 570.1\"; done\n"), 0o755))
	addFacts(t.Context(), r)
	require.Equal(t, "GPU 0", r.Machine.Facts["gpu0.name"])
	require.Equal(t, "GPU 10", r.Machine.Facts["gpu10.name"])

	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\nexit 9\n"), 0o755))
	r = &conformance.Report{}
	addFacts(t.Context(), r)
	require.Empty(t, r.Machine.Facts)
}
