package nv

import (
	"bytes"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// proc is a C function.
type proc struct {
	name string
	addr uintptr
}

// there reports whether the library exports the function.
func (p *proc) there() bool { return p.addr != 0 }

// call calls the function with at most 15 integers and pointers, and returns its int. A pointer argument is written as
// uintptr(unsafe.Pointer(x)) in the argument list, which keeps x alive and on the heap.
//
//go:uintptrescapes
func (p *proc) call(args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(p.addr, args...)
	return int32(r)
}

// lists holds argument lists for quick calls: the list that the compiler makes for call is garbage afterwards.
var lists = sync.Pool{New: func() any { return new([11]uintptr) }}

// quick is call for functions of at most 4 arguments, and leaves no garbage. Unused arguments are 0; C functions ignore them.
//
//go:uintptrescapes
func (p *proc) quick(a, b, c, d uintptr) int32 {
	l := lists.Get().(*[11]uintptr)
	l[0], l[1], l[2], l[3] = a, b, c, d
	r, _, _ := purego.SyscallN(p.addr, l[:4]...)
	lists.Put(l)
	return int32(r)
}

// quick11 is quick for at most 11 arguments.
//
//go:uintptrescapes
func (p *proc) quick11(a, b, c, d, e, f, g, h, i, j, k uintptr) int32 {
	l := lists.Get().(*[11]uintptr)
	*l = [11]uintptr{a, b, c, d, e, f, g, h, i, j, k}
	r, _, _ := purego.SyscallN(p.addr, l[:]...)
	lists.Put(l)
	return int32(r)
}

// word calls a function that returns a size or a pointer.
//
//go:uintptrescapes
func (p *proc) word(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(p.addr, args...)
	return r
}

// frame holds a function and its 16 arguments. It lies on the heap and is used by one goroutine at a time.
type frame struct {
	fn   uintptr
	args [16]uintptr
}

// call16 is the address of a C function of one argument, a *frame, that calls frame.fn with 16 arguments: one more than purego
// can pass, and cublasLtMatmul takes that many.
var call16 uintptr

// call returns the int that the function of the frame returned. What the arguments point to lies on the heap; held is kept
// alive, and so is the frame.
func (f *frame) call(held unsafe.Pointer) int32 {
	p := proc{addr: call16}
	return p.quick(uintptr(unsafe.Pointer(f)), uintptr(held), 0, 0)
}

// pointerAt returns the pointer to memory that a library owns.
func pointerAt(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text copies a C string of a library. It reads at most 4096 bytes.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := (*byte)(pointerAt(address))
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// upToZero returns the string that a library wrote to b.
func upToZero(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// cString returns s with a zero byte behind it.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
