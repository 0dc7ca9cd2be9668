package fakeplugin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/sdk/wire"
)

// Env, when set, turns a test binary whose TestMain calls Maybe into a plugin. Its value selects the behaviour of the plugin.
const Env = "BURN_FAKE_PLUGIN"

// The behaviours.
const (
	Good           = "good"
	CrashAtStart   = "crash_at_start"
	MissingLibrary = "missing_library"
	ExitQuietly    = "exit_quietly"
	Silent         = "silent"          // never sends a handshake
	WrongHandshake = "wrong_handshake" // a line that is no handshake
	OtherCore      = "other_core"      // a handshake of another go-plugin version
	NoLineEnd      = "no_line_end"     // endless output without a line break
	NewerVersion   = "newer_version"
	FirstVersion   = "first_version"
	FloodStderr    = "flood_stderr" // endless stderr output while serving
	FloodStdout    = "flood_stdout" // output that bypasses Go's os.Stdout, while serving
	IgnoreHost     = "ignore_host"  // does not watch the host; only the kernel does
	Forks          = "forks"        // starts a process that sleeps, and logs its pid
	Leaves         = "leaves"       // starts a process in its own session, and logs its pid (Linux)
	Hides          = "hides"        // like Leaves, and the process has no environment
	Acts           = "acts"         // tries forbidden actions, and logs the results (Linux)
	Tells          = "tells"        // logs its environment and its folder
	NoiseOnStdout  = "noise_stdout" // a line after the handshake
	Killed         = "killed"       // kills itself by SIGKILL before the handshake
	RefusesTLS     = "refuses_tls"  // accepts no certificate of a host
	KilledOnce     = "killed_once"  // like Killed, unless the file named by EnvMark exists, which it creates
)

// EnvMark is the variable that names the file of KilledOnce.
const EnvMark = "BURN_FAKE_MARK"

// Maybe turns the process into a fake plugin if it was started as one. It then does not return.
func Maybe() {
	mode := os.Getenv(Env)
	if mode == "" || os.Getenv(wire.CookieKey) == "" && len(os.Args) == 1 {
		return
	}
	o := serve.Options{Name: "fake", Open: New}
	switch mode {
	case Good:
		serve.Main("fake", New)
	case CrashAtStart:
		fmt.Fprintln(os.Stderr, "fake: reading the firmware")
		panic("no firmware")
	case MissingLibrary:
		fmt.Fprintln(os.Stderr, "burn-backend-fake: error while loading shared libraries: libfake.so.9: cannot open shared object file: No such file or directory")
		os.Exit(127)
	case ExitQuietly:
		os.Exit(0)
	case Silent:
		time.Sleep(time.Hour)
	case WrongHandshake:
		fmt.Println("Welcome to fake 9.1, the friendly shell")
		time.Sleep(time.Hour)
	case OtherCore:
		fmt.Println("2|1|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	case NoLineEnd:
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 4096)); err != nil {
				os.Exit(1)
			}
		}
	case NewerVersion:
		o.Protocol = wire.Range{Min: wire.Version + 4, Max: wire.Version + 6}
	case FirstVersion:
		o.Protocol = wire.Range{Min: 1, Max: 1}
	case FloodStderr:
		go flood(os.Stderr, "noise on standard error\n")
	case FloodStdout:
		out := os.Stdout // go-plugin replaces the variable, not the file
		inner := o.Open
		o.Open = func(c core.Config) (core.Backend, error) { // called after the handshake
			go flood(out, strings.Repeat("noise without a line end", 100))
			return inner(c)
		}
	case NoiseOnStdout:
		out := os.Stdout
		o.Open = func(c core.Config) (core.Backend, error) {
			fmt.Fprintln(out, "loading the firmware")
			return New(c)
		}
	case Forks:
		cmd := exec.Command("sleep", "1000")
		cmd.Stderr = os.Stderr // stays open as long as the process lives
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
	case Leaves, Hides:
		leave(mode == Hides)
	case Acts:
		acts()
	case Tells:
		dir, _ := os.Getwd()
		line, _ := json.Marshal(map[string]any{"@level": "warn", "@module": "fake.inner", "@message": "told", "dir": dir,
			"environment": os.Environ()})
		fmt.Fprintf(os.Stderr, "%s\n", line)
	case RefusesTLS:
		if err := refuses(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case Killed:
		killSelf()
	case KilledOnce:
		if f, err := os.OpenFile(os.Getenv(EnvMark), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = f.Close()
			killSelf()
		}
	case IgnoreHost:
		os.Unsetenv(wire.EnvHostPID)
		os.Unsetenv(wire.EnvHostPipe)
	default:
		fmt.Fprintln(os.Stderr, "fake: unknown behaviour "+mode)
		os.Exit(9)
	}
	if err := serve.Serve(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

func flood(f *os.File, text string) {
	for {
		if _, err := f.WriteString(text); err != nil {
			return
		}
	}
}
