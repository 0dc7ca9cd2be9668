package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/wire"
)

// envReplaced is the variable with the number of times that TestReplaced starts each plugin. If it is empty, the number is 100, or 20 with
// -short.
const envReplaced = "BURN_REPLACED"

// replacedSources are the sources of a plugin with a library beside it, as a program and as a shared object, and of a program that loads
// the object. Each plugin prints to standard error which version of its files runs, and ends.
var replacedSources = map[string]string{
	"lib.c":     `const char *version(void) { return TEXT; }`,
	"program.c": `#include <stdio.h>` + "\n" + `const char *version(void); int main(void) { fprintf(stderr, "runs program %s, library %s\n", TEXT, version()); return 3; }`,
	"object.c":  `#include <stdio.h>` + "\n" + `const char *version(void); void say(void) { fprintf(stderr, "runs program %s, library %s\n", TEXT, version()); }`,
	"carrier.c": `#include <stdio.h>
#include <dlfcn.h>
int main(int n, char **args) {
	void *object = dlopen(args[n - 1], RTLD_NOW);
	if (!object) { fprintf(stderr, "%s\n", dlerror()); return 4; }
	((void (*)(void))dlsym(object, "say"))();
	return 3;
}`,
}

// TestReplaced starts plugins while another goroutine continually replaces and overwrites their files. Each start either runs exactly the
// installed bytes or is refused.
func TestReplaced(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("wants a C compiler, on Linux")
	}
	isolate(t)
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for name, text := range replacedSources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	compile := func(out string, args ...string) string {
		t.Helper()
		out = filepath.Join(dir, out)
		require.NoError(t, os.MkdirAll(filepath.Dir(out), 0o755))
		cmd := exec.Command(cc, append([]string{"-o", out}, args...)...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		return out
	}
	for _, text := range []string{"good", "evil"} {
		define := `-DTEXT="` + text + `"`
		compile(text+"/libversion.so", "-shared", "-fPIC", define, "lib.c")
		link := []string{"-L" + text, "-lversion", "-Wl,-rpath,$ORIGIN"}
		compile(text+"/burn-backend-program", append([]string{define, "program.c"}, link...)...)
		compile(text+"/burn-backend-object.so", append([]string{"-shared", "-fPIC", define, "object.c"}, link...)...)
	}
	carrier := compile("carrier", "carrier.c", "-ldl")
	tries := 100
	if testing.Short() {
		tries = 20
	}
	if n, err := strconv.Atoi(os.Getenv(envReplaced)); err == nil {
		tries = n
	}
	for name, kind := range map[string]string{"program": Process, "object": Shared, "allowed": Process} {
		t.Run(name, func(t *testing.T) {
			if name == "allowed" {
				name = "program"
				allowReplaced(t, filepath.Join(dir, "good"), "burn-backend-program", "libversion.so")
				replaced(t, name, abs(t, localDir), dir, []string{"burn-backend-program", "libversion.so"}, Options{}, tries)
				return
			}
			t.Chdir(t.TempDir())
			file := store.Executable(name, kind, store.Native())
			archive := filepath.Join(dir, name+".tar.gz")
			_, err := store.Pack(archive, store.Content{Executable: filepath.Join(dir, "good", file), Extra: map[string]string{"libversion.so": filepath.Join(dir, "good", "libversion.so")},
				Manifest: manifest.Manifest{Name: name, Namespace: "example.org/acme", Version: "1.0.0", Kind: kind, OS: runtime.GOOS, Arch: runtime.GOARCH,
					Protocol: manifest.Protocol{Min: wire.Oldest, Max: wire.Version}}})
			require.NoError(t, err)
			a, err := (&store.Fetcher{}).File(archive)
			require.NoError(t, err)
			defer a.Close()
			s := &store.Store{Dir: UserDir(), Trust: &store.Trust{}, LockFile: filepath.Join(UserDir(), store.LockName)}
			r, err := s.Install(context.Background(), a, store.InstallOptions{Unsigned: true})
			require.NoError(t, err)

			replaced(t, name, r.Dir, dir, []string{file, "libversion.so"}, Options{Carrier: []string{carrier}}, tries)
		})
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "burn-exec-*"))
	require.NoError(t, err)
	for _, l := range left { // folders of other processes may exist
		_, err := os.Stat(filepath.Join(l, "content", "libversion.so"))
		require.ErrorIs(t, err, os.ErrNotExist, "%s is left", l)
	}
}

// allowReplaced copies files into ./burn_plugins of a user without installations, and allows the folder.
func allowReplaced(t *testing.T, from string, files ...string) {
	t.Helper()
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir(localDir, 0o755))
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(localDir, name), content, 0o755))
	}
	l, err := Local(localDir)
	require.NoError(t, err)
	require.NoError(t, l.Allow(context.Background()))
}

// replaced starts a plugin tries times while its files are replaced.
func replaced(t *testing.T, name, dir, from string, files []string, o Options, tries int) {
	t.Helper()
	start := func() string {
		_, err := Open(context.Background(), "process:"+name, o)
		require.Error(t, err, "the plugin exits before the handshake")
		return err.Error()
	}
	require.Contains(t, start(), "runs program good, library good")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- replace(ctx, dir, from, files...) }()
	ran, refusals := 0, 0
	for range tries {
		text := start()
		require.NotContains(t, text, "evil")
		switch {
		case strings.Contains(text, "runs program good, library good"):
			ran++
		case strings.Contains(text, "sha256") || strings.Contains(text, "no such file") || strings.Contains(text, "burn plugin allow"):
			refusals++
		default:
			t.Fatalf("neither run nor refused: %s", text)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	t.Logf("%d runs, %d refusals", ran, refusals)
}

// replace alternately puts evil and good files into a folder, by renaming over the old files or overwriting them, until ctx ends.
func replace(ctx context.Context, dir, from string, files ...string) error {
	for ctx.Err() == nil {
		for _, text := range []string{"evil", "good"} {
			for _, name := range files {
				content, err := os.ReadFile(filepath.Join(from, text, name))
				if err != nil {
					return err
				}
				to := filepath.Join(dir, name)
				if rand.IntN(2) == 0 {
					err = errors.Join(os.WriteFile(to+".new", content, 0o755), os.Rename(to+".new", to))
				} else if err = os.Chmod(to, 0o755); err == nil {
					err = os.WriteFile(to, content, 0o755)
					if err != nil && strings.Contains(err.Error(), "text file busy") {
						err = nil
					}
				}
				if err != nil {
					return err
				}
			}
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // all files are good during this time
	}
	return nil
}
