//go:build !amd64

package window

func nativeLoops() *native { return nil }
