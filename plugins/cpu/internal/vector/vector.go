// Package vector contains loops over float32 in assembly, the lowest layer below the kernels of the cpu backend: weighted sums and maxima
// over the taps of a sliding window, separation of even and odd elements, arithmetic, and elementary functions, whose results are within 5
// units in the last place (see Function.Apply). Has reports whether this processor has loops that package cpuid allows. If not, callers use
// plain Go. tools/avo writes the loops for amd64 and tools/neon the loops for arm64.
//
// Functions panic, as indexing does, if a slice is too short. They are safe for concurrent use.
package vector

// loops contains the functions in assembly of one level; missing ones are nil. They do not check their arguments: callers check the lengths
// of slices.
type loops struct {
	lanes int
	taps  [6]tapsFunc // by shape, in the order of tapShapes in tools/avo and tools/neon
	most  [6]maxFunc
	// plane is indexed by the size of the kernel, 3 or 5, and the stride, 1 or 2. Missing loops are nil.
	plane                         [2][2]planeFunc
	copyRows, copyRowsNonTemporal func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int)
	splitRows                     func(rows, cols int, dst, odd *float32, dstRow int, src *float32, srcRow int)

	add, sub, mul, div, max, min pairLoops
	clamp                        func(n int, dst, x *float32, lo, hi float32)
	exp, sigmoid, tanh           mapFunc
	silu                         oneFunc
	expSub                       func(n int, dst, x *float32, shift float32) float32

	apply                   [functions]mapFunc
	elu                     func(n int, dst, x *float32, alpha, gamma, by float32)
	leaky                   oneFunc
	gate                    func(n int, dst, x *float32, alpha, alphaLow, beta, betaLow, times float32)
	standard, linear        func(n int, dst, x *float32, a, b float32)
	standardScaled          func(n int, dst, x, scale *float32, mean, factor float32)
	standardAffine          func(n int, dst, x, scale, bias *float32, mean, factor float32)
	standardRows            func(rows, cols int, dst, x, mean, factor, bias *float32)
	standardRowsNonTemporal func(rows, cols int, dst, x, mean, factor, bias *float32)
	storageFuncs
}

type (
	tapsFunc  func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, weights *float32, taps int, bias, lo, hi float32)
	planeFunc func(groups, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, weights *float32, bias, lo, hi float32)
	maxFunc   func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, taps int)
)

// The shapes, rows by vectors, of the blocks that taps and most compute.
const (
	shape4x1 = iota
	shape1x1
	shape2x2
	shape1x2
	shape1x3
	shape1x4
)

var active = best()

// Has reports whether the functions of this package may be called.
func Has() bool { return active != nil }
