package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/long"
)

// rust builds the Rust backend and returns the folder with the result. Cargo's output is kept in the user's cache folder, because a first
// build takes minutes. The test needs cargo and, without a warm cache, its registry.
func rust(t *testing.T) string {
	t.Helper()
	if !long.Tests() {
		t.Skip("BURN_LONG is not set: cargo builds the example and its crates in two minutes and more; make backends sets it")
	}
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		t.Skip("cargo is not in PATH: this test builds the example with it")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the example listens on a unix socket")
	}
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		target = filepath.Join(cache, "burn", "example-rust")
	}
	fetch := exec.Command(cargo, "fetch", "--locked")
	fetch.Dir = "rust"
	if text, err := fetch.CombinedOutput(); err != nil {
		t.Skipf("cargo does not get the crates of the example, which needs its registry or a warm cache: %s", text)
	}
	build := exec.Command(cargo, "build", "--release", "--locked", "--target-dir", target)
	build.Dir = "rust"
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(target, "release", "burn-backend-rusty"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-rusty"), program, 0o755))
	return dir
}

// The core profile runs by default; BURN_TEST_CASES selects other cases.
func TestRust(t *testing.T) {
	t.Parallel()
	dir := rust(t)
	certified(t, filepath.Join(dir, "burn-backend-rusty"))
	r, err := check("process:rusty", os.Getenv("BURN_TEST_CASES"), host.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	require.NoError(t, r.Write(os.Stdout))
	require.Empty(t, failures(r))
}
