//go:build !linux

package contain

// Apply puts no rule in force on this system.
func Apply(Rules) Report { return unsupported() }

// OnThread calls f on a thread of its own and keeps the thread until done is closed.
func OnThread(f func(), _ <-chan struct{}) { f() }

// Probe returns what would be in force for a plugin on this system.
func Probe() Report { return unsupported() }
