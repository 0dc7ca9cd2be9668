package dtype

import "unsafe"

// The contract's bytes are little-endian; Bytes and Slice reinterpret memory, which is correct because burn only supports little-endian
// processors.
func init() {
	if x := uint16(1); *(*byte)(unsafe.Pointer(&x)) != 1 {
		panic("dtype: big-endian processors are not supported")
	}
}

// Bytes returns the memory of s: elements in order, little-endian. It shares s's memory.
func Bytes[T Native](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Slice returns b as elements of T. If b is aligned for T, the result shares b's memory; otherwise it is a copy. Trailing bytes that do not
// fill an element are ignored. For bool, every byte of b must be 0 or 1.
func Slice[T Native](b []byte) []T {
	var z T
	n := len(b) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(z) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	s := make([]T, n)
	copy(Bytes(s), b)
	return s
}
