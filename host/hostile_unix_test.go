//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
)

// No file in a searched folder blocks the search, and Find still finds the other plugins of the folder.
func TestHostileFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipe", "deep", "wide", "good"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-"+name), nil, 0o700))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "burn-backend-pipe.toml"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "burn-backend-program"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-deep.toml"), []byte("name = "+strings.Repeat("[", 2<<20)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-wide.toml"), []byte("a"+strings.Repeat(".a", 30<<10)+" = 1"), 0o600))
	found := make(chan []host.Plugin, 1)
	go func() {
		winners, _ := host.Find(host.Options{Dirs: []string{dir}})
		found <- winners
	}()
	select {
	case winners := <-found:
		failures := map[string]*host.Failure{}
		for _, p := range winners {
			if filepath.Dir(p.Path) == dir {
				failures[p.Name] = p.Check()
			}
		}
		require.Len(t, failures, 4)
		require.Nil(t, failures["good"])
		for name, want := range map[string]string{"pipe": "want a regular file, got a named pipe", "deep": "want at most 16384 bytes", "wide": "want at most 16384 bytes"} {
			require.NotNil(t, failures[name], name)
			require.Equal(t, host.CauseManifest, failures[name].Cause)
			require.ErrorContains(t, failures[name], want)
		}
	case <-time.After(time.Minute):
		t.Fatal("the search hangs")
	}
}
