// Package machine reports the resources that this machine, or its container, allows the process. Backends, model/onnx and sdk/serve derive
// their default limits from it, so that all use the same numbers. It must not set limits itself.
package machine

// Memory returns the number of bytes of memory that this process may use at most: the least of the limits of the machine, of its
// container or control group, and of the process itself. It is 0 if unknown.
func Memory() int64 { return memory() }
