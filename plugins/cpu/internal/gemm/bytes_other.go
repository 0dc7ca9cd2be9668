//go:build !amd64

package gemm

// activeBytes is nil: there are no kernels for bytes.
var activeBytes *byteKernel
