// Package narrow rewrites kernels for hardware whose memory consists of words of 32 bits and that has no integers of 64 bits, such as
// WebGPU. Templates build kernels as if the hardware had all integers: Widen returns the target for which they build, and Launch converts a
// launch to a launch that the hardware can run, before a dialect prints the kernel. Only package gpu calls both functions, once each. The
// functions apply to targets with Words set, and leave other launches unchanged.
//
// # What Launch does
//
// An i64 or u64 becomes two words, the low one first: in values, scalar parameters, local and shared arrays and buffers. Arithmetic on them
// wraps around as package ir defines; conversions to f32 round once, to nearest even. Atomics on them, and f64, are errors.
//
// Elements of less than 32 bits share words in buffers, as in memory: a buffer of such elements becomes a buffer of u32. A load reads the
// word and shifts it. A store of whole words is an ordinary store. A store of part of a word atomically adds the difference between the new
// and the old bits to the word. Only the storing thread changes the bits of the element, so concurrent changes of the rest of the word are
// kept, and no addition carries into the rest. Loads of parts of words from such a buffer are atomic too. The memory of a buffer must end
// with a whole word. In shared arrays each element has its own word, because stores to them are frequent. Values of these types are
// unchanged: a dialect keeps them in registers.
//
// An offset at which the hardware cannot bind a buffer (Target.Align) is rounded down to a multiple of the alignment. The rest becomes a
// scalar parameter that is added to each index.
//
// A rewritten kernel computes the same bits as the original, with the same blocks, threads and barriers. It is checked (ir.Check) like any
// other, with limits whose Words is set.
package narrow
