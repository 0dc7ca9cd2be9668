package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// TestStartErrors checks that each cause has a text with the last output, a remedy, and its sentinel unless the error has one.
func TestStartErrors(t *testing.T) {
	for _, c := range []struct {
		cause  Cause
		want   error
		remedy string
	}{
		{CauseNotExecutable, core.ErrNotFound, "see whether the path is right: /p/burn-backend-x is not there"},
		{CauseWrongPlatform, core.ErrUnsupported, "get the build for " + core.Platform()},
		{CauseMissingLibrary, core.ErrUnsupported, "add its folder to " + libraryPath()},
		{CauseNotPlugin, core.ErrProtocol, "remove /p/burn-backend-x from the plugin folders"},
		{CauseProtocol, core.ErrProtocol, "`/p/burn-backend-x --debug` or the log at level debug shows its output"},
		{CauseCrash, core.ErrBackendLost, "reproduces the crash"},
		{CauseTimeout, core.ErrBackendLost, "raise start_timeout in the configuration"},
		{CauseOpen, core.ErrBackendLost, "its device or driver does not"},
		{CauseSystem, core.ErrBackendLost, "see the error"},
	} {
		p := newProcess("x", "/p/burn-backend-x")
		_, _ = p.tail.Write([]byte("last words\n"))
		e := p.startError(c.cause, errors.New("odd"))
		require.ErrorIs(t, e, c.want, string(c.cause))
		text := "plugin x (/p/burn-backend-x): " + string(c.cause) + ": odd"
		if c.cause != CauseMissingLibrary { // whose detail is the output
			text += "; last output: last words"
		}
		require.EqualError(t, e, text)
		require.Contains(t, e.Remedy(), c.remedy)
		require.False(t, e.Transient())
		known := p.startError(c.cause, fmt.Errorf("full: %w", core.ErrOutOfMemory))
		require.ErrorIs(t, known, core.ErrOutOfMemory)
		if c.want != core.ErrOutOfMemory {
			require.NotErrorIs(t, known, c.want, "an error has one sentinel")
		}
	}
	require.Equal(t, "plugin x: timeout: late", (&StartError{Plugin: "x", Cause: CauseTimeout, Detail: "late"}).Error())
	carried := &StartError{Plugin: "x", Path: "/p/x.so", Cause: CauseCrash, carried: true}
	require.NotContains(t, carried.Remedy(), "--debug", "a shared object cannot be run")
	require.Equal(t, "do that", (&StartError{Cause: CauseCrash, remedy: "do that"}).Remedy())
}

// TestSpawnErrors checks the cause that is reported for a file that the system does not start.
func TestSpawnErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o700))
		return path
	}
	foreign := uint16(183) // arm64
	if core.Platform() == "linux/arm64" {
		foreign = 62
	}
	script := put("script", []byte("#!/none\n"))
	for _, c := range []struct {
		path   string
		err    error
		cause  Cause
		detail string
	}{
		{script, fs.ErrPermission, CauseNotExecutable, "permission denied"},
		{put("foreign", elf64(foreign, 0)), syscall.ENOEXEC, CauseWrongPlatform, "the file is for linux/"},
		{put("text", []byte("hello")), syscall.ENOEXEC, CauseNotPlugin, "not a program"},
		{script, fs.ErrNotExist, CauseMissingLibrary, "its loader or interpreter is missing"},
		{filepath.Join(dir, "none"), fs.ErrNotExist, CauseNotExecutable, "does not exist"},
		{script, syscall.EAGAIN, CauseSystem, "temporarily unavailable"},
	} {
		if c.err == syscall.ENOEXEC && !isExecFormat(c.err) {
			continue // another system's number
		}
		e := newProcess("x", c.path).diagnoseSpawn(&fs.PathError{Op: "fork/exec", Path: c.path, Err: c.err})
		require.Equal(t, c.cause, e.Cause, c.detail)
		require.Contains(t, e.Detail, c.detail)
	}
	require.Contains(t, newProcess("x", script).diagnoseSpawn(fs.ErrNotExist).Remedy(), "the first line of "+script+" names")
}

// TestExecutable checks that a path that is no program is refused, with a remedy for each case.
func TestExecutable(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	run := filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(run, nil, 0o700))
	require.NoError(t, executable(run))
	require.ErrorIs(t, executable(filepath.Join(dir, "none")), fs.ErrNotExist)
	require.EqualError(t, executable(dir), dir+" is a folder")
	require.Equal(t, "name the file of the plugin: "+dir+" is none", notExecutable(dir))
	require.Contains(t, notExecutable(run), "noexec")
	if needsExecBit {
		require.EqualError(t, executable(plain), "mode -rw------- has no right to execute")
		require.Equal(t, "chmod +x "+plain, notExecutable(plain))
		require.ErrorContains(t, executable(os.DevNull), "is a special file, ")
		require.Equal(t, "see whether this user may read the folders above "+filepath.Join(plain, "x"), notExecutable(filepath.Join(plain, "x")))
	}
}

func TestNameOf(t *testing.T) {
	for path, want := range map[string]string{"burn-backend-cpu": "cpu", "/a/burn-backend-cuda.exe": "cuda", "other": "other", "burn-backend-burn-backend-x": "burn-backend-x"} {
		require.Equal(t, want, NameOf(path))
	}
}

// TestBounded checks that the error of a call that takes too long names the setting that bounds it, that the error of a canceled call does
// not, and that their sentinels differ.
func TestBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := bounded(context.Background(), time.Nanosecond, openSetting)
	<-ctx.Done()
	err := canceled("x", ctx)
	cancel()
	require.ErrorIs(t, err, core.ErrProtocol)
	require.NotErrorIs(t, err, core.ErrCanceled)
	require.ErrorContains(t, err, "plugin x: protocol error: no answer for 1ns; if the device needs longer, raise open_timeout in the configuration (OpenTimeout in Options)")
	_, has := ctx.Deadline()
	require.False(t, has, "the limit is not sent to the plugin")

	outer, stop := context.WithCancelCause(context.Background())
	ctx, cancel = bounded(outer, time.Hour, openSetting)
	defer cancel()
	why := errors.New("enough")
	stop(why)
	<-ctx.Done()
	err = canceled("x", ctx)
	require.ErrorIs(t, err, core.ErrCanceled)
	require.ErrorIs(t, err, why)

	ctx, cancel = bounded(context.Background(), -1, openSetting)
	require.NoError(t, ctx.Err(), "no limit")
	cancel()
	require.ErrorIs(t, canceled("x", ctx), core.ErrCanceled)
}

// TestRebased checks that errors name tensors by the ids of the callers, also after a restart of the plugin.
func TestRebased(t *testing.T) {
	old := func(n uint64) op.Desc { return op.Desc{ID: op.NewTensorID(5, n)} }
	inner := &core.NodeError{Op: "add", Outputs: []op.Desc{old(1), {ID: op.NewTensorID(9, 2)}}, Err: core.ErrShape}
	outer := &core.NodeError{Program: "p", Outputs: []op.Desc{old(3)}, Err: fmt.Errorf("around: %w", inner)}
	(&Backend{generation: 5, ids: 5}).rebased(outer)
	require.Equal(t, old(3), outer.Outputs[0])
	(&Backend{generation: 5, ids: 2}).rebased(fmt.Errorf("stream: %w", outer))
	require.Equal(t, op.NewTensorID(2, 3), outer.Outputs[0].ID)
	require.Equal(t, op.NewTensorID(2, 1), inner.Outputs[0].ID)
	require.Equal(t, op.NewTensorID(9, 2), inner.Outputs[1].ID, "of no generation of this plugin")
	(&Backend{generation: 5, ids: 2}).rebased(nil)
}

// TestTail checks that tail keeps the end of the output without lines of level debug, and reports the first line of a panic.
func TestTail(t *testing.T) {
	var p tail
	for i := range 1000 {
		_, _ = fmt.Fprintf(&p, "line %d %s\n", i, strings.Repeat(".", 50))
	}
	require.LessOrEqual(t, len(p.b), 2*tailSize)
	last := p.last(2)
	require.True(t, strings.HasPrefix(last, "line 998 ") && strings.Contains(last, " | line 999 "), last)
	_, _ = p.Write([]byte(`{"@level":"debug","@message":"x"}` + "\n"))
	_, _ = p.Write([]byte("\n"))
	require.Equal(t, last, p.last(2))
	_, _ = p.Write([]byte(strings.Repeat("y", 1000) + "\n"))
	require.Equal(t, strings.Repeat("y", 300)+"...", p.last(1))
	_, _ = p.Write([]byte("panic: first\n"))
	_, _ = p.Write([]byte("panic: second\n"))
	require.Equal(t, "panic: first", p.last(5))
	require.Empty(t, new(tail).last(5))
	require.Equal(t, strings.Repeat("x", 120)+"...", clip(strings.Repeat("x", 121)))
	require.Equal(t, strings.Repeat("x", 120), clip(strings.Repeat("x", 120)))
}

// TestDebuggingLogger checks that no line of go-plugin is logged above level debug, whichever method logs it.
func TestDebuggingLogger(t *testing.T) {
	var out strings.Builder
	l := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
	d := hclog.Logger(debugging{l})
	for _, d := range []hclog.Logger{d, d.With("k", 1), d.Named("a"), d.Named("a").ResetNamed("b").With("k", 2)} {
		d.Info("loud")
		d.Warn("loud")
		d.Error("loud")
		d.Log(hclog.Error, "loud")
	}
	require.Empty(t, out.String())
	l.SetLevel(hclog.Debug)
	d.With("k", 3).Error("now")
	require.Contains(t, out.String(), "[DEBUG] now: k=3")
	l.SetLevel(hclog.Trace)
	d.Log(hclog.Trace, "fine")
	require.Contains(t, out.String(), "[TRACE] fine")
}
