package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// builds caches programs by package: the first test that needs a program builds it.
var builds = struct {
	mu     sync.Mutex
	folder string
	files  map[string]string
}{files: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	if builds.folder != "" {
		_ = os.RemoveAll(builds.folder)
	}
	os.Exit(code)
}

// built writes the program of a package to file.
func built(t *testing.T, pkg, file string) {
	t.Helper()
	builds.mu.Lock()
	defer builds.mu.Unlock()
	first, ok := builds.files[pkg]
	if !ok {
		var err error
		if builds.folder == "" {
			builds.folder, err = os.MkdirTemp("", "burn-cli-test")
			require.NoError(t, err)
		}
		first = filepath.Join(builds.folder, fmt.Sprint(len(builds.files)))
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", first, pkg).CombinedOutput()
		require.NoError(t, err, string(out))
		builds.files[pkg] = first
	}
	if os.Link(first, file) == nil {
		return
	}
	program, err := os.ReadFile(first) // copies the program, if the file system has no links or is another one
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, program, 0o755))
}

// buildBurn builds the command burn and returns its path.
func buildBurn(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "burn")
	built(t, "../../cmd/burn", file)
	return file
}
