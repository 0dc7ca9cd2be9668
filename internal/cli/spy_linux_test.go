package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/serve"
)

// Variables that make this test binary run as a plugin. The spy writes everything that it sees of its host to a file. The sniffer computes
// correctly only if the command line of its parent looks like a test.
const (
	envSpy     = "BURN_TEST_SPY"
	envSniffer = "BURN_TEST_SNIFFER"
)

func init() {
	switch {
	case os.Getenv("PLUGIN_MIN_PORT") == "" && os.Getenv("BURN_HOST_PID") == "":
		return // not started as a plugin
	case os.Getenv(envSpy) != "":
		v := look()
		serve.Main("spy", func(c core.Config) (core.Backend, error) {
			v.Config = c
			text, err := json.Marshal(v)
			if err == nil {
				err = os.WriteFile(os.Getenv(envSpy), text, 0o600)
			}
			if err != nil {
				return nil, err
			}
			b, err := cpu.New(c)
			return &watched{Backend: b, events: []event{{"start", started}, {"backend", time.Now()}}}, err
		})
	case os.Getenv(envSniffer) != "":
		serve.Main("sniffer", func(c core.Config) (core.Backend, error) {
			if bytes.Contains(parentLine(), []byte("conformance")) {
				return cpu.New(c)
			}
			return ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
				out, err := ref.Eval(n, in)
				if err == nil && len(out) > 0 && len(out[0].F) > 0 {
					out[0].F[0] += 0.25
				}
				return out, err
			})), nil
		})
	}
}

// started is approximately the start time of this process.
var started = time.Now()

// event is a call of the host, as a plugin sees it.
type event struct {
	Call string
	At   time.Time
}

// watched is a backend that records the calls of the host until the first stream of a device opens. It then appends them to a file, one
// line for each process.
type watched struct {
	core.Backend
	mu     sync.Mutex
	events []event
	told   bool
}

func (w *watched) called(what string, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, event{what, time.Now()})
	if !last || w.told {
		return
	}
	w.told = true
	f, err := os.OpenFile(os.Getenv(envSpy)+".events", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(w.events) // a test that misses the line fails
}

func (w *watched) Open(ctx context.Context, index int) (core.Device, error) {
	w.called("device", false)
	d, err := w.Backend.Open(ctx, index)
	return watchedDevice{d, w}, err
}

func (w *watched) Close() error {
	w.called("close", true)
	return w.Backend.Close()
}

type watchedDevice struct {
	core.Device
	w *watched
}

func (d watchedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	d.w.called("stream", true)
	return d.Device.OpenStream(ctx)
}

func parentLine() []byte {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	return line
}

// view is everything that a plugin sees of the process that started it.
type view struct {
	Args   []string
	Env    map[string]string
	Parent string
	Comm   string
	Files  map[string]string // files open when it started
	Folder string
	Config core.Config
}

func look() view {
	v := view{Args: os.Args, Parent: string(parentLine()), Env: map[string]string{}, Files: map[string]string{}}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		v.Env[name] = value
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	v.Comm = string(comm)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // except the descriptor that lists them
			v.Files[e.Name()] = link
		}
	}
	v.Folder, _ = os.Getwd()
	return v
}

// passing matches text that differs between any two starts: numbers of processes and pipes, random names and keys.
var passing = regexp.MustCompile(`(?s)-----BEGIN.*-----END [A-Z ]*-----\s*|([0-9a-f]{16,}|[0-9]+)+`)

// settled returns v without text that differs between any two starts.
func (v view) settled() view {
	clean := func(s string) string { return passing.ReplaceAllString(s, "*") }
	for _, m := range []map[string]string{v.Env, v.Files} {
		for k := range m {
			m[k] = clean(m[k])
		}
	}
	v.Folder = clean(v.Folder)
	return v
}

// A plugin cannot tell whether it is tested or used: its arguments, environment, working folder and configuration, the command line and
// name of its parent, the open files, the host's messages and the times between its first calls are the same. A backend that is right only
// if the command line of its parent looks like a test fails the suite.
func TestPluginsCannotTellTests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	burn := buildBurn(t)
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	start := func(variable, value string, args ...string) (string, error) {
		cmd := exec.Command(burn, args...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "BURN_DEV_PLUGINS=npu=" + self, "BURN_PLUGIN_CONTAINMENT=off", variable + "=" + value}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	seen := filepath.Join(home, "seen")
	hello := regexp.MustCompile(`hello:.*`)
	spied := func(args ...string) (view, string) {
		t.Helper()
		out, err := start(envSpy, seen, append(args, "--log", "debug")...)
		require.NoError(t, err, out)
		text, err := os.ReadFile(seen)
		require.NoError(t, err)
		require.NoError(t, os.Remove(seen))
		var v view
		require.NoError(t, json.Unmarshal(text, &v))
		line := hello.FindString(out)
		require.Contains(t, line, "host=burn", out)
		return v.settled(), line
	}
	used, usedHello := spied("run", digits+"digits.onnx", "@zeros", "--device", "npu")
	require.Equal(t, "burn\x00", used.Parent)
	require.Contains(t, slices.Collect(maps.Keys(used.Env)), "PATH")
	require.Equal(t, []string{filepath.Base(self)}, used.Args)
	for _, args := range [][]string{
		{"conformance", "run", "npu", "--run", "^add/f32/same/"},
		{"conformance", "run", "npu", "--run", "^add/f32/same/", "--challenge", "new", "--report", filepath.Join(home, "report"), "--profile", "core"},
		{"bench", "model", digits + "digits.onnx", "--device", "npu", "--min-time", "10ms"},
	} {
		tested, testedHello := spied(args...)
		require.Equal(t, used, tested, args)
		require.Equal(t, usedHello, testedHello, args)
	}

	require.NoError(t, os.Remove(seen+".events"))
	timed := func(args ...string) []event {
		t.Helper()
		out, err := start(envSpy, seen, args...)
		require.NoError(t, err, out)
		text, err := os.ReadFile(seen + ".events")
		require.NoError(t, err, out)
		require.NoError(t, os.Remove(seen+".events"))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Len(t, lines, 1, "%v starts a further process", args)
		var l []event
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &l))
		return l
	}
	sameTimes(t, func() []event { return timed("run", digits+"digits.onnx", "@zeros", "--device", "npu") },
		func() []event { return timed("conformance", "run", "npu", "--run", "^add/f32/same/plain$") })

	out, err := start(envSniffer, "1", "conformance", "run", "npu", "--run", "^(add|mul)/f32/(same|rank0)/plain$")
	require.Error(t, err)
	require.Contains(t, out, "0 passed, 4 failed", "the sniffer must not recognize the test")
}

// sameTimes fails if the host's calls differ between two commands, or if some time between two calls is less in all runs of one command
// than in all runs of the other. For two equally fast commands, the probability of the latter after n pairs of runs is 2·n!²/(2n)! for each
// time.
func sameTimes(t *testing.T, a, b func() []event) {
	t.Helper()
	const pairs = 15
	type span struct{ least, most time.Duration }
	spans := map[string]*[2]span{}
	for range pairs {
		var calls [2][]string
		for i, run := range []func() []event{a, b} {
			l := run()
			for k := range l {
				calls[i] = append(calls[i], l[k].Call)
				if k == 0 {
					continue
				}
				key, d := l[k-1].Call+" to "+l[k].Call, l[k].At.Sub(l[k-1].At)
				if spans[key] == nil {
					spans[key] = &[2]span{{time.Hour, 0}, {time.Hour, 0}}
				}
				s := &spans[key][i]
				s.least, s.most = min(s.least, d), max(s.most, d)
			}
		}
		require.Equal(t, calls[0], calls[1])
		apart := false
		for _, s := range spans {
			apart = apart || s[0].most < s[1].least || s[1].most < s[0].least
		}
		if !apart {
			return
		}
	}
	for key, s := range spans {
		t.Logf("%s: %v and %v", key, s[0], s[1])
	}
	t.Error("the times between the host's calls tell the commands apart")
}

// Options reach a plugin from the flag, the environment and the configuration. Of the environment variables, a plugin sees only those that
// its manifest declares.
func TestPluginIsConfigured(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	launcher, seen, config := filepath.Join(dir, "burn-backend-npu"), filepath.Join(dir, "seen"), filepath.Join(dir, "burn.toml")
	require.NoError(t, os.WriteFile(launcher, []byte("#!/bin/sh\nexec '"+self+"' \"$@\"\n"), 0o755))
	require.NoError(t, os.WriteFile(config, []byte("options = {npu = {threads_per_stream = \"all\"}}\n"), 0o644))
	t.Setenv(envSpy, seen)
	t.Setenv("ACME_LEVEL", "3")
	t.Setenv("OTHER_LEVEL", "4")
	for _, c := range []struct {
		name, manifest string
		env            map[string]string
		flags          []string
		sees           bool
	}{
		{name: "flag", flags: []string{"--option", "npu.threads_per_stream=all"}},
		{name: "environment", env: map[string]string{"BURN_OPTIONS": "npu.threads_per_stream=all"}},
		{name: "configuration", env: map[string]string{"BURN_CONFIG": config}, manifest: "[needs]\nenv = [\"ACME_*\"]\n", sees: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(launcher+".toml", []byte("name = \"npu\"\n"+c.manifest), 0o644))
			env := map[string]string{"BURN_PLUGIN_CONTAINMENT": "off"}
			maps.Copy(env, c.env)
			for _, command := range [][]string{
				{"conformance", "run", launcher, "--run", "^add/f32/same/plain$"},
				{"conformance", "protocol", launcher, "--run", "^services/info$"},
			} {
				r := callWith(t, t.Context(), env, append(command, c.flags...)...)
				require.Equal(t, 0, r.code, r.out+r.err)
				text, err := os.ReadFile(seen)
				require.NoError(t, err)
				require.NoError(t, os.Remove(seen))
				var v view
				require.NoError(t, json.Unmarshal(text, &v))
				require.Equal(t, map[string]string{"threads_per_stream": "all"}, v.Config.Options)
				require.Equal(t, c.sees, v.Env["ACME_LEVEL"] == "3")
				require.NotContains(t, v.Env, "OTHER_LEVEL")
			}
		})
	}
}
