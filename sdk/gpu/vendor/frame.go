package vendor

import "unsafe"

// FrameArgs is the number of arguments of a Frame: rocblas_gemm_strided_batched_ex has 29.
const FrameArgs = 30

// Frame is a call of a function with more arguments than a Proc can pass. Arguments are integers and pointers; unused arguments are 0. A
// Frame must be on the heap, and only one goroutine at a time may use it.
type Frame struct {
	fn   uintptr
	args [FrameArgs]uintptr
}

// callFrame is the address of a C function of one argument, a *Frame, that calls the function of the frame with all of its arguments. C
// functions ignore arguments beyond their parameters.
var callFrame uintptr

// Set stores the function and its arguments. Memory that arguments point to must be on the heap, where it does not move.
func (f *Frame) Set(p *Proc, args [FrameArgs]uintptr) { f.fn, f.args = p.Addr, args }

// Call calls the function of the frame and returns its int. It keeps the frame and held alive.
func (f *Frame) Call(held unsafe.Pointer) int32 {
	p := Proc{Addr: callFrame}
	return p.Quick(uintptr(unsafe.Pointer(f)), uintptr(held), 0, 0)
}
