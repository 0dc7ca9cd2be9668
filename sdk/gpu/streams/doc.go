// Package streams drives hardware whose driver has contexts, modules, streams, events and graphs: CUDA and HIP. It is the common part of
// the gpu.Device of the cuda and rocm plugins, over the Calls that each of them binds.
//
// It must not know which driver it is, what a kernel computes, or which libraries there are: a plugin embeds GPU in a device of its own
// that compiles and has libraries.
package streams
