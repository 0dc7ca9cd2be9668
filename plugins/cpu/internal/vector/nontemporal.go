package vector

import "unsafe"

// Ahead returns the number of elements of d before the first one that is aligned to a vector. Has must report true.
func Ahead(d []float32) int {
	if len(d) == 0 {
		return 0
	}
	return int(-uintptr(unsafe.Pointer(&d[0]))&uintptr(4*active.lanes-1)) / 4
}
