package panel

import (
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
)

// MaxKept is the greatest number of elements of a buffer that outlives its call.
const MaxKept = 8 << 20

// Grow returns a slice of n elements with undefined values. It is s if s is large enough.
func Grow[T micro.Number](s []T, n int) []T {
	if cap(s) < n {
		return Aligned[T](n)
	}
	return s[:n]
}

// line is the size in bytes of a cache line, and of the longest vector.
const line = 64

// Aligned returns n zeros that begin at a cache line, because loads that straddle two lines are slow.
func Aligned[T micro.Number](n int) []T {
	if n == 0 {
		return nil
	}
	size := SizeOf[T]()
	s := make([]T, n+line/size-1)
	at := 0
	if over := int(uintptr(unsafe.Pointer(&s[0])) % line); over > 0 {
		at = (line - over) / size
	}
	return s[at:][:n:n]
}

// SizeOf returns the size of an element in bytes.
func SizeOf[T micro.Number]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}
