// Package byteconv computes convolutions of bytes minus their zero points, with sums in i32 that a requantize.Epilogue may convert to
// floats or bytes. Package contraction calls it. It multiplies with package quantized, which must have a kernel for the processor
// (quantized.CanMul).
//
// A Plan is the geometry of one convolution. A strategy is one algorithm: it
// says which plans it fits, packs weights for them and computes them. planes.go
// computes from padded planes, patches.go from gathered patches. Floats are not
// computed here: see package conv.
package byteconv

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

const (
	// minOutputs is the least number of outputs of a group for which gathering patches pays.
	minOutputs = 4
	// maxSumBytes bounds the buffer of sums before requantization.
	maxSumBytes = 256 << 10
	// copyGrain is the least number of bytes of patches for which another thread is used.
	copyGrain = 64 << 10
)

// Params are the attributes of a convolution. Slices have one element for each
// spatial dimension. A nil slice means ones, except for PadLo, where it means
// zeros. Groups of zero means one.
type Params struct {
	Stride, PadLo, KernelDilation []int
	Groups                        int
}

// Plan is the geometry of a convolution. It is immutable and safe for concurrent
// use.
type Plan struct {
	images                  int
	channels, outputs, taps int // channels and outputs of a group
	groups                  int
	in, kernel, out         shape.Shape // spatial
	stride, padLo, dilation []int
	inSize, outSize         int
	pointwise               bool // the input is the matrix of patches
}

// New lays out a convolution of an input of shape x with weights of shape w to
// an output of shape y. It returns nil if floats are expected to be faster.
func New(x, w, y shape.Shape, params Params) *Plan {
	rank, groups := len(x)-2, max(1, params.Groups)
	p := &Plan{images: x[0], channels: w[1], outputs: w[0] / groups, taps: w[2:].Size(), groups: groups, in: x[2:], kernel: w[2:], out: y[2:],
		stride: orAll(params.Stride, rank, 1), padLo: orAll(params.PadLo, rank, 0), dilation: orAll(params.KernelDilation, rank, 1),
		inSize: x[2:].Size(), outSize: y[2:].Size()}
	if p.outputs < minOutputs {
		return nil
	}
	p.pointwise = p.taps == 1 && p.in.Equal(p.out)
	for d := range rank {
		p.pointwise = p.pointwise && p.stride[d] == 1 && p.padLo[d] == 0
	}
	return p
}

// depth returns the number of products in one output element.
func (p *Plan) depth() int { return p.channels * p.taps }

// orAll returns values, or a slice of n elements equal to one if values is nil.
func orAll(values []int, n, one int) []int {
	if values != nil {
		return values
	}
	all := make([]int, n)
	for i := range all {
		all[i] = one
	}
	return all
}

// weights returns the weights of one group as a left operand, whose rows are the
// outputs.
func (p *Plan) weights(w quantized.Mat, group int) quantized.Mat {
	w.RowStride, w.ColStride = p.depth(), 1
	w.Data = w.Data[min(len(w.Data), group*p.outputs*p.depth()):]
	if len(w.Zero) > 1 {
		w.Zero = w.Zero[group*p.outputs:][:p.outputs]
	}
	return w
}

// strategy is one algorithm. It has no state.
type strategy interface {
	// fits reports whether the strategy computes the plan. constant means that the weights are known when the kernel is prepared.
	fits(p *Plan, constant bool) bool
	// pack prepares contiguous weights. With a nil w it returns a kernel that reads the weights at each run.
	pack(pool *par.Pool, p *Plan, w *quantized.Mat) Kernel
}

// strategies lists the algorithms in order of preference.
var strategies = []strategy{paddedPlanes{}, patchProduct{}}

// Kernel is a strategy with the weights that it packed. It is immutable and
// safe for concurrent use.
type Kernel interface {
	// Run computes a convolution. It takes temporary memory from call. Its results are sums, or the epilogue's results if there is one.
	Run(call *kernel.Call, args *Args)
	// Bytes returns the memory that packed weights take.
	Bytes() int
}

// Args are the operands of a run, contiguous and in row-major order. Only Data, Signed and Zero of matrices are read. X has at most
// one zero point. W has no zero point, one, or one for each output.
type Args struct {
	X        quantized.Mat
	W        quantized.Mat // unless weights were packed
	Out      kernel.Array
	Epilogue *requantize.Epilogue // nil for sums
}

// Prepare returns the kernel of the first strategy that fits, or nil if floats are expected to be faster. w contains constant weights,
// which are copied; a nil w means that the weights come with each run.
func Prepare(pool *par.Pool, p *Plan, w *quantized.Mat) Kernel {
	for _, s := range strategies {
		if s.fits(p, w != nil) {
			return s.pack(pool, p, w)
		}
	}
	return nil
}
