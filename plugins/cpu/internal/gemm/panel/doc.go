// Package panel packs operands of the matrix product for micro kernels. A panel contains adjacent rows of A, or adjacent columns of B, in
// aligned memory. Kernels of package micro determine the width of panels; the drivers in package gemm and its subpackages use the panels.
// This package must not multiply, nor depend on its callers.
package panel
