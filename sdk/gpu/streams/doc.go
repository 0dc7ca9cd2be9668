// Package streams drives hardware whose driver has contexts, modules, streams, events and graphs as CUDA's has, HIP's being the other. The
// cuda and rocm plugins share it as the most of their gpu.Device, over the Calls that each of them binds.
//
// It must not know which driver it is, what a kernel computes, or which libraries there are: a plugin embeds GPU in a device of its own
// that compiles and has libraries.
package streams
