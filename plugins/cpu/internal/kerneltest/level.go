package kerneltest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// again is the environment variable that AtEveryLevel sets in the processes that it starts.
const again = "KERNELTEST_AGAIN"

// AtEveryLevel runs the tests of the package again, in one process for each lower instruction set level, with -short and without the tests
// named in slow. It does nothing in those processes. It skips t with -short and outside amd64, where tests may run in an emulator that
// cannot start their binary.
func AtEveryLevel(t *testing.T, slow ...string) {
	if os.Getenv(again) != "" {
		return
	}
	if runtime.GOARCH != "amd64" || testing.Short() {
		t.Skip("with -short and outside amd64, only at the level of the environment")
	}
	for _, level := range []string{"avx2", "portable"} {
		set, err := cpuid.Restrict(cpuid.Active(), level)
		if err != nil {
			t.Fatal(err)
		}
		if set == cpuid.Active() {
			continue
		}
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.short", "-test.timeout=5m", "-test.skip=^("+strings.Join(slow, "|")+")$")
			c.Env = append(os.Environ(), cpuid.Env+"="+level, again+"=1")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("level %s: %v\n%s", level, err, out)
			}
		})
	}
}
