// Package micro contains the micro kernels of the matrix product. A micro kernel computes one tile of C, a few rows by one or two vectors,
// from panels of A and B, and applies the epilogue while the sums are in registers. It is the lowest layer of package gemm. It knows no
// threads, no cache blocks, and no packed operand beyond a slice and its strides.
//
// A Kernel is a table of functions with the block sizes that suit them, so that
// one written in assembly needs nothing else changed. Those for AVX-512 and
// AVX2 are written by tools/avo, the one for NEON by hand; the others are plain
// Go. They are used as package cpuid allows; Select chooses one by name.
//
// Functions in assembly trust their arguments: native.go measures the slices
// before each call.
package micro
