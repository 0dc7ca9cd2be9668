// Package dialect prints kernels of package ir as the text of a GPU language: CUDA C++, HIP, Metal's language and WGSL. The
// driver compiles the text.
//
// A dialect consists of a table with the text of each operation, a list of helper functions in the language, and functions for the
// differences between the language and C, mostly in accesses to memory. The package does not depend on ops of the op table. It must not
// optimise: kernels are printed unchanged, and a kernel that the language cannot express is an error, never an approximation.
package dialect
