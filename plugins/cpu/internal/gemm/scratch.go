package gemm

import (
	"sync"
	"unsafe"
)

// maxKept is the most elements of a buffer that outlives its call.
const maxKept = 8 << 20

// scratch keeps idle products, for each element type apart.
var scratch [10]sync.Pool

func pool[T Number]() *sync.Pool {
	var zero T
	i := 0
	switch any(zero).(type) {
	case float32:
		i = 0
	case float64:
		i = 1
	case int64:
		i = 2
	case int32:
		i = 3
	case int16:
		i = 4
	case int8:
		i = 5
	case uint64:
		i = 6
	case uint32:
		i = 7
	case uint16:
		i = 8
	case uint8:
		i = 9
	}
	return &scratch[i]
}

func take[T Number]() *product[T] {
	if r, ok := pool[T]().Get().(*product[T]); ok {
		return r
	}
	r := &product[T]{}
	r.packLoop, r.mulLoop, r.directLoop, r.vectorLoop, r.stripLoop = r.packPart, r.mulPart, r.directPart, r.vectorPart, r.stripPart
	return r
}

func give[T Number](r *product[T]) {
	if cap(r.abuf) > maxKept {
		r.abuf = nil
	}
	if cap(r.bbuf) > maxKept {
		r.bbuf = nil
	}
	pool[T]().Put(r)
}

// grow returns a slice of n elements of unknown values.
func grow[T Number](s []T, n int) []T {
	if cap(s) < n {
		return aligned[T](n)
	}
	return s[:n]
}

// line is the bytes of a cache line, and of the longest vector.
const line = 64

// aligned returns n zeros that begin at a cache line: a vector that straddles
// two lines is read twice.
func aligned[T Number](n int) []T {
	if n == 0 {
		return nil
	}
	size := sizeOf[T]()
	s := make([]T, n+line/size-1)
	at := 0
	if over := int(uintptr(unsafe.Pointer(&s[0])) % line); over > 0 {
		at = (line - over) / size
	}
	return s[at:][:n:n]
}

func sizeOf[T Number]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}
