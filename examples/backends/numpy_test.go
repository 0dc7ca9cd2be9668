package backends_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client/contain"
)

// python returns the interpreter in BURN_PYTHON, if it has the packages that the Python backends need.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("BURN_PYTHON")
	if path == "" {
		t.Skip("BURN_PYTHON is not set: it names a Python with grpcio, numpy and cryptography; make backends makes one")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the launcher is a shell script")
	}
	if out, err := exec.Command(path, "-c", "import grpc, numpy, cryptography").CombinedOutput(); err != nil {
		t.Skipf("%s lacks grpcio, numpy or cryptography: %v: %s", path, err, out)
	}
	return path
}

// The core profile runs by default; BURN_TEST_CASES selects other cases.
func TestNumpy(t *testing.T) {
	t.Parallel()
	python(t)
	dir := t.TempDir()
	launcher, err := filepath.Abs("numpy/burn-backend-numpy")
	require.NoError(t, err)
	script := "#!/bin/sh\nexec '" + launcher + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-numpy"), []byte(script), 0o755))
	manifest := fmt.Sprintf("name = \"numpy\"\n[needs]\nread = [%q]\n", filepath.Dir(launcher)) // the launcher is not beside the script
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-numpy.toml"), []byte(manifest), 0o644))
	r, err := check("process:numpy", os.Getenv("BURN_TEST_CASES"), host.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	require.NoError(t, r.Write(os.Stdout))
	require.Empty(t, failures(r))
}

func TestNumpyDevices(t *testing.T) {
	t.Parallel()
	python(t)
	launcher, err := filepath.Abs("numpy")
	require.NoError(t, err)
	for _, s := range host.Devices(t.Context(), host.Options{Dirs: []string{launcher}}) {
		if s.Name == "numpy" {
			require.Equal(t, host.Ready, s.State, "%+v", s.Failure)
			require.Equal(t, "NumPy", s.Devices[0].Detail)
			if runtime.GOOS == "linux" && len(contain.Probe().Missing()) == 0 {
				require.Empty(t, s.Containment.Missing())
			}
			return
		}
	}
	t.Fatal("numpy is not listed")
}
