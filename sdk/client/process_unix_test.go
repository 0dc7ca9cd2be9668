//go:build unix

package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// private creates a folder for the sockets of the test alone, and checks at the end of the test that nothing is left in it.
func private(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "burn-test-")
	require.NoError(t, err)
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		require.Empty(t, left, "files are left behind")
		os.RemoveAll(dir)
	})
	return dir
}

func pidOf(t *testing.T, b *client.Backend) int {
	t.Helper()
	pid, err := strconv.Atoi(b.PID())
	require.NoError(t, err)
	return pid
}

func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// lost checks that a call failed because the plugin ended. A timeout never has this error.
func lost(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "plugin fake")
}

func TestKillBefore(t *testing.T) {
	private(t)
	b, err := started(t, fake.Good, nil)
	require.NoError(t, err)
	s := open(t, b)
	require.NoError(t, syscall.Kill(pidOf(t, b), syscall.SIGKILL))
	err = core.Sync(context.Background(), s)
	lost(t, err)
	require.ErrorContains(t, err, "signal: killed")
	_, err = b.Open(context.Background(), 0)
	lost(t, err)
	_, err = s.dev.OpenStream(context.Background())
	lost(t, err)
	require.ErrorIs(t, s.Submit([]op.Node{full(t, 1, 1)}, nil), core.ErrBackendLost)
	require.ErrorIs(t, s.Write(context.Background(), desc(1, 1), f32(1)), core.ErrBackendLost)
	require.ErrorIs(t, core.Read(context.Background(), s, id(1), make([]byte, 4)), core.ErrBackendLost)
	require.NoError(t, b.Close())
	require.False(t, exists(pidOf2(b)))
}

// pidOf2 returns the process id of a backend that may be gone, or 1<<30, which matches no process.
func pidOf2(b *client.Backend) int {
	pid, err := strconv.Atoi(b.PID())
	if err != nil {
		return 1 << 30
	}
	return pid
}

func TestKillDuring(t *testing.T) {
	private(t)
	for _, call := range []string{"read", "sync", "write", "define"} {
		t.Run(call, func(t *testing.T) {
			b, err := started(t, fake.Good, map[string]string{"hang": "2"})
			require.NoError(t, err)
			s, ctx := open(t, b), context.Background()
			require.NoError(t, s.Submit([]op.Node{full(t, 1, 1), full(t, 2, 1)}, nil))
			killed := make(chan struct{})
			time.AfterFunc(50*time.Millisecond, func() {
				_ = syscall.Kill(pidOf2(b), syscall.SIGKILL)
				close(killed)
			})
			switch call {
			case "read":
				err = core.Read(ctx, s, id(2), make([]byte, 4))
			case "sync":
				err = core.Sync(ctx, s)
			case "write":
				data := make([]byte, 64<<20)
				for i := uint64(10); err == nil; i++ {
					err = s.Write(ctx, desc(i, len(data)/4), data)
				}
			case "define":
				p, _ := core.Extension[core.Programs](s.dev)
				_, err = p.Define(ctx, s.Stream, twice(t), []op.TensorID{id(1)})
			}
			<-killed
			lost(t, err)
			require.ErrorContains(t, err, "signal: killed")
			require.NoError(t, b.Close())
		})
	}
}

func TestKillAfter(t *testing.T) {
	private(t)
	b, err := started(t, fake.Good, nil)
	require.NoError(t, err)
	s := open(t, b)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 3)}, nil))
	require.Equal(t, f32(3), read(t, s, desc(1)))
	require.NoError(t, syscall.Kill(pidOf(t, b), syscall.SIGKILL))
	require.Eventually(t, func() bool { return !exists(pidOf2(b)) || !running(pidOf2(b)) }, patience, time.Millisecond)
	lost(t, core.Read(context.Background(), s, id(1), make([]byte, 4)))
	require.NoError(t, s.Close())
	require.NoError(t, b.Close())
}

func TestCrash(t *testing.T) {
	private(t)
	b, err := started(t, fake.Good, map[string]string{"crash": "3"})
	require.NoError(t, err)
	s := open(t, b)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1), full(t, 2, 1), full(t, 3, 1)}, nil))
	err = core.Read(context.Background(), s, id(3), make([]byte, 4))
	lost(t, err)
	require.ErrorContains(t, err, "exit status 7")
	require.ErrorContains(t, err, "the device is on fire")
}

// stop suspends a process and returns when all of its threads stand still, which the signal alone does not promise.
func stop(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	status := filepath.Join("/proc", strconv.Itoa(pid), "stat")
	if _, err := os.Stat(status); err != nil { // not Linux
		time.Sleep(100 * time.Millisecond)
		return
	}
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(status)
		_, state, _ := strings.Cut(string(b), ") ")
		return err == nil && strings.HasPrefix(state, "T")
	}, patience, time.Millisecond)
}

// TestStopped suspends a plugin: calls end with their context, and Close ends the plugin.
func TestStopped(t *testing.T) {
	private(t)
	b, err := started(t, fake.Good, nil)
	require.NoError(t, err)
	s, pid := open(t, b), pidOf(t, b)
	require.NoError(t, s.Write(context.Background(), desc(1, 1), f32(1)))
	require.NoError(t, core.Sync(context.Background(), s))
	stop(t, pid)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	require.ErrorIs(t, core.Read(short(), s, id(1), make([]byte, 4)), core.ErrCanceled)
	require.ErrorIs(t, core.Sync(short(), s), core.ErrCanceled)
	require.ErrorIs(t, s.Write(short(), desc(2, 16<<20), make([]byte, 64<<20)), core.ErrCanceled)
	_, err = b.Open(short(), 0)
	require.ErrorIs(t, err, core.ErrCanceled)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	require.Equal(t, f32(1), read(t, s, desc(1, 1)), "it is usable once it runs again")
	require.NoError(t, core.Sync(context.Background(), s))

	stop(t, pid)
	require.NoError(t, soon(t, "Close", b.Close))
	require.False(t, exists(pid))
}

func TestHungKernel(t *testing.T) {
	private(t)
	b, err := started(t, fake.Good, map[string]string{"hang": "1"})
	require.NoError(t, err)
	s := open(t, b)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1)}, nil))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, core.Read(ctx, s, id(1), make([]byte, 4)), core.ErrCanceled)
	other := open(t, b)
	require.NoError(t, core.Sync(context.Background(), other), "other streams go on")
}

// TestFlood fills the plugin's standard output or error while it works.
func TestFlood(t *testing.T) {
	private(t)
	for _, mode := range []string{fake.FloodStderr, fake.FloodStdout} {
		t.Run(mode, func(t *testing.T) {
			b, err := started(t, mode, nil)
			require.NoError(t, err)
			s := open(t, b)
			end := time.Now().Add(500 * time.Millisecond)
			for n := uint64(1); time.Now().Before(end); n++ {
				require.NoError(t, s.Submit([]op.Node{full(t, n, float64(n))}, nil))
				require.Equal(t, f32(float32(n)), read(t, s, desc(n)))
			}
			require.NoError(t, b.Close())
		})
	}
}

func TestStartFailures(t *testing.T) {
	private(t)
	for _, tc := range []struct {
		behaviour string
		opts      map[string]string
		cause     client.Cause
		is        error
		text      string
	}{
		{fake.CrashAtStart, nil, client.CauseCrash, core.ErrBackendLost, "panic: no firmware"},
		{fake.Killed, nil, client.CauseCrash, core.ErrBackendLost, "killed before the handshake, by signal SIGKILL"},
		{fake.MissingLibrary, nil, client.CauseMissingLibrary, core.ErrUnsupported, "libfake.so.9"},
		{fake.ExitQuietly, nil, client.CauseNotPlugin, core.ErrProtocol, "without a handshake"},
		{fake.Silent, nil, client.CauseTimeout, core.ErrBackendLost, "no handshake in time"},
		{fake.RefusesTLS, nil, client.CauseProtocol, core.ErrProtocol, "TLS: "},
		{fake.WrongHandshake, nil, client.CauseNotPlugin, core.ErrProtocol, "friendly shell"},
		{fake.OtherCore, nil, client.CauseProtocol, core.ErrProtocol, "2|1|unix"},
		{fake.NoLineEnd, nil, client.CauseNotPlugin, core.ErrProtocol, "xxxx"},
		{fake.NewerVersion, nil, client.CauseProtocol, core.ErrProtocol, "it speaks version 6 to 8, this program 2"},
		{fake.FirstVersion, nil, client.CauseProtocol, core.ErrProtocol, "it speaks version 1, this program 2; the plugin is older: run `burn plugin upgrade fake`"},
		{fake.Good, map[string]string{"open": "fail"}, client.CauseOpen, core.ErrNotFound, "no such device"},
		{fake.Good, map[string]string{"open": "panic"}, client.CauseOpen, core.ErrKernel, "driver fell over"},
		{fake.Good, map[string]string{"open": "hang"}, client.CauseTimeout, core.ErrBackendLost, "no answer to hello"},
	} {
		t.Run(tc.behaviour+tc.opts["open"], func(t *testing.T) {
			limit := patience
			if tc.cause == client.CauseTimeout {
				limit = 400 * time.Millisecond
			}
			start := func() error {
				_, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", StartTimeout: limit,
					Env: []string{fake.Env + "=" + tc.behaviour}, Config: core.Config{Options: tc.opts}})
				return err
			}
			err := start()
			for tc.cause == client.CauseTimeout && limit < patience && !strings.Contains(err.Error(), tc.text) {
				limit *= 4 // a busy machine did not come as far as the call that hangs
				err = start()
			}
			var e *client.StartError
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.cause, e.Cause, "%v", err)
			require.ErrorIs(t, err, tc.is)
			require.ErrorContains(t, err, tc.text)
			require.NotEmpty(t, e.Remedy())
		})
	}
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	foreign := []byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00\x01\x00\x00\x00")
	foreign = append(foreign, make([]byte, 64)...)
	foreign[52], foreign[54], foreign[58] = 64, 56, 64 // header sizes
	for _, tc := range []struct {
		path  string
		cause client.Cause
		is    error
	}{
		{filepath.Join(dir, "burn-backend-none"), client.CauseNotExecutable, core.ErrNotFound},
		{dir, client.CauseNotExecutable, core.ErrNotFound},
		{write("burn-backend-plain", "hello", 0o644), client.CauseNotExecutable, core.ErrNotFound},
		{write("burn-backend-text", "hello", 0o755), client.CauseNotPlugin, core.ErrProtocol},
		{write("burn-backend-script", "#!/no/such/interpreter\n", 0o755), client.CauseMissingLibrary, core.ErrUnsupported},
		{write("burn-backend-arm", string(foreign), 0o755), client.CauseWrongPlatform, core.ErrUnsupported},
	} {
		t.Run(filepath.Base(tc.path), func(t *testing.T) {
			if tc.cause == client.CauseWrongPlatform && core.Platform() == "linux/arm64" {
				t.Skip("on linux/arm64: the foreign program is for it, and would run")
			}
			_, err := client.Start(context.Background(), tc.path, client.Options{StartTimeout: patience})
			var e *client.StartError
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.cause, e.Cause, "%v", err)
			require.ErrorIs(t, err, tc.is)
		})
	}
}

// TestHostKilled kills a host with SIGKILL and checks that its plugin ends and leaves no socket, with the
// kernel's help and without it.
func TestHostKilled(t *testing.T) {
	for _, mode := range []string{fake.Good, fake.IgnoreHost} {
		t.Run(mode, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "burn-test-")
			require.NoError(t, err)
			defer os.RemoveAll(dir)
			cmd := exec.Command(os.Args[0], "-test.run=^TestHelperHost$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "TMPDIR="+dir, "BURN_TEST_HOST="+mode)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			var pid int
			lines := bufio.NewScanner(out)
			for pid == 0 && lines.Scan() {
				_, _ = fmt.Sscanf(lines.Text(), "plugin %d", &pid)
			}
			require.NotZero(t, pid)
			require.True(t, exists(pid))
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			require.Eventually(t, func() bool { return !running(pid) }, patience, 5*time.Millisecond)
			sockets := 0
			_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
				if err == nil && d.Type()&os.ModeSocket != 0 {
					sockets++
				}
				return nil
			})
			require.Zero(t, sockets)

			left, _ := filepath.Glob(filepath.Join(dir, "burn-host-*"))
			require.Len(t, left, 1)
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(left[0], old, old))
			t.Setenv("TMPDIR", dir)
			b, err := started(t, fake.Good, nil)
			require.NoError(t, err)
			require.NoDirExists(t, left[0], "the next host sweeps the folder of a dead one")
			require.NoError(t, b.Close())
			left, _ = filepath.Glob(filepath.Join(dir, "*"))
			require.Empty(t, left)
		})
	}
}

// running reports whether pid is a process that is no zombie: in a container without an init, nobody reaps orphans.
func running(pid int) bool {
	if !exists(pid) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// TestHelperHost is the host that TestHostKilled kills.
func TestHelperHost(t *testing.T) {
	mode := os.Getenv("BURN_TEST_HOST")
	if mode == "" {
		t.Skip("BURN_TEST_HOST is not set: TestHostKilled runs this test as a process of its own")
	}
	b, err := started(t, mode, map[string]string{"hang": "1"})
	require.NoError(t, err)
	s := open(t, b)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1)}, nil))
	fmt.Printf("plugin %s\n", b.PID())
	_ = core.Sync(context.Background(), s)
}
