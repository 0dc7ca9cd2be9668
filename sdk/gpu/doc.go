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
//
// # Files, in the order of the data
//
//	driver.go, library.go            the interfaces that a driver and a vendor's library implement
//	backend.go, device.go, queue.go  the backend over sdk/engine: devices, and queues that execute commands
//	node.go, prepare.go              plans of single nodes, cached; programs decomposed and compiled
//	build*.go, batch.go, views.go,   a builder makes the steps of groups: kernels, views, layouts, batches,
//	layout.go, join.go, constants.go concatenations in place, constants computed once
//	offer*.go, epilogue.go,          groups offered to libraries, calls with fallbacks, and drafts that
//	calls.go, draft.go               query libraries in advance
//	arrange.go, plan.go              temporaries placed in scratch memory; the plan
//	kernels.go, store.go             kernels compiled, and cached in memory and on disk
//	frame.go, operands.go, order.go, a plan on one queue: its memory, dependencies and device graphs
//	graphs.go, scratch.go
//	block.go, pool*.go, staging.go   device memory, and staging memory of the host
//	mark.go, faults.go, report.go,   marks, indices out of range, counters, what memory programs
//	needs.go, selective.go,          need, limits of nodes, memory filled for tests
//	scribble.go
package gpu
