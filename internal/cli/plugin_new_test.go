package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The generated plugin builds as its README describes, with the checkout that the test runs in.
func TestPluginNewBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a plugin")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH")
	}
	env := append(os.Environ(), "GOWORK=off") // taken before call sets another home, so that go uses the caches of the user
	dir := filepath.Join(t.TempDir(), "burn-backend-npu")
	r := call(t, "plugin", "new", "npu", "--lang", "go", "--dir", dir)
	require.Equal(t, 0, r.code, r.err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.Contains(t, r.out, "it is built with the checkout of burn in "+root+": go.mod replaces the module by it\n")
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "replaces it by the checkout in `"+root+"`")
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", filepath.Join(t.TempDir(), "burn-backend-npu"), "."}} {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = dir
		cmd.Env = env
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, text)
	}
}

func TestPluginNewRefuses(t *testing.T) {
	dir, empty := filepath.Join(t.TempDir(), "new"), t.TempDir()
	r := call(t, "plugin", "new", "npu", "--lang", "go", "--dir", dir, "--burn", empty)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "plugin new: --burn: want the folder of a checkout of burn: ")
	require.NoDirExists(t, dir)

	t.Chdir(empty)
	r = call(t, "plugin", "new", "npu", "--lang", "c", "--dir", dir) // a plugin in C needs no checkout
	require.Equal(t, 0, r.code, r.err)
}
