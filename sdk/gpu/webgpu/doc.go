// Package webgpu is the driver of package gpu for WebGPU: adapters are devices, kernels are WGSL, over an interface of calls (API) that a
// native library or a browser implements. The plugin wgpu is this driver over wgpu-native; in a browser it stands over navigator.gpu.
//
// It must import neither a library nor anything of an operating system, so that it builds for js/wasm. Everything that an
// implementation could refuse when work is submitted is compared with the limits before: some implementations end the process then.
package webgpu
