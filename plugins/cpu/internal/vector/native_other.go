//go:build !amd64 && !arm64

package vector

func best() *loops { return nil }

func levels() []*loops { return nil }

func sumLine(int, *float32, *float32) {}

func philox(int, *uint32, uint64, uint64) {}

func maxLine(int, *float32, *int32) {}

func minLine(int, *float32, *int32) {}

func totalLine(int, *float32, *float64) {}

func squareLine(int, *float32, float32, *float64) {}

func joinRows(Joint, int, int, *float32, int, *float32) bool { return false }

func joinColumns(Joint, int, int, *float32, int, *float32) bool { return false }

func joinStack(Joint, int, *float32, *float32, int) {}

func find(Bound, int, *float32, float32) int { return 0 }

func cumulate(int, *float64, *float32, *float32) {}
