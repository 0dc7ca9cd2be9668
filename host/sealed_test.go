package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/sealed"
	"github.com/goburn/burn/sdk/client"
)

// copied copies this test binary into dir as a plugin, with its hash in the manifest.
func copied(t *testing.T, dir, name string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(self)
	require.NoError(t, err)
	defer from.Close()
	path := filepath.Join(dir, exe(name))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, h), from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	sum := hex.EncodeToString(h.Sum(nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, filePrefix+name+".toml"), []byte("sha256 = \""+sum+"\"\n"), 0o644))
	return path
}

// If a plugin file is replaced after the check, the checked content runs, and the next check refuses the file.
func TestSwappedBeforeStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the checked file is held open, see package sealed")
	}
	path := copied(t, isolate(t), "fake")
	winners, _ := Find(Options{})
	require.Len(t, winners, 1)
	f, failure := winners[0].seal(sealed.Execute)
	require.Nil(t, failure)
	defer f.Close()

	evil := path + ".evil"
	require.NoError(t, os.WriteFile(evil, []byte("#!/bin/sh\nexit 66\n"), 0o755))
	require.NoError(t, os.Rename(evil, path))
	ctx := context.Background()
	_, err := client.Start(ctx, path, client.Options{})
	require.Error(t, err, "the swapped file is no plugin")
	b, err := client.Start(ctx, path, client.Options{Image: f.Path()})
	require.NoError(t, err)
	require.NoError(t, b.Close())

	_, err = Open(ctx, "fake", Options{})
	var refused *Failure
	require.ErrorAs(t, err, &refused)
	require.Equal(t, CauseChecksum, refused.Cause)
}

func TestDevelopment(t *testing.T) {
	dir := isolate(t)
	path := copied(t, dir, "fake")
	require.NoError(t, os.WriteFile(filepath.Join(dir, filePrefix+"fake.toml"), []byte(`sha256 = "00"`), 0o644))
	_, err := Open(context.Background(), "fake", Options{})
	require.Error(t, err)
	o := Options{Development: map[string]string{"fake": path}}
	d, err := Open(context.Background(), "process:fake", o)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	winners, shadowed := Find(o)
	require.Equal(t, "development override", winners[0].Origin)
	require.Len(t, shadowed, 1)
	o.Development["fake"] = filepath.Join(dir, "none")
	_, err = Open(context.Background(), "fake", o)
	require.ErrorContains(t, err, "none")
}
