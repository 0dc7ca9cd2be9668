// Package dialect prints kernels of package ir as the text of a GPU language: CUDA C++, HIP, Metal's language and WGSL. The
// driver compiles the text.
//
// A dialect is a table of spellings, a list of helper functions in the language, and the few rules in which the language differs
// from C: how memory is read and written. It knows kernels, and no op of the op table. It must not optimise: kernels are printed
// unchanged, and a kernel that the language cannot express is an error, never an approximation.
package dialect
