package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/sdk/wire"
)

func TestMain(m *testing.M) {
	maybeCPU()
	fake.Maybe()
	core.Register("inner", fake.New)
	core.Register("broken", func(core.Config) (core.Backend, error) { return nil, fmt.Errorf("no such card: %w", core.ErrNotFound) })
	core.Register("panics", func(core.Config) (core.Backend, error) { panic("no driver") })
	os.Exit(m.Run())
}

// isolate makes all folders that host searches empty for this test, and returns the folder in BURN_PLUGIN_PATH.
func isolate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(EnvPath, dir)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	t.Setenv(fake.Env, fake.Good)
	return dir
}

func exe(name string) string {
	if runtime.GOOS == "windows" {
		return filePrefix + name + ".exe"
	}
	return filePrefix + name
}

// put links this test binary as a plugin into dir and returns its path. If manifest is not empty, put writes it beside the plugin.
func put(t *testing.T, dir, name, manifest string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(dir, exe(name))
	require.NoError(t, os.Symlink(self, path))
	if manifest != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filePrefix+name+".toml"), []byte(manifest), 0o644))
	}
	return path
}

// works opens the device, synchronizes a stream and closes the device.
func works(p *core.Place) error {
	d, err := p.Open(context.Background())
	if err != nil {
		return err
	}
	s, err := d.OpenStream(context.Background())
	if err != nil {
		return err
	}
	return errors.Join(core.Sync(context.Background(), s), s.Close(), d.Close())
}

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"cpu": {Name: "cpu"}, "cuda:3": {Name: "cuda", Index: 3}, "process:cpu": {Process, "cpu", 0}, "builtin:cpu:1": {Builtin, "cpu", 1},
		"lib-torch_2": {Name: "lib-torch_2"},
	} {
		got, err := ParseSpec(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	require.Equal(t, "process:cpu:2", Spec{Process, "cpu", 2}.String())
	for _, text := range []string{"", ":", "cpu:", "cpu:x", "cpu:-1", "cpu:1:2", "process:", "a/b", "../x", "cpu:99999999999"} {
		_, err := ParseSpec(text)
		require.ErrorIs(t, err, core.ErrNotFound, text)
	}
	_, err := ParseSpec("remote://host:9000/cuda:0")
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "remote://")
}

func TestOpen(t *testing.T) {
	dir, ctx := isolate(t), context.Background()
	put(t, dir, "fake", "")
	put(t, dir, "inner", "")
	for _, c := range []struct{ spec, want, transport string }{
		{"fake", "process:fake:0", Process}, {"process:fake:1", "process:fake:1", Process}, {"inner:1", "builtin:inner:1", Builtin},
		{"builtin:inner", "builtin:inner:0", Builtin}, {"process:inner", "process:inner:0", Process},
	} {
		d, err := Open(ctx, c.spec, Options{Config: core.Config{Threads: 4}})
		require.NoError(t, err, c.spec)
		require.Equal(t, c.want, d.Spec)
		require.Equal(t, c.transport, d.Transport)
		require.Equal(t, "threads 4", d.Backend.Info().Devices[0].Detail)
		_, overWire := d.Backend.(*client.Backend)
		require.Equal(t, c.transport == Process, overWire)
		require.NoError(t, works(d))
		require.NoError(t, d.Close())
	}
	own := map[string]map[string]string{"inner": {"open": "fail"}, "fake": {"open": "fail"}, "other": {"open": "panic"}}
	for _, spec := range []string{"builtin:inner", "process:fake"} { // BackendOptions override the options of Config
		_, err := Open(ctx, spec, Options{BackendOptions: own, Config: core.Config{Options: map[string]string{"open": "ok"}}})
		require.ErrorContains(t, err, "no such device", spec)
	}
	for _, spec := range []string{"nothing", "builtin:fake", "fake:2", "inner:7"} {
		_, err := Open(ctx, spec, Options{})
		require.ErrorIs(t, err, core.ErrNotFound, spec)
	}
	_, err := Open(ctx, "nothing", Options{})
	require.ErrorContains(t, err, dir, "the error must name the searched folders")
	require.ErrorContains(t, err, "burn plugin install nothing")
}

func TestManifest(t *testing.T) {
	ctx := context.Background()
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	good := fmt.Sprintf("name = \"fake\"\nversion = \"0.9.1\"\nkind = \"process\"\nos = %q\narch = %q\nsha256 = %q\nsigner = \"someone\"\n[protocol]\nmin = 1\nmax = 3\n",
		runtime.GOOS, runtime.GOARCH, hex.EncodeToString(sum[:]))
	for _, c := range []struct {
		name, manifest string
		cause          client.Cause
		is             error
		remedy         string
	}{
		{"good", good, "", nil, ""},
		{"empty", "# nothing\n", "", nil, ""},
		{"no toml", "name = ", CauseManifest, core.ErrNotFound, "correct or remove"},
		{"other name", `name = "cuda"`, CauseManifest, core.ErrNotFound, "burn-backend-cuda"},
		{"other os", `os = "plan9"`, client.CauseWrongPlatform, core.ErrUnsupported, "burn plugin install fake"},
		{"other arch", `arch = "mips"`, client.CauseWrongPlatform, core.ErrUnsupported, core.Platform()},
		{"other kind", `kind = "shared"`, CauseManifest, core.ErrUnsupported, "process build"},
		{"newer", "[protocol]\nmin = 40\nmax = 41", client.CauseProtocol, core.ErrProtocol, "upgrade burn"},
		{"older", "[protocol]\nmin = 0\nmax = 0\n", "", nil, ""},
		{"changed", `sha256 = "` + hex.EncodeToString(make([]byte, 32)) + `"`, CauseChecksum, core.ErrProtocol, "copy file and manifest again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := put(t, isolate(t), "fake", c.manifest)
			d, err := Open(ctx, "fake", Options{})
			if c.cause == "" {
				require.NoError(t, err)
				require.NoError(t, d.Close())
				return
			}
			require.ErrorIs(t, err, c.is)
			var f *Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.cause, f.Cause)
			require.Contains(t, f.Remedy, c.remedy)
			require.ErrorContains(t, err, path)
		})
	}
}

func TestFind(t *testing.T) {
	dir := isolate(t)
	extra, here := t.TempDir(), localDir
	platform := runtime.GOOS + "_" + runtime.GOARCH
	store := func(version, platform, name string) string {
		return put(t, filepath.Join(dir, "plugins.example.org", "acme", name, version, platform), name, "")
	}
	want := map[string]string{
		"one":   put(t, extra, "one", ""),
		"two":   put(t, dir, "two", ""),
		"three": put(t, here, "three", ""),
		"user":  put(t, UserDir(), "user", ""),
		"cuda":  store("1.10.0", platform, "cuda"),
		"metal": store("2.0.0", "plan9_mips", "metal"),
	}
	want["three"], _ = filepath.Abs(want["three"])
	store("1.9.0", platform, "cuda")
	store("1.10.0-rc1", platform, "cuda")
	store("3.0.0", "plan9_mips", "cuda")
	hidden := []string{put(t, dir, "one", ""), put(t, UserDir(), "two", "")}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, exe("folder")), 0o755))

	local, err := Local(localDir)
	require.NoError(t, err)
	require.NoError(t, local.Allow(context.Background()))

	winners, shadowed := Find(Options{Dirs: []string{extra}})
	got := map[string]string{}
	for _, p := range winners {
		got[p.Name] = p.Path
		require.Equal(t, p.Name == "metal", p.Check() != nil, p.Name)
	}
	require.Equal(t, want, got)
	require.Len(t, shadowed, 2)
	for i := range shadowed {
		require.Equal(t, hidden[i], shadowed[i].Path)
		require.Equal(t, CauseShadowed, shadowed[i].Check().Cause)
		require.Contains(t, shadowed[i].Check().Detail, want[shadowed[i].Name])
	}
}

func TestCompareVersions(t *testing.T) {
	order := []string{"0.9", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.10.0", "2"}
	for i, a := range order {
		for k, b := range order {
			c := CompareVersions(a, b)
			require.Equal(t, i < k, c < 0, "%s %s", a, b)
			require.Equal(t, i == k, c == 0, "%s %s", a, b)
		}
	}
	require.Zero(t, CompareVersions("v1.2.0+abc", "1.2.0"))
}

func TestDevices(t *testing.T) {
	dir := isolate(t)
	good := put(t, dir, "fake", "")
	put(t, filepath.Join(dir, "x"), "fake", "")
	put(t, dir, "changed", `sha256 = "00"`)
	if runtime.GOOS != "windows" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe("plain")), []byte("hello"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe("chatty")), []byte("#!/bin/sh\necho hello there\n"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe("crashes")), []byte("#!/bin/sh\necho out of cheese >&2\nexit 3\n"), 0o755))
	}
	all := Devices(context.Background(), Options{Dirs: []string{dir, filepath.Join(dir, "x")}, StartTimeout: patience})
	by := map[string]Status{}
	for _, s := range all {
		by[string(s.State)+" "+s.Transport+" "+s.Name] = s
	}
	fakeBackend, err := fake.New(core.Config{})
	require.NoError(t, err)
	var fakes []Device
	for _, info := range fakeBackend.Info().Devices {
		fakes = append(fakes, Device{DeviceInfo: info})
	}
	want := Status{Name: "fake", Transport: Process, State: Ready, Path: good, Origin: "options", Version: "0.9.1", Vendor: "test",
		Protocol: wire.Speaks().String(), Devices: fakes}
	got := by["ready process fake"]
	require.NotEmpty(t, got.Containment)
	got.Containment = nil // depends on the system
	require.Equal(t, want, got)
	require.Equal(t, "0.9.1", by["ready builtin inner"].Version)
	require.Len(t, by["ready builtin inner"].Devices, 2)
	require.Contains(t, by["shadowed process fake"].Failure.Detail, good)
	for key, cause := range map[string]client.Cause{
		"failed builtin broken": CauseBuiltin, "failed builtin panics": CauseBuiltin, "failed process changed": CauseChecksum,
		"failed process plain": client.CauseNotExecutable, "failed process chatty": client.CauseNotPlugin,
		"failed process crashes": client.CauseCrash,
	} {
		s, ok := by[key]
		if !ok && runtime.GOOS == "windows" {
			continue
		}
		require.True(t, ok, "%s in %v", key, all)
		require.Equal(t, cause, s.Failure.Cause, "%v", s.Failure)
		require.NotEmpty(t, s.Failure.Remedy)
	}
	if runtime.GOOS != "windows" {
		require.Contains(t, by["failed process crashes"].Failure.Detail, "out of cheese")
		require.Contains(t, by["failed process crashes"].Failure.Detail, "exit status 3")
	}
	_, err = json.Marshal(all)
	require.NoError(t, err)
}

// patience is a timeout for steps that take moments on an idle machine. Only a hang takes longer.
const patience = 2 * time.Minute

// sleepers writes n plugins that print "awake" to standard error and never start the handshake.
func sleepers(t *testing.T, n int) (dir string) {
	if runtime.GOOS == "windows" {
		t.Skip("on windows: the plugins are shell scripts")
	}
	dir = isolate(t)
	for i := range n {
		script := "#!/bin/sh\necho awake >&2\nexec sleep 600\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, exe(fmt.Sprint("sleeps", i))), []byte(script), 0o755))
	}
	return dir
}

// A plugin that has not completed the handshake within StartTimeout fails with CauseTimeout.
func TestDevicesTimeout(t *testing.T) {
	for _, s := range Devices(context.Background(), Options{Dirs: []string{sleepers(t, 1)}, StartTimeout: 200 * time.Millisecond}) {
		if s.Name == "sleeps0" {
			require.Equal(t, client.CauseTimeout, s.Failure.Cause)
			return
		}
	}
	t.Fatal("the plugin is not listed")
}

// lineSink is a log writer that sends to lines once for each occurrence of text.
type lineSink struct {
	text  string
	lines chan<- struct{}
}

func (s lineSink) Write(p []byte) (int, error) {
	for range strings.Count(string(p), s.text) {
		s.lines <- struct{}{}
	}
	return len(p), nil
}

// Devices probes plugins concurrently: all of them run before the first one ends.
func TestDevicesAtOnce(t *testing.T) {
	const n = 4
	dir := sleepers(t, n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := make(chan struct{}, 10*n)
	go func() {
		for range n {
			<-lines
		}
		cancel()
	}()
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: lineSink{"awake", lines}})
	found := 0
	for _, s := range Devices(ctx, Options{Dirs: []string{dir}, StartTimeout: patience, Logger: log}) {
		if strings.HasPrefix(s.Name, "sleeps") {
			found++
			require.ErrorIs(t, s.Failure.Err, core.ErrCanceled, "%v", s.Failure)
		}
	}
	require.Equal(t, n, found)
}

func TestReattach(t *testing.T) {
	isolate(t)
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := serve.Attachable(ctx, serve.Options{Name: "fake", Open: fake.New, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	value, err := json.Marshal(map[string]wire.Attach{"fake": at})
	require.NoError(t, err)
	t.Setenv(wire.EnvReattach, string(value))
	for range 2 { // it serves one host after the other
		d, err := Open(ctx, "process:fake", Options{})
		require.NoError(t, err)
		require.NoError(t, works(d))
		require.NoError(t, d.Close())
	}
	all := Devices(ctx, Options{})
	i := slices.IndexFunc(all, func(s Status) bool { return s.Name == "fake" })
	require.GreaterOrEqual(t, i, 0, "%v", all)
	require.Equal(t, Ready, all[i].State)
	require.Equal(t, "BURN_REATTACH", all[i].Origin)
	cancel()
	<-done
	_, err = Open(context.Background(), "process:fake", Options{StartTimeout: patience})
	require.ErrorIs(t, err, core.ErrBackendLost)
	t.Setenv(wire.EnvReattach, "{")
	_, err = Open(context.Background(), "process:fake", Options{})
	require.ErrorIs(t, err, core.ErrNotFound)
}
