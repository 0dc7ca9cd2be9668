// Package amd binds AMD's libraries for the rocm plugin: the runtime of HIP and its compiler hiprtc, of ROCm 5.2 to 7. It is pure Go over
// package vendor, builds with CGO_ENABLED=0 and needs no ROCm headers.
//
// The package is only a binding. It knows no tensors and no ops, chooses no kernels, holds no pool of memory, and prints nothing:
// plugins/rocm drives devices.
//
// # Threads
//
// The current device belongs to the operating system's thread, as the current context does in package nv of the cuda plugin: a goroutine
// that calls HIP for a device is locked to its thread and has called SetCurrent there. A streams.Context is the number of the device plus
// 1.
//
// # Children
//
// hiprtc ends the process if it finds a device that it does not know. A runtime without its driver may end the process too. The plugin
// calls both in child processes first, and calls hiprtc only in children.
package amd
