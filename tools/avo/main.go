// Command avo generates the vector kernels of the cpu backend for amd64: the
// tiles of the matrix product, its epilogue, products with vectors, and the
// transposition of panels, for float32 and float64, at one level of
// instruction sets. It is run by `go generate` in the package that holds the
// kernels.
package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("level", "", "avx512 or avx2")
	flag.Parse()
	level, ok := levels[*name]
	if !ok {
		fmt.Fprintf(os.Stderr, "avo: level, got %q, want avx512 or avx2\n", *name)
		os.Exit(2)
	}
	ConstraintExpr("amd64")
	level.masks()
	for _, elem := range []int{4, 8} {
		k := &kernels{level: level, elem: elem}
		k.tiles()
		k.finish()
		k.dot(4)
		k.dot(1)
		k.axpy(8)
		k.axpy(1)
		k.peak()
		k.strip()
		if level.wide {
			k.transpose()
			continue
		}
		if k.elem == 4 {
			k.square(4)
		}
		k.square(2)
	}
	Generate()
}
