// Package interp runs kernels of package ir on the processor, exactly as ir defines them. It serves tests: those of
// templates, and backends that have no GPU (package emulated).
//
// The threads of a block run in lockstep: each instruction runs for all threads that take part before the next one. A fault that
// a GPU would not report is an error here: an index outside its array, a wide access that is not aligned, a barrier that not all
// threads reach, a division of integers by zero, a shift by the width or more, memory of a block or thread that is read before it
// is written, a loop variable that overflows; with Options.Races also accesses that no barrier orders. Where ir leaves a result
// open, the interpreter picks one that is unlike the usual result of hardware.
//
// The package is not for speed of products: its users are tests of some million elements.
package interp
