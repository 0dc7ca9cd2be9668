// Package long says whether the tests run that take minutes. Without the variable they are left out, or run on a fixed sample, so
// that `go test ./...` ends soon on a new machine; `make long` sets it for the packages that have such tests, and CI calls it.
package long

import (
	"os"
	"testing"
)

// Env is the variable that long tests run with. Any value but the empty one sets it.
const Env = "BURN_LONG"

// Tests reports whether long tests run.
func Tests() bool { return os.Getenv(Env) != "" }

// Every returns 1 where long tests run, and n otherwise: a test that takes every nth of its cases takes all of them then.
func Every(n int) int {
	if Tests() {
		return 1
	}
	return n
}

// Need skips a test that is left out of the short run, with what it does.
func Need(t testing.TB, does string) {
	t.Helper()
	if !Tests() {
		t.Skipf("%s: it runs with %s=1, as in `make long`", does, Env)
	}
}
