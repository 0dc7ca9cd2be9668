package protocol

import (
	"fmt"
	"runtime"
	"slices"
)

// Rule is one requirement on a plugin.
type Rule struct {
	// ID names the rule: part/name.
	ID string
	// Section of PROTOCOL.md that Text is quoted from.
	Section int
	Text    string

	check func(t *test)
	unix  bool // needs signals or processes of Unix
	linux bool
	alone bool // it has separate processes and mostly waits: it runs in parallel with others
}

// Rules lists all rules in the order in which they are checked.
func Rules() []Rule {
	return slices.Concat(startRules, endRules, tlsRules, serviceRules, frameRules, dataRules, eventRules, checkRules, poisonRules, nodeRules,
		programRules, errorRules, debugRules, planeRules, []Rule{quiet})
}

// applies returns the reason why a rule cannot be checked on this system, or "" if it can.
func (r *Rule) applies() string {
	switch {
	case r.unix && runtime.GOOS == "windows":
		return "it needs processes and signals of Unix"
	case r.linux && runtime.GOOS != "linux":
		return "it needs Linux"
	}
	return ""
}

// test is one check of a rule. Methods whose names begin with want end the check if the plugin behaves differently.
type test struct {
	*checker
	rule    *Rule
	cleanup []func()
}

// failure ends a check that the plugin did not pass, and skipped one that does not apply. The methods of test panic with them,
// and judge recovers.
type failure struct{ reason string }
type skipped struct{ reason string }

func (t *test) fail(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }
func (t *test) skip(format string, args ...any) { panic(skipped{fmt.Sprintf(format, args...)}) }

// must ends the check if err is not nil.
func (t *test) must(what string, err error) {
	if err != nil {
		t.fail("%s: %v", what, err)
	}
}

// later registers f to be called at the end of the check.
func (t *test) later(f func()) { t.cleanup = append(t.cleanup, f) }
