//go:build !linux

package contain

// Apply enforces no rule on this system.
func Apply(Rules) Report { return unsupported() }

// OnThread calls f on a thread of its own and keeps the thread until done is closed.
func OnThread(f func(), _ <-chan struct{}) { f() }

// Probe returns the report that a plugin would get on this system.
func Probe() Report { return unsupported() }
