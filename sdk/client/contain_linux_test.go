package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/client/contain"
)

// victim returns environment variables that name targets for an intruder: a file, a unix socket and a TCP port that are not its
// own.
func victim(t *testing.T) (env []string) {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	for _, l := range []net.Listener{socket, port} {
		t.Cleanup(func() { _ = l.Close() })
	}
	return []string{fake.EnvSecret + "=" + secret, fake.EnvSocket + "=" + filepath.Join(dir, "s"),
		fake.EnvPort + "=" + port.Addr().String(), fake.EnvDevice + "=/dev/ptmx"}
}

// usual lists what every plugin must be allowed to do.
var usual = []string{"read a library", "read the topology", "read its status", "write in its folder", "write to null",
	"temporary file", "listen on a socket", "start a program", "a thread's priority"}

func tried(t *testing.T, o client.Options) (results map[string]string, report contain.Report) {
	t.Helper()
	o.Env = append(o.Env, victim(t)...)
	b, r, err := logged(t, fake.Acts, o)
	require.NoError(t, err)
	results = actsOf(t, r)
	require.NoError(t, core.Sync(context.Background(), open(t, b)), "it serves nevertheless")
	return results, b.Containment()
}

func actsOf(t *testing.T, r *record) (results map[string]string) {
	t.Helper()
	text, _ := r.find(t, "acts")["results"].(string)
	require.NoError(t, json.Unmarshal([]byte(text), &results), text)
	return results
}

func complete(t *testing.T) {
	t.Helper()
	if missing := contain.Probe().Missing(); len(missing) > 0 {
		t.Skipf("this kernel lacks a part: %v", missing)
	}
}

// TestContained has a plugin try forbidden and usual actions: no forbidden action succeeds, and every usual one does.
func TestContained(t *testing.T) {
	complete(t)
	results, report := tried(t, client.Options{Contain: &contain.Needs{}, Strict: true})
	require.Greater(t, len(results), len(usual)+20)
	for name, result := range results {
		switch {
		case name == "signal the host" && !inForce(report, contain.Signals):
		case contains(usual, name):
			require.Empty(t, result, name)
		default:
			require.NotEmpty(t, result, "it could: %s", name)
		}
	}
	require.Empty(t, report.Missing())
}

// TestNotContained checks that the actions of TestContained succeed without rules, as far as the machine allows them.
func TestNotContained(t *testing.T) {
	results, report := tried(t, client.Options{})
	for _, name := range append([]string{"read a secret", "change a file", "cut a file off", "make a file", "list a folder", "connect to a socket",
		"connect to a port", "send a packet", "listen on a port", "signal the host", "read the host's variables", "a session of its own",
		"a group of its own", "a packet of a unix socket", "a socket of another family"}, usual...) {
		require.Empty(t, results[name], name)
	}
	require.False(t, inForce(report, contain.Files))
}

// TestNeeds checks that a plugin may do what its declared needs permit, and no more.
func TestNeeds(t *testing.T) {
	complete(t)
	for name, c := range map[string]struct {
		needs   contain.Needs
		now     []string
		further []string // which stay refused
	}{
		"network": {contain.Needs{Network: true}, []string{"connect to a socket", "connect to a port", "send a packet", "listen on a port"}, []string{"read a secret", "use a device"}},
		"devices": {contain.Needs{Devices: []string{"/dev/ptm*"}}, []string{"use a device"}, []string{"read a secret", "connect to a port"}},
	} {
		t.Run(name, func(t *testing.T) {
			results, _ := tried(t, client.Options{Contain: &c.needs})
			for _, act := range append(c.now, usual...) {
				require.Empty(t, results[act], act)
			}
			for _, act := range c.further {
				require.NotEmpty(t, results[act], act)
			}
		})
	}
	env := victim(t)
	secret := strings.TrimPrefix(env[0], fake.EnvSecret+"=")
	for _, c := range []struct {
		needs   contain.Needs
		changed bool
	}{{contain.Needs{Read: []string{filepath.Dir(secret)}}, false}, {contain.Needs{Write: []string{filepath.Dir(secret)}}, true}} {
		_, r, err := logged(t, fake.Acts, client.Options{Contain: &c.needs, Env: env})
		require.NoError(t, err)
		results := actsOf(t, r)
		require.Empty(t, results["list a folder"])
		require.Equal(t, c.changed, results["make a file"] == "", "%v", results["make a file"])
	}
}

// TestKernelSays reads from the kernel, and not from the report, what is in force.
func TestKernelSays(t *testing.T) {
	complete(t)
	status := func(needs *contain.Needs) string {
		b, _, err := logged(t, fake.Good, client.Options{Contain: needs})
		require.NoError(t, err)
		text, err := os.ReadFile("/proc/" + b.PID() + "/status")
		require.NoError(t, err)
		require.NoError(t, b.Close())
		return string(text)
	}
	text := status(&contain.Needs{})
	for _, want := range []string{`NoNewPrivs:\s+1`, `Seccomp:\s+2`, `CapEff:\s+0+\n`, `CapPrm:\s+0+\n`, `CapAmb:\s+0+\n`} {
		require.Regexp(t, want, text)
	}
	require.Regexp(t, `NoNewPrivs:\s+0`, status(nil), "the host itself and what it starts without rules are free")
	own, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	require.Regexp(t, `Seccomp:\s+0`, string(own))
}

// TestHostStaysFree starts contained plugins and checks that their rules never apply to a thread of this process.
func TestHostStaysFree(t *testing.T) {
	complete(t)
	path := filepath.Join(t.TempDir(), "mine")
	for range 5 {
		b, _, err := logged(t, fake.Good, client.Options{Contain: &contain.Needs{}})
		require.NoError(t, err)
		done := make(chan error)
		const tries = 64
		for range tries {
			go func() { done <- os.WriteFile(path, []byte("x"), 0o600) }()
		}
		for range tries {
			require.NoError(t, <-done)
		}
		require.NoError(t, b.Close())
	}
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, task := range tasks {
			if text, err := os.ReadFile(task); err == nil && strings.Contains(string(text), "Seccomp:\t2") {
				return false
			}
		}
		return true
	}, patience, 5*time.Millisecond, "a thread with rules is left")
}

func inForce(r contain.Report, name string) bool {
	for _, m := range r {
		if m.Name == name {
			return m.InForce
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestDescendants checks that a process that a plugin has started, also in a session of its own, ends with the plugin, whether the plugin
// is closed, the plugin is killed or its host is killed.
func TestDescendants(t *testing.T) {
	private(t)
	for _, groups := range []bool{true, false} {
		for _, mode := range []string{fake.Forks, fake.Leaves, fake.Hides} {
			for _, end := range []string{"closed", "killed", "host killed"} {
				t.Run(fmt.Sprintf("%s/%s/groups=%t", mode, end, groups), func(t *testing.T) {
					if mode == fake.Hides && (!groups || !delegated(t)) {
						t.Skip("without a control group or rules nothing finds a process that left its group and its environment")
					}
					if end == "host killed" {
						hostKilled(t, mode, groups)
						return
					}
					if !groups {
						defer client.WithoutGroups()()
					}
					b, r, err := logged(t, mode, client.Options{})
					require.NoError(t, err)
					var child, pid int
					_, err = fmt.Sscanf(r.find(t, "child ")["@message"].(string), "child %d", &child)
					require.NoError(t, err)
					require.True(t, running(child))
					if end == "killed" {
						_, _ = fmt.Sscan(b.PID(), &pid)
						require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
						<-b.Lost()
					}
					require.NoError(t, b.Close())
					require.Eventually(t, func() bool { return !running(child) }, patience, time.Millisecond)
				})
			}
		}
	}
}

func delegated(t *testing.T) bool {
	t.Helper()
	g, err := contain.NewGroup(fmt.Sprintf("test-%d", os.Getpid()), 0)
	if err != nil {
		return false
	}
	require.NoError(t, g.Remove())
	return true
}

// hostKilled kills a host whose plugin has started a process.
func hostKilled(t *testing.T, mode string, groups bool) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperParent$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, fmt.Sprintf("BURN_TEST_PARENT=%s %t", mode, groups))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid, child int
	for lines := bufio.NewScanner(out); child == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "plugin %d child %d", &pid, &child)
	}
	require.NotZero(t, child)
	require.True(t, running(pid) && running(child))
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	_, mark, ok := strings.Cut(string(env), "BURN_PLUGIN_RUN=")
	require.True(t, ok)
	mark, _, _ = strings.Cut(mark, "\x00")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return !running(pid) && !running(child) }, patience, 5*time.Millisecond)
	group, err := contain.NewGroup("of-a-test", 0)
	if err != nil {
		return
	}
	require.NoError(t, group.Remove())
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(group.Dir()), "burn-plugin-"+mark+"*"))
		return err == nil && len(left) == 0
	}, patience, 10*time.Millisecond)
}

// TestHelperParent is the host that hostKilled kills.
func TestHelperParent(t *testing.T) {
	mode, groups, ok := strings.Cut(os.Getenv("BURN_TEST_PARENT"), " ")
	if !ok {
		t.Skip("only runs as a helper of TestDescendants")
	}
	if groups == "false" {
		defer client.WithoutGroups()()
	}
	b, r, err := logged(t, mode, client.Options{})
	require.NoError(t, err)
	fmt.Printf("plugin %s %s\n", b.PID(), r.find(t, "child ")["@message"])
	select {}
}

// TestSweptProcesses kills a host and its guard at once, and checks that the next host ends the process that they left.
func TestSweptProcesses(t *testing.T) {
	dir := private(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperParent$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "BURN_TEST_PARENT="+fake.Leaves+" false")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid, child int
	for lines := bufio.NewScanner(out); child == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "plugin %d child %d", &pid, &child)
	}
	require.NotZero(t, child)
	for _, guard := range childrenOf(t, cmd.Process.Pid) {
		if guard != pid {
			require.NoError(t, syscall.Kill(guard, syscall.SIGKILL))
		}
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return !running(pid) }, patience, 5*time.Millisecond)
	require.True(t, running(child), "nobody is left to end it")
	left, _ := filepath.Glob(filepath.Join(dir, "burn-host-*"))
	require.Len(t, left, 1)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(left[0], old, old))
	b, err := started(t, fake.Good, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !running(child) }, patience, 5*time.Millisecond)
	require.NoError(t, b.Close())
}

// childrenOf lists the processes that a process has started.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		_, rest, ok := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); err == nil && ok && len(f) > 1 && f[1] == fmt.Sprint(pid) {
			var child int
			_, err := fmt.Sscan(filepath.Base(filepath.Dir(path)), &child)
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}

// TestContainedChildren checks that under the rules no process leaves its group, so that the end of the group ends all processes.
func TestContainedChildren(t *testing.T) {
	complete(t)
	defer client.WithoutGroups()()
	for _, mode := range []string{fake.Leaves, fake.Hides} {
		_, r, err := logged(t, mode, client.Options{Contain: &contain.Needs{}})
		require.NoError(t, err)
		require.Contains(t, r.find(t, "child")["@message"], "no child: ")
	}
	b, r, err := logged(t, fake.Forks, client.Options{Contain: &contain.Needs{}})
	require.NoError(t, err)
	var child int
	_, err = fmt.Sscanf(r.find(t, "child ")["@message"].(string), "child %d", &child)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return !running(child) }, patience, time.Millisecond)
}
