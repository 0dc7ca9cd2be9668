// Command avo generates the vector kernels of the cpu backend for amd64 at one instruction set level. `go generate` runs it in
// the packages of the kernels. The set "gemm/micro" contains the tiles of the matrix product, its epilogue, products with
// vectors, and the packing of panels, for float32 and float64. The sets "gemm/half" and "gemm/quantized" contain products and
// packing for 16-bit floats and for bytes. The set "vector" contains loops over float32, "window" reductions of windows,
// "winograd" the transforms of a convolution, and "depthwise" convolutions of single planes.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("level", "", "avx512 or avx2")
	set := flag.String("set", "gemm/micro", setNames())
	flag.Parse()
	level, ok := levels[*name]
	if !ok {
		fmt.Fprintf(os.Stderr, "avo: level, got %q, want avx512 or avx2\n", *name)
		os.Exit(2)
	}
	write, ok := sets[*set]
	if !ok {
		fmt.Fprintf(os.Stderr, "avo: set, got %q, want one of %s\n", *set, setNames())
		os.Exit(2)
	}
	ConstraintExpr("amd64")
	write(level)
	Generate()
	if out := flag.Lookup("out"); level.wide && out != nil {
		if err := broadcastConstants(out.Value.String()); err != nil {
			fmt.Fprintf(os.Stderr, "avo: %v\n", err)
			os.Exit(1)
		}
	}
}

// sets maps each set to its writer.
var sets = map[string]func(*level){
	"gemm/micro": products, "gemm/half": halves, "gemm/quantized": quantizedProducts, "vector": loops, "window": pools, "winograd": tileSets, "depthwise": depthwise,
}

func setNames() string { return strings.Join(slices.Sorted(maps.Keys(sets)), ", ") }

// products writes the kernels of package gemm/micro.
func products(level *level) {
	level.masks()
	for _, elem := range []int{4, 8} {
		k := &kernels{level: level, elem: elem}
		k.tiles()
		k.epilogue()
		k.dot(4)
		k.dot(1)
		k.axpy(8)
		k.axpy(1)
		k.strip()
		k.collect()
		if level.wide {
			k.transpose()
			continue
		}
		if k.elem == 4 {
			k.square(4)
		}
		k.square(2)
	}
}

// halves writes the kernels of package gemm/half.
func halves(level *level) {
	level.masks()
	level.halves()
}

// quantizedProducts writes the kernels of package gemm/quantized.
func quantizedProducts(level *level) {
	level.masks()
	(&kernels{level: level, elem: 4}).bytes()
}

// loops writes the kernels of package vector.
func loops(level *level) {
	level.masks()
	level.parting()
	level.counting()
	k := &kernels{level: level, elem: 4}
	for _, s := range tapShapes {
		k.taps(s[0], s[1])
		k.most(s[0], s[1])
	}
	for stride := 1; stride <= 2 && level.wide; stride++ {
		k.plane(3, stride)
		k.plane(5, stride)
	}
	k.copyRows("copyRows", false)
	k.copyRows("copyRowsNonTemporal", true)
	k.splitRows()
	k.interleaveRows()
	k.sampleRows()
	k.pairs()
	k.clamp()
	c := newNumbers()
	k.functions(c)
	k.simple(c)
	k.elementary(c)
	k.trig(c)
	k.pow(c)
	k.storage(c)
	k.quantized(c)
	k.lineSums(c)
	for _, j := range k.joints() {
		k.joinRows(c, j)
		k.joinColumns(c, j)
		k.joinStack(c, j)
	}
	k.finds()
	k.cumulate()
	k.norms()
	k.standardRows(false)
	k.standardRows(true)
	k.philox(c)
	if level.wide {
		k.transpose()
		k.transposeTo("transposeNonTemporal", true)
	} else {
		k.square(4)
	}
}
