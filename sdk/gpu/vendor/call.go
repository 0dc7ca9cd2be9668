package vendor

import (
	"bytes"
	"sync"
	"unsafe"
)

// Proc is a C function.
type Proc struct {
	Name string
	Addr uintptr // 0 if the library does not export the function
}

// There reports whether the library exports the function.
func (p *Proc) There() bool { return p.Addr != 0 }

// Call calls the function with at most 15 integers and pointers, and returns its int. A pointer argument is written as
// uintptr(unsafe.Pointer(x)) in the argument list, which keeps x alive and on the heap.
//
//go:uintptrescapes
func (p *Proc) Call(args ...uintptr) int32 {
	r := syscallN(p.Addr, args...)
	return int32(r)
}

// lists holds argument lists for Quick and Quick11: the list that the compiler allocates for Call is garbage afterwards.
var lists = sync.Pool{New: func() any { return new([11]uintptr) }}

// Quick is like Call, for functions of at most 4 arguments. It does not allocate Go memory. Unused arguments are 0; C functions ignore
// them.
//
//go:uintptrescapes
func (p *Proc) Quick(a, b, c, d uintptr) int32 {
	l := lists.Get().(*[11]uintptr)
	l[0], l[1], l[2], l[3] = a, b, c, d
	r := syscallN(p.Addr, l[:4]...)
	lists.Put(l)
	return int32(r)
}

// Quick11 is like Quick, for functions of at most 11 arguments.
//
//go:uintptrescapes
func (p *Proc) Quick11(a, b, c, d, e, f, g, h, i, j, k uintptr) int32 {
	l := lists.Get().(*[11]uintptr)
	*l = [11]uintptr{a, b, c, d, e, f, g, h, i, j, k}
	r := syscallN(p.Addr, l[:]...)
	lists.Put(l)
	return int32(r)
}

// Word calls a function that returns a size or a pointer.
//
//go:uintptrescapes
func (p *Proc) Word(args ...uintptr) uintptr {
	r := syscallN(p.Addr, args...)
	return r
}

// PointerAt returns a pointer to memory that a library owns.
func PointerAt(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Text returns a copy of a C string of a library. It reads at most 4096 bytes.
func Text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := (*byte)(PointerAt(address))
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// UpToZero returns the string that a library wrote to b, up to its zero byte.
func UpToZero(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// CString returns a copy of s that ends with a zero byte.
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
