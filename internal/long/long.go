// Package long reports, from an environment variable, whether tests that take minutes are to run. Only tests may import it. Without the
// variable they are skipped, or run on a fixed sample, so that `go test ./...` is quick; `make long`, which CI calls, sets it for the
// packages that have such tests.
package long

import (
	"os"
	"testing"
)

// Env is the variable that enables long tests. Any value except the empty one does.
const Env = "BURN_LONG"

// Tests reports whether long tests run.
func Tests() bool { return os.Getenv(Env) != "" }

// Every returns 1 if long tests run, else n. A test that runs every nth of its cases then runs all of them.
func Every(n int) int {
	if Tests() {
		return 1
	}
	return n
}

// Need skips a long test in the short run, with a description of the test.
func Need(t testing.TB, does string) {
	t.Helper()
	if !Tests() {
		t.Skipf("%s: it runs with %s=1, as in `make long`", does, Env)
	}
}
