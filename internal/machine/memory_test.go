package machine

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemory checks that Memory is positive and at most MemTotal of /proc/meminfo: a process may have less memory than the machine.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux: the test compares with /proc/meminfo")
	}
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	m := regexp.MustCompile(`MemTotal: +(\d+) kB`).FindSubmatch(text)
	require.NotNil(t, m)
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	require.Positive(t, Memory())
	require.LessOrEqual(t, Memory(), kib<<10)
}
