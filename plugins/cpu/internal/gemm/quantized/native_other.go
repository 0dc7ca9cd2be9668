//go:build !amd64

package quantized

// active is nil: there are no kernels for bytes.
var active *kernel
