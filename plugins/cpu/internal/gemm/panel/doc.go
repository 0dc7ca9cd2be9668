// Package panel brings operands of the matrix product into the form that micro
// kernels read: panels of neighbouring rows of A, or columns of B, in aligned
// memory. It stands between package micro, whose kernels say how wide panels
// are, and the drivers in package gemm and the packages beneath it. It must not
// multiply, nor know where its panels go.
package panel
