package ref

import "math"

// log is math.Log, which is wrong for denormals on amd64 (go1.26): they are scaled into the normal range first.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}
