//go:build !amd64 && !arm64

package vector

func interleaveRows(int, int, *float32, int, *float32, *float32, int) {}

func sampleRows(int, int, *float32, int, *float32, int) {}
