// Package ir is the language in which GPU kernels are written once for all GPUs: some 60 typed scalar operations with
// structured control flow, memory shared by a block, subgroup operations, matrix fragments and asynchronous copies.
//
// Templates build kernels, and dialects print them as CUDA C++, HIP, MSL or WGSL. A kernel is checked (Check) before it is printed, and
// package interp runs it without a GPU. The package must not depend on ops of the table, on hardware, or on a text form except its own
// String.
//
// # Execution
//
// A launch runs a kernel on a grid of blocks; each block has Kernel.Threads threads, numbered from 0. Threads of a block share arrays and
// wait for each other at barriers, which must be in uniform control flow. Blocks run in any order and share only buffers. Threads number
// Subgroup·k to Subgroup·(k+1)-1 form a subgroup, whose threads exchange values.
//
// # Values
//
// A value is defined once and used in later instructions of the same body or of bodies inside it. Variables are kept in local arrays. Each
// thread has its own local arrays. Local arrays become registers, so their indices must be known when the kernel is compiled: they are
// computed from constants and variables of unrolled loops.
//
// # Types
//
// Elements have the types of package dtype. Arithmetic is on i32, i64, u32, u64, f32, f64 and bool; the other types can only be loaded,
// stored, selected, shuffled, cast, bitcast and changed by atomics. A bool is a byte of memory, 0 or 1.
package ir
