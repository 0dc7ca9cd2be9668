//go:build !amd64

package vector

func best() *loops { return nil }

func levels() []*loops { return nil }

func sumLine(int, *float32, *float32) {}

func philox(int, *uint32, uint64, uint64) {}

func maxLine(int, *float32, *int32) {}

func minLine(int, *float32, *int32) {}

func totalLine(int, *float32, *float64) {}

func squareLine(int, *float32, float32, *float64) {}
