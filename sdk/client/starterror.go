package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// Cause is the reason for which a plugin could not be started.
type Cause string

// The causes.
const (
	CauseNotExecutable  Cause = "not executable"
	CauseWrongPlatform  Cause = "wrong platform"
	CauseMissingLibrary Cause = "missing shared library"
	CauseNotPlugin      Cause = "not a burn plugin"
	CauseProtocol       Cause = "protocol mismatch"
	CauseCrash          Cause = "crash at start"
	CauseTimeout        Cause = "timeout"
	CauseOpen           Cause = "backend does not open"
	CauseSystem         Cause = "system"
)

// StartError is the reason why a plugin could not be started. It wraps a sentinel of core.
type StartError struct {
	Plugin string
	Path   string
	Cause  Cause
	Detail string
	Stderr string // the last lines of the plugin's standard error
	Err    error

	remedy  string
	outside bool // a signal from outside this program ended the process
	carried bool // the plugin is a shared object, which another program runs
}

var errNoProcess = fmt.Errorf("WebAssembly starts no processes: import the backend into the program and open it with tensor.Open: %w", core.ErrUnsupported)

// Error prints "plugin cpu (path): cause: detail".
func (e *StartError) Error() string {
	s := "plugin " + e.Plugin
	if e.Path != "" {
		s += " (" + e.Path + ")"
	}
	s += ": " + string(e.Cause) + ": " + e.Detail
	if e.Stderr != "" && e.Cause != CauseMissingLibrary {
		s += "; last output: " + e.Stderr
	}
	return s
}

// Unwrap returns the sentinel or cause.
func (e *StartError) Unwrap() error { return e.Err }

// Transient reports whether another start may succeed, because the process did not end by itself: it was killed by a signal that users or
// the system send, for example when memory is short.
func (e *StartError) Transient() bool { return e.outside }

// Remedy returns what the user can do about it.
func (e *StartError) Remedy() string {
	if e.remedy != "" {
		return e.remedy
	}
	switch e.Cause {
	case CauseNotExecutable:
		return notExecutable(e.Path)
	case CauseWrongPlatform:
		return "get the build for " + core.Platform() + ": " + wire.InstallRemedy(e.Plugin)
	case CauseMissingLibrary:
		return "install the library named above, or add its folder to " + libraryPath()
	case CauseNotPlugin:
		return "remove " + e.Path + " from the plugin folders, or build it with sdk/serve"
	case CauseProtocol:
		return "report it to the plugin's author; " + e.debug() + " shows its output"
	case CauseTimeout:
		return "raise " + startSetting + "; " + e.debug() + " shows where it hangs"
	case CauseOpen:
		return "see the error: the plugin works, its device or driver does not"
	case CauseCrash:
		return "report it to the plugin's author; " + e.debug() + " reproduces the crash"
	}
	return "see the error"
}

// debug returns how to observe the plugin. A shared object is not a program that can be run by itself.
func (e *StartError) debug() string {
	if e.carried || e.Path == "" {
		return "the log at level debug"
	}
	return "`" + e.Path + " --debug` or the log at level debug"
}

// notExecutable returns the remedy for a path that this user cannot execute.
func notExecutable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "see whether the path is right: " + path + " is not there"
	case err != nil:
		return "see whether this user may read the folders above " + path
	case !info.Mode().IsRegular():
		return "name the file of the plugin: " + path + " is none"
	case needsExecBit && info.Mode()&0o111 == 0:
		return "chmod +x " + path
	}
	return "see whether this user may execute " + path + ", and whether its file system is mounted with noexec"
}

// libraryPath returns the variable with the folders of shared libraries.
func libraryPath() string {
	switch runtime.GOOS {
	case "darwin":
		return "DYLD_LIBRARY_PATH"
	case "windows":
		return "PATH"
	}
	return "LD_LIBRARY_PATH"
}

func (p *process) startError(c Cause, err error) *StartError {
	e := &StartError{carried: p.cmd != nil && len(p.cmd.Args) > 1, Plugin: p.name, Path: p.path, Cause: c, Detail: err.Error(), Err: err, Stderr: p.tail.last(5)}
	known := false
	for _, s := range core.Sentinels() {
		known = known || errors.Is(err, s)
	}
	if known {
		return e
	}
	switch c {
	case CauseNotExecutable:
		e.Err = fmt.Errorf("%w: %w", core.ErrNotFound, err)
	case CauseWrongPlatform, CauseMissingLibrary:
		e.Err = fmt.Errorf("%w: %w", core.ErrUnsupported, err)
	case CauseNotPlugin, CauseProtocol:
		e.Err = fmt.Errorf("%w: %w", core.ErrProtocol, err)
	default:
		e.Err = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
	}
	return e
}

var missingLibrary = regexp.MustCompile(`error while loading shared libraries: .*|Library not loaded: .*|.*: cannot open shared object file.*`)

// tlsFailure matches the message of Go's TLS for a handshake that failed, or that the other side refused.
var tlsFailure = regexp.MustCompile(`(remote error: tls: |tls: |x509: ).*`)

// hungUp matches gRPC's message that the other side closed the connection after its TLS handshake. In TLS 1.3, a server that refuses the
// client's certificate sends an alert and closes the connection. The alert is lost if the client writes before it reads.
var hungUp = regexp.MustCompile(`failed to write client preface|: (read|write): (broken pipe|connection reset by peer)`)

// outside reports whether the process was ended by a signal that users or the system send, and not by this program.
func (p *process) outside() bool {
	if !p.ended() || p.state == nil || p.byUs() {
		return false
	}
	name, _, _ := strings.Cut(killedBy(p.state), " ")
	return slices.Contains([]string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"}, name)
}

// diagnose determines why the start failed with err.
func (p *process) diagnose(ctx context.Context, err error) *StartError {
	e := p.cause(ctx, err)
	p.confined.explain(e)
	return e
}

func (p *process) cause(ctx context.Context, err error) *StartError {
	p.mu.Lock()
	spawnErr := p.spawnErr
	p.mu.Unlock()
	if spawnErr != nil {
		return p.diagnoseSpawn(spawnErr)
	}
	if ctx.Err() == nil { // until the process has ended, a crash cannot be distinguished from an invalid handshake
		p.await(200 * time.Millisecond)
	}
	line, text := p.handshake(), p.tail.last(20)
	crashed := p.ended() && !p.byUs()
	strange := line != "" && strings.Count(line, "|") < 3 // a handshake is CORE|APP|NETWORK|ADDR|...
	switch {
	case crashed && killedBy(p.state) != "":
		when := "before"
		if line != "" && !strange {
			when = "after"
		}
		e := p.startError(CauseCrash, fmt.Errorf("it was killed %s the handshake, by signal %s", when, killedBy(p.state)))
		e.outside = p.outside()
		if strings.HasPrefix(killedBy(p.state), "SIGKILL") {
			e.remedy = "start it again; if it is killed each time, look for a lack of memory in the system's log, and for the last output of the plugin: " + e.debug() + " shows it"
		}
		return e
	case crashed && missingLibrary.MatchString(text):
		return p.startError(CauseMissingLibrary, errors.New(missingLibrary.FindString(text)))
	case strange:
		return p.startError(CauseNotPlugin, fmt.Errorf("it says %q, want a handshake of go-plugin", clip(line)))
	case crashed && line == "" && p.state.Success():
		return p.startError(CauseNotPlugin, errors.New("it ended without a handshake"))
	case crashed && line == "":
		return p.startError(CauseCrash, fmt.Errorf("it ended before the handshake, %s", p.how()))
	case tlsFailure.MatchString(err.Error()) || !crashed && hungUp.MatchString(err.Error()):
		what := tlsFailure.FindString(firstLine(err))
		if what == "" {
			what = "it closed the connection behind the handshake, as one does that refuses the certificate of the host"
		}
		e := p.startError(CauseProtocol, fmt.Errorf("TLS: %s", clip(what)))
		e.remedy = "report it to the plugin's author: section 2 of PROTOCOL.md defines the certificates of both sides, and `burn conformance protocol` checks it"
		return e
	case strings.Contains(err.Error(), "incompatible"):
		return p.startError(CauseProtocol, fmt.Errorf("handshake %q: %s", clip(line), firstLine(err)))
	case crashed:
		return p.startError(CauseCrash, fmt.Errorf("it ended after the handshake, %s", p.how()))
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return p.startError(CauseTimeout, fmt.Errorf("given up: %w: %w", core.ErrCanceled, context.Cause(ctx)))
	case ctx.Err() != nil || strings.Contains(err.Error(), "timeout while waiting"):
		what := "no handshake in time"
		if line != "" {
			what = "no answer to hello in time"
		}
		return p.startError(CauseTimeout, errors.New(what))
	}
	return p.startError(CauseNotPlugin, fmt.Errorf("handshake %q: %s", clip(line), firstLine(err)))
}

func (p *process) diagnoseSpawn(err error) *StartError {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return p.startError(CauseNotExecutable, err)
	case isExecFormat(err):
		if what := FormatOf(p.path); what != "" && what != core.Platform() {
			return p.startError(CauseWrongPlatform, fmt.Errorf("the file is for %s, this is %s", what, core.Platform()))
		}
		return p.startError(CauseNotPlugin, fmt.Errorf("not a program: %w", err))
	case errors.Is(err, fs.ErrNotExist):
		if _, e := os.Stat(p.path); e == nil {
			e := p.startError(CauseMissingLibrary, fmt.Errorf("its loader or interpreter is missing: %w", err))
			e.remedy = "install the interpreter that the first line of " + p.path + " names, or the loader that `file " + p.path + "` names"
			return e
		}
		return p.startError(CauseNotExecutable, err)
	}
	return p.startError(CauseSystem, err)
}

// executable returns an error for a missing file, a folder, or a file that is not executable.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is a special file, %v", path, info.Mode().Type())
	case needsExecBit && info.Mode()&0o111 == 0:
		return fmt.Errorf("mode %v has no right to execute", info.Mode())
	}
	return nil
}

// NameOf returns the name of a plugin from its file: cpu for burn-backend-cpu.exe.
func NameOf(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	return strings.TrimPrefix(base, "burn-backend-")
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}
