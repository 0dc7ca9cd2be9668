//go:build !linux

package mem

// hugePages does nothing: huge pages are requested only on Linux.
func hugePages([]byte) {}
