package nv

import "unsafe"

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
func (f *frame) Call(held unsafe.Pointer) int32 {
	p := proc{Addr: call16}
	return p.Quick(uintptr(unsafe.Pointer(f)), uintptr(held), 0, 0)
}
