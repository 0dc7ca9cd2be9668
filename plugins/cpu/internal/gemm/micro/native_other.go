//go:build !amd64 && !arm64

package micro

func native32() []candidate[float32] { return nil }
func native64() []candidate[float64] { return nil }
