//go:build !linux

package mem

// hugePages does nothing: this system does not let programs choose.
func hugePages([]byte) {}
