// Package machine says what the machine that a process runs on gives to it. Backends and importers take their default limits
// from here, so that both mean the same memory.
package machine

// Memory returns the bytes of memory that this process may have at most: those of the machine, of the container or control
// group that it runs in, or of its own limits, whichever is least. It is 0 when it is not known.
func Memory() int64 { return memory() }
