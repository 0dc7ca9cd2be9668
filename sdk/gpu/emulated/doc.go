// Package emulated is a gpu.Driver whose devices run kernels with the interpreter, in the memory of the host. With it, sdk/gpu is a whole
// backend on a machine without a GPU: its tests run there, and templates can be tested for hardware that is not available, with subgroups
// of another size, fewer types or less shared memory.
//
// A device is strict. Every launch passes ir.Check before it runs. Use of freed memory, copies beyond its end and use of released
// events are errors. Memory is initialized with bytes that are not a useful value. Options.Order can reorder steps of a graph that no
// dependency orders. The package is not for speed, and it has no libraries.
package emulated
