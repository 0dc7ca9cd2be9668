// Package webgpu is the backend for the GPU of a browser: package sdk/gpu over the driver for WebGPU (sdk/gpu/webgpu), whose calls go to
// navigator.gpu. It is for programs that are compiled for js/wasm and run in a page or worker. Importing it there registers it with
// core under the name "webgpu"; elsewhere it registers nothing, and New fails: plugins/wgpu is the backend for the same hardware.
//
// It is in the root module, as it needs nothing but the standard library, and a page imports it beside plugins/cpu.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on the device; "plain" is true or false:
// whether the backend waits for each kernel, so that the error of a fault names the node.
package webgpu

// Name is the name that the backend is registered under.
const Name = "webgpu"

// Version is the version of the backend.
const Version = "0.1.0"
