// Package nv binds NVIDIA's libraries for the cuda plugin: the driver API, NVRTC, cuBLASLt, the graph API of cuDNN 9 and NCCL. It is pure
// Go over purego, builds with CGO_ENABLED=0 and needs no CUDA header. Every library is optional and looked up at run time, for CUDA 13 and
// 12; the Report of Open says where each library was found, and the consequences if a library is missing.
//
// The package must stay a mere binding: no tensors, no ops, no choice of kernels, no memory pool, no output. plugins/cuda drives
// devices with it.
//
// # Threads
//
// The current context belongs to the operating system's thread. A goroutine that calls a function for which CUDA needs a context must be
// locked to its thread (runtime.LockOSThread) and must have called Driver.SetCurrent there; otherwise Go may continue it on a thread
// without a context. The goroutine must unlock itself before it ends: in a build with cgo, purego 0.9 and 0.10 end the process with a
// segmentation fault when a goroutine that made a call ends locked. Streams, events, modules, functions, graphs and memory belong to their
// context: all threads that have this context as their current context may use them, also at the same time. Only one goroutine at a time
// may use three kinds of objects: Args, whose contents the driver reads during a launch; a Handle of cuDNN with the plans that run on it;
// and a graph under construction. A stream that is being captured (mode thread-local) may only be used by the thread that began the
// capture. A cuBLASLt handle may be shared; a Matmul may not, because a run writes into its descriptor. Only one goroutine at a time may
// use a communicator of NCCL, and calls on several devices from one goroutine must be between GroupStart and GroupEnd.
//
// # Memory
//
// Device addresses are integers (Ptr). Go memory that the driver reads or writes after a call has returned must have been
// registered (Driver.HostRegister) or allocated by the driver (Driver.HostAlloc); other host memory may only be passed to synchronous
// calls. Calls that belong to launches (Launch, LaunchEx, copies, fills, events, LaunchGraph, SetKernel, Matmul.Run) do not allocate Go
// memory unless they fail.
package nv
