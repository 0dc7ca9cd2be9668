package backends_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/protocol"
	"github.com/goburn/burn/internal/long"
)

// certified checks that the plugin that command starts keeps the rules of the protocol. For a shared object, the command is a carrier
// program.
func certified(t *testing.T, command ...string) {
	t.Helper()
	o := protocol.Options{Command: command, Debug: len(command) == 1}
	o.Patience = 30 * time.Second // Python takes 5 to decode 65,537 names
	if !long.Tests() {            // the rules for starts and ends of processes take most of the time, and plugins on one carrier behave alike there
		o.Run = regexp.MustCompile("^(services|frames|data|events|checks|poison|nodes|programs|errors|plane)/")
	}
	r, err := protocol.Check(context.Background(), o)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	require.NoError(t, r.Err(), "%s", text.String())
	t.Logf("protocol: %d rules kept, %d do not apply", r.Passed, r.Skipped)
}

func TestNumpyProtocol(t *testing.T) {
	t.Parallel()
	python(t)
	certified(t, filepath.FromSlash("numpy/burn-backend-numpy"))
}

func TestPlainProtocol(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: this test builds a plugin with it")
	}
	out := filepath.Join(t.TempDir(), "burn-backend-plain")
	text, err := exec.Command(goTool, "build", "-o", out, "./plain").CombinedOutput()
	require.NoError(t, err, "%s", text)
	certified(t, out)
}

func TestCProtocol(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	buildC(t, "cabi", out)
	certified(t, append(carrier(t, out).Carrier, filepath.Join(out, "burn-backend-cabi.so"))...)
}

// mutants are faulty variants of the Python carrier. In file, from is replaced by to; rule is the protocol rule that this breaks.
var mutants = []struct {
	name, file, from, to, rule string
}{
	{"no watch of standard input", "process.py", `os.environ.get("BURN_HOST_PIPE") == "stdin"`, "False", "end/stdin"},
	{"no watch of the parent", "process.py", "os.getppid() == host", "True", "end/parent"},
	{"no watch of connections", "process.py", "if before and not there:", "if False:", "end/connection"},
	{"no certificate of the client", "process.py", "root_certificates=client.encode(), require_client_auth=True", "require_client_auth=False", "tls/no-certificate"},
	{"more on standard output", "process.py", "done.wait()", `print("ready", flush=True); done.wait()`, "start/stdout"},
	{"MaxInline is ignored", "stream.py", "if t.nbytes > codec.MAX_INLINE:", "if False:", "frames/max-inline"},
	{"empty frames", "stream.py", "if not r.more():\n            raise broken", "if False:\n            raise broken", "frames/empty"},
	{"ids that exist", "device.py", "if tensor_id in self.tensors:", "if False:", "checks/twice"},
	{"stale is unknown", "device.py", "stale = tensor_id >> GENERATION_SHIFT != self.generation", "stale = False", "checks/stale"},
	{"canceled failures are lost", "stream.py", "if request in self.canceled:\n            self._reply", "if request in self.canceled:\n            self.failures = []\n            self._reply", "events/cancel-failure"},
}

func TestPythonMutants(t *testing.T) {
	t.Parallel()
	python(t)
	for i, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if !long.Tests() && i%3 != 0 {
				t.Skip("one in three mutants; BURN_LONG=1 tries them all")
			}
			dir := filepath.Join(t.TempDir(), "plugin")
			require.NoError(t, os.CopyFS(dir, os.DirFS("numpy")))
			require.NoError(t, os.Chmod(filepath.Join(dir, "burn-backend-numpy"), 0o755))
			path := filepath.Join(dir, "burnplugin", m.file)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), m.from), "the mutant has no place in %s", m.file)
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o644))
			r, err := protocol.Check(context.Background(), protocol.Options{Command: []string{filepath.Join(dir, "burn-backend-numpy")},
				Run: regexp.MustCompile("^" + m.rule + "$")})
			require.NoError(t, err)
			require.Len(t, r.Results, 1)
			require.Equal(t, protocol.Failed, r.Results[0].Status, "%s is not caught", m.name)
		})
	}
}
