//go:build linux || darwin || windows

package title_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/title"
)

// hidden is the name of an environment variable. If it is set, TestHide hides its command line, then prints the command line that other processes see
// and the arguments that it still has.
const hidden = "BURN_TEST_TITLE"

// Two processes that hide command lines of different lengths show the same command line, and keep their arguments.
func TestHide(t *testing.T) {
	if os.Getenv(hidden) != "" {
		if !title.Hide("burn") || !title.Hide("burn") {
			os.Exit(3)
		}
		line, err := commandLine()
		if err != nil {
			os.Exit(4)
		}
		_, _ = os.Stdout.WriteString(line + "\n" + strings.Join(os.Args[1:], " ") + "\n")
		os.Exit(0)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, more := range [][]string{{"a", "", "c"}, {"conformance", "run", strings.Repeat("x", 5000)}} {
		args := append([]string{"-test.run=^TestHide$"}, more...)
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), hidden+"=1")
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, shown+"\n"+strings.Join(args, " ")+"\n", string(out))
	}
}
