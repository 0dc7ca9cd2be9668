package contain_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/client/contain"
)

// TestGroup checks that a group has its limits where controllers are delegated, and that Kill ends the processes in it.
func TestGroup(t *testing.T) {
	const memory = 64 << 20
	g, err := contain.NewGroup(fmt.Sprintf("test-of-bounds-%d", os.Getpid()), memory)
	if err != nil {
		t.Skipf("this system delegates no control group: %v", err)
	}
	defer func() { require.NoError(t, g.Remove()) }()
	for file, want := range map[string]string{"pids.max": "8192", "memory.max": fmt.Sprint(memory), "memory.oom.group": "1"} {
		text, err := os.ReadFile(filepath.Join(g.Dir(), file))
		controller, _, _ := strings.Cut(file, ".")
		if os.IsNotExist(err) { // the controller is not delegated
			require.NotContains(t, g.Bounds, map[string]string{"pids": "processes", "memory": "memory"}[controller])
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(string(text)), file)
	}
	if !contain.Bounding() {
		require.Empty(t, g.Bounds)
	}
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	require.NoError(t, g.Add(cmd.Process.Pid))
	require.NoError(t, g.Kill())
	require.ErrorContains(t, cmd.Wait(), "killed")
}
