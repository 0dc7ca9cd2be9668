package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
)

// python is the interpreter that BURN_PYTHON names, if it has what the Python backends need.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("BURN_PYTHON")
	if path == "" {
		t.Skip("BURN_PYTHON names no Python with grpcio, numpy and cryptography; make backends makes one")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the launcher is a shell script")
	}
	if out, err := exec.Command(path, "-c", "import grpc, numpy, cryptography").CombinedOutput(); err != nil {
		t.Skipf("%s lacks grpcio, numpy or cryptography: %v: %s", path, err, out)
	}
	return path
}

// By default the core profile runs; BURN_TEST_CASES selects other cases.
func TestNumpy(t *testing.T) {
	python(t)
	dir := pluginPath(t)
	launcher, err := filepath.Abs("numpy/burn-backend-numpy")
	require.NoError(t, err)
	script := "#!/bin/sh\nexec '" + launcher + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-numpy"), []byte(script), 0o755))
	r, err := check("process:numpy", os.Getenv("BURN_TEST_CASES"), host.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Write(os.Stdout))
	require.Empty(t, failures(r))
}

func TestNumpyDevices(t *testing.T) {
	python(t)
	pluginPath(t)
	launcher, err := filepath.Abs("numpy")
	require.NoError(t, err)
	for _, s := range host.Devices(t.Context(), host.Options{Dirs: []string{launcher}}) {
		if s.Name == "numpy" {
			require.Equal(t, host.Ready, s.State, "%+v", s.Failure)
			require.Equal(t, "NumPy", s.Devices[0].Detail)
			return
		}
	}
	t.Fatal("numpy is not listed")
}
