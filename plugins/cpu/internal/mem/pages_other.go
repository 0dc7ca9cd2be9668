//go:build !linux

package mem

// hugePages is for systems that let programs choose.
func hugePages([]byte) {}
