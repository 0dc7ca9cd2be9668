package gpu

import (
	"github.com/goburn/burn/core/dtype"
)

// Library is a vendor's library of kernels. It is used if it is installed and accepts the operands, and is never required. Product,
// Convolution and Attention return candidates, best first, or none. Candidates may be kept and used again with other memory. Methods are
// called concurrently.
type Library interface {
	// Name returns the name and version, for reports.
	Name() string
	Version() string
	Product(p Product) ([]Candidate, error)
	Convolution(c Convolution) ([]Candidate, error)
	Attention(a Attention) ([]Candidate, error)
}

// Candidate is one way of a library to compute something.
type Candidate interface {
	// Name returns the name of the algorithm, for reports.
	Name() string
	// Workspace returns the bytes of workspace that a call needs.
	Workspace() int64
	// Ready returns nil if Call accepts these operands with their addresses and alignment. Otherwise the next candidate is tried.
	Ready(args []Ref) error
	// Call starts the work on a queue of the device. It may be captured into a graph, and it never waits.
	Call(q Queue, args []Ref, workspace Ref) error
	// Close is called once, when no call is in progress.
	Close()
}

// Call is a call of a candidate with its operands.
type Call struct {
	Candidate Candidate
	Args      []Ref
	Workspace Ref
}

// Activation is the last operation of an epilogue.
type Activation uint8

// The activations.
const (
	None Activation = iota
	ReLU
	GELU     // computed with the error function
	GELUTanh // computed with tanh
)

// Matrix is the layout of one matrix of a product, in elements: element (i, j) of batch b is at b·Batch + i·Row + j·Col. Row or
// Col is 1.
type Matrix struct {
	Type            dtype.DType
	Row, Col, Batch int
}

// Product is D = act(A·B + bias + residual), batch by batch. A is M×K, B is K×N, D is M×N with Col 1. Args are A, B, D, then, if
// present, bias (N elements of BiasType) and residual (laid out as D).
type Product struct {
	Batch, M, N, K int
	A, B, D        Matrix
	// TF32 allows factors of f32 to be rounded to 10 bits of mantissa.
	TF32       bool
	Bias       dtype.DType // Invalid: no bias
	Residual   bool
	Activation Activation
}

// ConvolutionKind distinguishes the three convolutions.
type ConvolutionKind uint8

// The convolutions: of an image with filters, and its gradients with respect to both.
const (
	Forward        ConvolutionKind = iota // args image, filter, result
	BackwardImage                         // args result's gradient, filter, image's gradient
	BackwardFilter                        // args image, result's gradient, filter's gradient
)

// Convolution is an N-dimensional convolution with N = len(Stride), of tensors that each have their own strides, in elements: image (batch,
// channels, N dimensions), filter (results, channels of a group, N dimensions), result (batch, results, N dimensions). Forward may have an
// epilogue of bias, residual (laid out as the result) and activation, whose args follow.
type Convolution struct {
	Kind                                    ConvolutionKind
	Type, Compute                           dtype.DType
	TF32                                    bool
	Image, Filter, Result                   []int
	ImageStrides, FilterStrides, OutStrides []int
	Stride, Dilation, PadBefore, PadAfter   []int
	Groups                                  int
	Bias                                    dtype.DType
	Residual                                bool
	Activation                              Activation
}

// Attention is softmax(scale·Q·Kᵀ + mask)·V, of tensors (batch, heads, sequence, width of a head) that each have their own strides, in
// elements. If there are fewer key heads than query heads, neighbouring query heads share one. Args are Q, K, V, the result, then the
// additive mask where Mask is set (broadcast by its strides).
type Attention struct {
	Type                                     dtype.DType
	Batch, Heads, KeyHeads, Queries, Keys    int
	Width, ValueWidth                        int
	QStrides, KStrides, VStrides, OutStrides [4]int
	Scale                                    float64
	Causal                                   bool
	Mask                                     dtype.DType
	MaskStrides                              [4]int
}
