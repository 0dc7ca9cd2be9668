//go:build !linux

package main

// watchMemory is not implemented on this system; stop returns 0.
func watchMemory(int) (stop func() int64) { return func() int64 { return 0 } }
