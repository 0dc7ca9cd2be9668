//go:build !amd64

package winograd

func nativeTransforms() *native { return nil }
