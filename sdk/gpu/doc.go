// Package gpu is what all GPU backends share: it makes a backend (New) of a Driver, which knows one kind of hardware and no op.
//
// A node or a program becomes groups (core/program/group), a group becomes kernels (sdk/gpu/lower, from the templates of
// sdk/gpu/template, in the language of sdk/gpu/ir), and kernels become text (sdk/gpu/dialect), which the driver compiles and
// launches. This package has the rest: memory from a pool that reuses it in stream order, compiled kernels kept in memory and
// on disk, plans of programs with all temporaries placed, device graphs, copies, events and vendor libraries, over sdk/engine.
//
// It must not know any particular hardware, and no op beyond what package lower says of it.
package gpu
