//go:build !linux

package wire

// yield does nothing.
func yield() {}
