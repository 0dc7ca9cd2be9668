// Package machine reports the resources that this machine allows the process. Backends and importers take their default limits
// from here, so that both use the same number.
package machine

// Memory returns the number of bytes of memory that this process may use at most: the least of the limits of the machine, of its
// container or control group, and of the process itself. It is 0 if unknown.
func Memory() int64 { return memory() }
