// Package emulated is a gpu.Driver whose devices run kernels with the interpreter, in the memory of the host. With it, sdk/gpu is a whole
// backend on a machine without a GPU: its tests run there, and templates can be tried for hardware that is not at hand, with
// subgroups of another size, fewer types or less shared memory.
//
// A device is strict. Every launch passes ir.Check before it runs. Memory that was freed, copies beyond its end and events that were
// released are errors, memory begins with bytes that are no useful value, and steps of a graph that no dependency puts in
// order run in another order where Options.Order says so. It is not for speed, and it has no libraries.
package emulated
