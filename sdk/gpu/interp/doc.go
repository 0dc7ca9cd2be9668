// Package interp runs kernels of package ir on the processor, exactly as ir defines them. It serves tests of templates, and a backend
// without a GPU (package emulated).
//
// The threads of a block run in lockstep: each instruction runs for all active threads before the next instruction. A fault that a GPU
// would not report is an error here: an index outside its array, a wide access that is not aligned, a barrier that not all threads reach, a
// division of integers by zero, a shift by the width or more, memory of a block or thread that is read before it is written, a loop
// variable that overflows; with Options.Races also conflicting accesses that no barrier orders. Where ir does not define a result, the
// interpreter returns a result that differs from the usual result of hardware.
//
// The package is not meant for fast computation: its users are tests of up to some million elements.
package interp
