// Package webgpu is the driver of package gpu for WebGPU: adapters are devices, kernels are WGSL, over an interface of calls (API) that a
// native library or a browser implements. The plugin wgpu is this driver over wgpu-native; in a browser it runs on navigator.gpu.
//
// It must import neither a library nor anything specific to an operating system, so that it builds for js/wasm. It checks
// everything that an implementation could reject at submission against the limits beforehand, because some implementations end the
// process then.
package webgpu
