package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client/contain"
)

// status returns the Status that Devices reports for a plugin.
func status(t *testing.T, name string, o Options) Status {
	t.Helper()
	for _, s := range Devices(context.Background(), o) {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s is not listed", name)
	return Status{}
}

func measure(t *testing.T, s Status, name string) contain.Measure {
	t.Helper()
	for _, m := range s.Containment {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s is not reported: %+v %v", name, s.Containment, s.Failure)
	return contain.Measure{}
}

// A plugin is confined unless Containment or Uncontained excludes it. The needs in its manifest extend its permissions.
func TestContainment(t *testing.T) {
	if runtime.GOOS != "linux" || len(contain.Probe().Missing()) > 0 {
		t.Skip("this system does not support all measures of containment")
	}
	dir := isolate(t)
	put(t, dir, "fake", "name = \"fake\"\n[needs]\nnetwork = true\ndevices = [\"/dev/ptm*\"]\nread = [\"/srv\"]\n")
	s := status(t, "fake", Options{})
	require.Empty(t, s.Containment.Missing())
	require.Contains(t, measure(t, s, contain.Network).Detail, "all, as it asks for")
	require.Equal(t, "/dev/ptmx", measure(t, s, contain.Devices).Detail)
	require.Contains(t, measure(t, s, contain.Files).Detail, "/srv")
	for _, o := range []Options{{Containment: ContainOff}, {Containment: ContainStrict, Uncontained: []string{"other", "fake"}}} {
		s = status(t, "fake", o)
		require.Equal(t, Ready, s.State)
		require.Len(t, s.Containment.Missing(), 5)
	}
	require.Equal(t, Ready, status(t, "fake", Options{Containment: ContainStrict}).State)
	require.Equal(t, Failed, status(t, "fake", Options{Containment: "maybe"}).State)

	put(t, dir, "plain", "name = \"plain\"\n")
	s = status(t, "plain", Options{})
	require.Contains(t, measure(t, s, contain.Network).Detail, "none")
	require.Contains(t, measure(t, s, contain.Devices).Detail, "none but null")
}

// A manifest whose needs name a device outside /dev, or a path that is relative, not clean or malformed, is an error.
func TestBadNeeds(t *testing.T) {
	dir := isolate(t)
	for name, needs := range map[string]string{"a": `devices = ["/etc/*"]`, "b": `devices = ["/dev/../etc/shadow"]`, "c": `read = ["relative"]`, "d": `write = ["~/"]`,
		"e": `read = ["/srv/../etc"]`, "f": `devices = ["/dev/["]`, "g": `network = 3`} {
		put(t, dir, name, "name = \""+name+"\"\n[needs]\n"+needs+"\n")
		s := status(t, name, Options{})
		require.Equal(t, Failed, s.State, needs)
		require.Equal(t, CauseManifest, s.Failure.Cause, "%s: %v", needs, s.Failure)
		require.ErrorIs(t, s.Failure, core.ErrNotFound)
	}
}

// A confined script can execute a file in its own folder, and not one in another folder.
func TestContainedScript(t *testing.T) {
	if runtime.GOOS != "linux" || len(contain.Probe().Missing()) > 0 {
		t.Skip("this system does not support all measures of containment")
	}
	dir, elsewhere := isolate(t), t.TempDir()
	put(t, elsewhere, "real", "")
	self, err := os.Executable()
	require.NoError(t, err)
	for _, target := range []string{dir, elsewhere} {
		require.NoError(t, os.WriteFile(filepath.Join(target, "helper"), []byte("#!/bin/sh\nexec '"+self+"'\n"), 0o755))
	}
	t.Setenv(fakeplugin.Env, fakeplugin.Good)
	for name, target := range map[string]string{"beside": dir, "elsewhere": elsewhere} {
		script := "#!/bin/sh\nexec '" + filepath.Join(target, "helper") + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe(name)), []byte(script), 0o755))
		manifest := "name = \"" + name + "\"\n[needs]\nread = [\"" + self + "\"]\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe(name)+".toml"), []byte(manifest), 0o644))
	}
	require.Equal(t, Ready, status(t, "beside", Options{}).State)
	s := status(t, "elsewhere", Options{})
	require.Equal(t, Failed, s.State)
	require.Contains(t, s.Failure.Detail, "ermission denied")
	require.Contains(t, s.Failure.Remedy, `plugin_containment = "on except elsewhere"`)
}
