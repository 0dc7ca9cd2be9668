// Package gpu is the common part of all GPU backends: New returns a backend over a Driver, which knows one kind of hardware and
// no op.
//
// A node or a program becomes groups (core/program/group), a group becomes kernels (sdk/gpu/lower, from the templates of
// sdk/gpu/template, in the language of sdk/gpu/ir), and kernels become text (sdk/gpu/dialect), which the driver compiles and
// launches. This package does the rest, on top of sdk/engine: memory from a pool that reuses it in stream order, compiled kernels
// cached in memory and on disk, plans of programs with all temporaries placed, device graphs, copies, events and vendor
// libraries.
//
// It must not know any particular hardware, nor anything about an op that package lower does not say.
package gpu
