//go:build !amd64

package gemm

func halfLevels() []halfLevel { return nil }
