//go:build unix

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// record is a log that can be read while it is written.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

// lines returns the entries so far.
func (r *record) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range bytes.Lines(r.b.Bytes()) {
		var m map[string]any
		require.NoError(t, json.Unmarshal(l, &m))
		all = append(all, m)
	}
	return all
}

// find waits for an entry whose message contains text.
func (r *record) find(t *testing.T, text string) (found map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, m := range r.lines(t) {
			if s, _ := m["@message"].(string); strings.Contains(s, text) {
				found = m
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, text)
	return found
}

// logged starts the fake and returns its log.
func logged(t *testing.T, behaviour string, o client.Options) (*client.Backend, *record, error) {
	t.Helper()
	r := &record{}
	o.Name, o.Env, o.StartTimeout = "fake", append(o.Env, fake.Env+"="+behaviour), patience
	o.Logger = hclog.New(&hclog.LoggerOptions{Name: "host", Level: hclog.Info, Output: r, JSONFormat: true})
	b, err := client.Start(context.Background(), os.Args[0], o)
	if b != nil {
		t.Cleanup(func() { require.NoError(t, b.Close()) })
	}
	return b, r, err
}

// TestEnvironment checks that a plugin sees few variables of its host, and has a folder of its own, which is removed with it.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	t.Setenv("BURN_SETTING", "1")
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	b, r, err := logged(t, fake.Tells, client.Options{Limits: client.Limits{Threads: 3}, Env: []string{"MINE=2"}})
	require.NoError(t, err)
	m := r.find(t, "told")
	require.Equal(t, "warn", m["@level"])
	require.Equal(t, "host.fake", m["@module"])
	require.Equal(t, "inner", m["module"])
	env := fmt.Sprint(m["environment"])
	require.NotContains(t, env, "hunter2")
	for _, kv := range []string{"BURN_SETTING=1", "CUDA_VISIBLE_DEVICES=0", "GOMAXPROCS=3", "MINE=2", "PATH="} {
		require.Contains(t, env, kv)
	}
	dir := m["dir"].(string)
	require.Equal(t, "work", filepath.Base(dir))
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NotEqual(t, here, dir)
	require.DirExists(t, dir)
	require.NoError(t, b.Close())
	require.NoDirExists(t, dir)
}

// TestForks checks that a process that a plugin has started ends with the plugin, whether that is closed or killed.
func TestForks(t *testing.T) {
	for _, end := range []string{"closed", "killed"} {
		t.Run(end, func(t *testing.T) {
			b, r, err := logged(t, fake.Forks, client.Options{})
			require.NoError(t, err)
			var child, pid int
			_, err = fmt.Sscanf(r.find(t, "child ")["@message"].(string), "child %d", &child)
			require.NoError(t, err)
			require.True(t, running(child))
			if end == "killed" {
				_, _ = fmt.Sscan(b.PID(), &pid)
				p, err := os.FindProcess(pid)
				require.NoError(t, err)
				require.NoError(t, p.Kill())
				select {
				case <-b.Lost():
				case <-time.After(patience):
					t.Fatal("the child's hold on the pipe hides the loss")
				}
			}
			require.NoError(t, b.Close())
			require.Eventually(t, func() bool { return !running(child) }, patience, time.Millisecond)
		})
	}
}

// TestMemoryLimit lets a plugin exceed its memory limit: it dies, and the error names the cause.
func TestMemoryLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits are set from outside a process on Linux alone")
	}
	hog := core.Config{Options: map[string]string{"hog": fmt.Sprint(1 << 30)}}
	_, _, err := logged(t, fake.Good, client.Options{Config: hog, Limits: client.Limits{Memory: 512 << 20}})
	var e *client.StartError
	require.ErrorAs(t, err, &e)
	require.Equal(t, client.CauseCrash, e.Cause, "%v", err)
	require.Contains(t, err.Error(), "under a limit of 536870912 bytes of memory")
	b, _, err := logged(t, fake.Good, client.Options{Limits: client.Limits{Memory: 512 << 20}})
	require.NoError(t, err, "one that takes less is served")
	require.NoError(t, core.Sync(context.Background(), open(t, b)))
}

// TestNoise checks that output on standard error and standard output does not disturb a plugin, and that the log names it.
func TestNoise(t *testing.T) {
	b, r, err := logged(t, fake.FloodStderr, client.Options{})
	require.NoError(t, err)
	require.Equal(t, "host.fake", r.find(t, "floods its standard error")["@module"])
	require.NoError(t, core.Sync(context.Background(), open(t, b)))
	require.NoError(t, b.Close())
	require.Less(t, len(r.lines(t)), 3000)

	b, r, err = logged(t, fake.NoiseOnStdout, client.Options{})
	require.NoError(t, err)
	m := r.find(t, "standard output")
	require.Equal(t, "host.fake", m["@module"])
	require.Contains(t, m["begins"], "loading the firmware")
	require.NoError(t, core.Sync(context.Background(), open(t, b)))
}

// TestOpenFiles bounds what a plugin may have open.
func TestOpenFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the bound is enforced on Linux alone")
	}
	b, _, err := logged(t, fake.Good, client.Options{Limits: client.Limits{Files: 77}})
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/" + b.PID() + "/limits")
	require.NoError(t, err)
	require.Regexp(t, `Max open files +77 +77 `, string(text))
}
