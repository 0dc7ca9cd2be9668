//go:build !linux

package contain

// Apply enforces no rule on this system.
func Apply(Rules) Report { return unsupported() }

// OnThread calls f. It needs no thread, because there are no rules on this system.
func OnThread(f func(), _ <-chan struct{}) { f() }

// Probe returns the report that a plugin would get on this system.
func Probe() Report { return unsupported() }
