package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/internal/long"
)

// inChild names the environment variable that makes TestInChild print the hash of the suite of its process. Unless the value is
// "-", it is the path of a report package, and TestInChild also prints what conformance.Verify returns for it.
const inChild = "BURN_TEST_IN_CHILD"

func TestInChild(t *testing.T) {
	path := os.Getenv(inChild)
	if path == "" {
		t.Skipf("%s is not set: other tests start this test in separate processes", inChild)
	}
	fmt.Printf("suite %s", conformance.Current().Hash)
	if path != "-" {
		m, err := conformance.Verify(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf(" of report %s digest %s", m.Suite.Hash, m.Digest)
	}
	fmt.Println()
}

// children runs TestInChild in n processes and requires that each prints the line want.
func children(t *testing.T, n int, path, want string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	outs, errs := make([]string, n), make([]error, n)
	turn := make(chan struct{}, runtime.NumCPU())
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			c := exec.Command(self, "-test.run=^TestInChild$", "-test.v=false")
			c.Env = append(os.Environ(), inChild+"="+path)
			out, err := c.CombinedOutput()
			outs[i], errs[i] = string(out), err
		})
	}
	all.Wait()
	for i, out := range outs {
		require.NoError(t, errs[i], out)
		line, _, _ := strings.Cut(out, "\n")
		require.Equal(t, want, line, "process %d of %d", i, n)
	}
}

// The suite is the same in every process: in 100 of them with BURN_LONG, in 10 without. A hash that depended on the order of a map
// of four entries, whose likeliest order has a share of 5/8, would be equal in ten processes and this one with probability
// (5/8)^11, once in 176 runs. 100 processes would reveal it.
func TestSuiteHash(t *testing.T) {
	t.Parallel()
	children(t, 100/long.Every(10), "-", "suite "+conformance.Current().Hash)
}

// Verify returns the same hash and digest for one package in every process: in 1,000 processes with BURN_LONG, in 10 without.
func TestVerifyAgrees(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	digest, err := quantReport(t).WritePackage(path)
	require.NoError(t, err)
	hash := conformance.Current().Hash
	children(t, 1000/long.Every(100), path, fmt.Sprintf("suite %s of report %s digest %s", hash, hash, digest))
}
