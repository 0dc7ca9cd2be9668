package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/internal/long"
)

// printHash makes TestSuiteHash print the hash of the suite of its process.
const printHash = "BURN_TEST_PRINT_HASH"

// The suite is the same in every process: 100 of them with BURN_LONG, 10 without. An order taken from a map of four entries
// would pass ten of them once in 10^5 runs.
func TestSuiteHash(t *testing.T) {
	if os.Getenv(printHash) != "" {
		fmt.Printf("hash %s\n", conformance.Current().Hash)
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	want := "hash " + conformance.Current().Hash
	for range 100 / long.Every(10) {
		c := exec.Command(self, "-test.run=^TestSuiteHash$", "-test.v=false")
		c.Env = append(os.Environ(), printHash+"=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		line, _, _ := strings.Cut(string(out), "\n")
		require.Equal(t, want, line)
	}
}

// Verify says the same of one package each time: 1,000 times with BURN_LONG, 20 without.
func TestVerifyAgrees(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	_, err := quantReport(t).WritePackage(path)
	require.NoError(t, err)
	first, err := conformance.Verify(path)
	require.NoError(t, err)
	require.Equal(t, conformance.Current().Hash, first.Suite.Hash)
	for range 1000 / long.Every(50) {
		m, err := conformance.Verify(path)
		require.NoError(t, err)
		require.Equal(t, first, m)
	}
}
