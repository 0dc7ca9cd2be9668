package nv

import (
	"bytes"
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
	r, _, _ := purego.SyscallN(call16, uintptr(unsafe.Pointer(f)), uintptr(held))
	return int32(r)
}

// pointerAt is the pointer to memory that a library owns.
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

// upToZero is the string that a library wrote to b.
func upToZero(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// cString is s with a zero byte behind it.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
