// Package narrow rewrites kernels for hardware whose memory consists of words of 32 bits and that has no integers of 64 bits, such as
// WebGPU. Templates build kernels as if the hardware had all integers: Widen returns the target that they build for, and Launch
// rewrites a launch into one that the hardware can run, before a dialect prints it. Package gpu calls both, once each; no other
// package needs to know of it. It applies to targets with Words set, and leaves other launches unchanged.
//
// # What Launch does
//
// An i64 or u64 becomes two words, the low one first: in values, scalar parameters, local and shared arrays and buffers. Arithmetic
// on them wraps around as package ir says; conversions to f32 round to nearest even, once. Their atomics, and f64, are errors.
//
// Elements of less than 32 bits share words in buffers, as in memory: a buffer of them becomes one of u32. A load takes the word
// and shifts. A store of whole words is plain. A store of less adds the difference to the word atomically: only the storing thread changes
// the bits of the element, so concurrent changes of the rest of the word are kept, and no addition carries over into it. Loads of parts of
// words from such a buffer are atomic too. Memory of buffers has to end with a whole word. In shared arrays each element has a word of its
// own, as stores are frequent there. Values of these types stay as they are: a dialect keeps them in registers.
//
// An offset at which the hardware cannot bind a buffer (Target.Align) becomes the multiple below, and a scalar parameter that is
// added to each index.
//
// A rewritten kernel computes the bits that the original computes, with the same blocks, threads and barriers. It is checked
// (ir.Check) like any other, with limits whose Words is set.
package narrow
