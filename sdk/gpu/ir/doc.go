// Package ir is the language in which GPU kernels are written once for all GPUs: some 60 typed scalar operations with
// structured control flow, memory shared by a block, subgroup operations, matrix fragments and asynchronous copies.
//
// It stands between the templates, which build kernels from rows of the op table, and the dialects, which print them as
// CUDA C++, HIP, MSL or WGSL. A kernel is checked (Check) before any text is made of it, and package interp runs it
// without a GPU. The package knows no op of the table, no hardware and no text but its own String.
//
// # Execution
//
// A launch runs a kernel on a grid of blocks; each block has Kernel.Threads threads, numbered from 0. Threads of a block
// share arrays and meet at barriers, which are in uniform control flow. Blocks run in any order and share nothing but
// buffers and atomics on them. Threads number Subgroup·k to Subgroup·(k+1)-1 form a subgroup, whose threads exchange values.
//
// # Values
//
// A value is defined once and used in the instructions behind it in the same body or in bodies inside it. What changes
// is kept in local arrays, of which each thread has its own; they become registers, so their indices must be known when
// the kernel is compiled: constants and variables of unrolled loops.
//
// # Types
//
// Elements have the types of package dtype. Arithmetic is on i32, i64, u32, u64, f32, f64 and bool; the other types are
// loaded, stored, selected, shuffled, cast and bitcast, and changed by atomics, no more. A bool takes a byte of memory, 0 or 1.
package ir
