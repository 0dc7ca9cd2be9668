package nv

import (
	"errors"
	"fmt"
	"unsafe"
)

// DNNType is a type of elements, by the number of cudnnDataType_t.
type DNNType int32

// Types of elements of cuDNN.
const (
	DNNF32    DNNType = 0
	DNNF64    DNNType = 1
	DNNF16    DNNType = 2
	DNNI8     DNNType = 3
	DNNI32    DNNType = 4
	DNNU8     DNNType = 6
	DNNBF16   DNNType = 9
	DNNI64    DNNType = 10
	DNNBool   DNNType = 11
	DNNF8E4M3 DNNType = 12
	DNNF8E5M2 DNNType = 13
)

// TensorSpec describes a tensor of a graph. For convolution the dimensions are N, C, spatial, regardless of the memory order, which the
// strides determine; filters are K, C/groups, spatial.
type TensorSpec struct {
	Type    DNNType
	Dims    []int64
	Strides []int64 // in elements; nil means row-major
	Align   int64   // alignment of later addresses, in bytes; 0 means 16
	Virtual bool    // exists only within the graph and has no address
	Scalar  bool    // a value that is passed from host memory
}

// Tensor is a tensor of a graph. The zero value means no tensor.
type Tensor struct {
	ID   int64 // names the tensor in a Pack; 0 is none
	Spec TensorSpec
	d    descriptor
}

// DNNGraph is a graph of operations under construction. Its methods record the first failure, and Build returns it.
type DNNGraph struct {
	h    *DNNHandle
	all  []descriptor
	ops  []descriptor
	next int64
	err  error
}

// NewGraph begins a graph. Close destroys it, built or not; plans stay valid.
func (h *DNNHandle) NewGraph() *DNNGraph { return &DNNGraph{h: h, next: 1} }

// Close destroys the descriptors of the graph.
func (g *DNNGraph) Close() error {
	err := g.h.destroyAll(g.all)
	g.all, g.ops = nil, nil
	return err
}

// try runs step unless an earlier step has failed, and records its error.
func (g *DNNGraph) try(step func() error) {
	if g.err == nil {
		g.err = step()
	}
}

// make creates a descriptor, fills it and finalises it.
func (g *DNNGraph) make(what string, kind int, fill func(d descriptor) error) (made descriptor) {
	g.try(func() error {
		d, err := g.h.newDescriptor(kind)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		g.all = append(g.all, d)
		if err = fill(d); err == nil {
			err = g.h.finalize(d)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		made = d
		return nil
	})
	return made
}

// op creates an operation and appends it to the graph: cuDNN recognises attention by the order of operations.
func (g *DNNGraph) op(what string, kind int, fill func(d descriptor) error) {
	if d := g.make(what, kind, fill); g.err == nil {
		g.ops = append(g.ops, d)
	}
}

// RowMajorStrides returns the strides of a tensor without gaps, the last dimension contiguous.
func RowMajorStrides(dims []int64) []int64 {
	s := make([]int64, len(dims))
	n := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = n
		n *= max(dims[i], 1)
	}
	return s
}

// ChannelsLastStrides returns the strides of a tensor N, C, spatial whose channels are contiguous.
func ChannelsLastStrides(dims []int64) []int64 {
	s := make([]int64, len(dims))
	s[1] = 1
	n := max(dims[1], 1)
	for i := len(dims) - 1; i >= 2; i-- {
		s[i] = n
		n *= max(dims[i], 1)
	}
	s[0] = n
	return s
}

// Tensor adds a tensor to the graph.
func (g *DNNGraph) Tensor(spec TensorSpec) Tensor {
	if spec.Strides == nil {
		spec.Strides = RowMajorStrides(spec.Dims)
	}
	if spec.Align == 0 {
		spec.Align = 16
	}
	t := Tensor{ID: g.next, Spec: spec}
	g.next++
	t.d = g.make("tensor", kindTensor, func(d descriptor) error {
		h := g.h
		err := errors.Join(h.setEnum(d, 901, typeDataType, int32(spec.Type)), h.setInts(d, 902, spec.Dims), h.setInts(d, 903, spec.Strides),
			h.setInt(d, 906, t.ID), h.setInt(d, 900, spec.Align))
		if spec.Virtual {
			err = errors.Join(err, h.setBool(d, 907, true))
		}
		if spec.Scalar {
			err = errors.Join(err, h.setBool(d, 908, true))
		}
		return err
	})
	return t
}

// Virtual adds a row-major tensor that exists only within the graph.
func (g *DNNGraph) Virtual(t DNNType, dims ...int64) Tensor {
	return g.Tensor(TensorSpec{Type: t, Dims: dims, Virtual: true})
}

// Scalar adds a value that is passed from the host, with as many dimensions as the tensors that it is combined with.
func (g *DNNGraph) Scalar(t DNNType, rank int) Tensor {
	dims := make([]int64, rank)
	for i := range dims {
		dims[i] = 1
	}
	return g.Tensor(TensorSpec{Type: t, Dims: dims, Scalar: true})
}

// ConvSpec contains the parameters of a convolution (a cross-correlation). The slices have one number for each spatial dimension.
type ConvSpec struct {
	Compute          DNNType // type of the sums: DNNF32 for f32, f16 and bf16
	Pre, Post        []int64 // padding before and after
	Stride, Dilation []int64
}

func (g *DNNGraph) conv(s ConvSpec) descriptor {
	return g.make("convolution", kindConvolution, func(d descriptor) error {
		h := g.h
		const crossCorrelation = 1
		return errors.Join(h.setEnum(d, 100, typeDataType, int32(s.Compute)), h.setEnum(d, 101, typeConvMode, crossCorrelation),
			h.setInt(d, 106, int64(len(s.Stride))), h.setInts(d, 105, s.Pre), h.setInts(d, 104, s.Post), h.setInts(d, 103, s.Stride),
			h.setInts(d, 102, s.Dilation))
	})
}

func (g *DNNGraph) convOp(what string, kind, first int, s ConvSpec, w, x, y Tensor, order [3]int) {
	c := g.conv(s)
	g.op(what, kind, func(d descriptor) error {
		h := g.h
		return errors.Join(h.setDescriptor(d, first+2, c), h.setDescriptor(d, first+order[0], w.d), h.setDescriptor(d, first+order[1], x.d),
			h.setDescriptor(d, first+order[2], y.d), h.setFloat(d, first, 1), h.setFloat(d, first+1, 0))
	})
}

// Conv adds y = conv(x, w).
func (g *DNNGraph) Conv(s ConvSpec, x, w, y Tensor) {
	g.convOp("convolution forward", kindConvForward, 700, s, w, x, y, [3]int{3, 4, 5})
}

// ConvData adds the gradient of a convolution for its input: dx from dy and w.
func (g *DNNGraph) ConvData(s ConvSpec, dy, w, dx Tensor) {
	g.convOp("convolution backward data", kindConvData, 706, s, w, dx, dy, [3]int{3, 4, 5})
}

// ConvFilter adds the gradient of a convolution for its filter: dw from x and dy.
func (g *DNNGraph) ConvFilter(s ConvSpec, x, dy, dw Tensor) {
	g.convOp("convolution backward filter", kindConvFilter, 712, s, dw, x, dy, [3]int{3, 4, 5})
}

// Pointwise is an elementwise operation, by the number of cudnnPointwiseMode_t.
type Pointwise int32

// Elementwise operations.
const (
	PwAdd        Pointwise = 0
	PwMul        Pointwise = 1
	PwMin        Pointwise = 2
	PwMax        Pointwise = 3
	PwSqrt       Pointwise = 4
	PwDiv        Pointwise = 6
	PwPow        Pointwise = 8
	PwSub        Pointwise = 9
	PwAbs        Pointwise = 10
	PwExp        Pointwise = 13
	PwLog        Pointwise = 15
	PwNeg        Pointwise = 16
	PwRsqrt      Pointwise = 17
	PwErf        Pointwise = 20
	PwIdentity   Pointwise = 21
	PwRecip      Pointwise = 22
	PwRelu       Pointwise = 100
	PwTanh       Pointwise = 101
	PwSigmoid    Pointwise = 102
	PwElu        Pointwise = 103
	PwGelu       Pointwise = 104
	PwSoftplus   Pointwise = 105
	PwSwish      Pointwise = 106
	PwGeluTanh   Pointwise = 107
	PwReluBwd    Pointwise = 200
	PwTanhBwd    Pointwise = 201
	PwSigmoidBwd Pointwise = 202
	PwGeluBwd    Pointwise = 204
	PwSwishBwd   Pointwise = 206
	PwEqual      Pointwise = 300
	PwNotEqual   Pointwise = 301
	PwGreater    Pointwise = 302
	PwGreaterEq  Pointwise = 303
	PwLess       Pointwise = 304
	PwLessEq     Pointwise = 305
	PwAnd        Pointwise = 400
	PwOr         Pointwise = 401
	PwNot        Pointwise = 402
	PwIndex      Pointwise = 501 // the position along an axis
	PwSelect     Pointwise = 601 // predicate ? x : b
)

// backward reports whether the operation is the gradient of an activation, whose inputs are dy and x.
func (p Pointwise) backward() bool { return p >= 200 && p < 300 }

// PointwiseSpec describes an elementwise operation and its parameters.
type PointwiseSpec struct {
	Op      Pointwise
	Compute DNNType
	Axis    int64   // axis of PwIndex
	Clip    bool    // for PwRelu: the result is clamped to [Lower, Upper]
	Lower   float64 // used if Clip is set
	Upper   float64 // used if Clip is set
	Slope   float64 // slope of PwRelu below its lower bound
	Swish   float64 // beta of PwSwish; 0 means 1
}

// Pointwise adds y = op(x), op(x, b), or with three inputs op(x, b, predicate). The inputs of gradients of activations are dy and x.
func (g *DNNGraph) Pointwise(s PointwiseSpec, y Tensor, inputs ...Tensor) {
	p := g.make("pointwise", kindPointwise, func(d descriptor) error {
		h := g.h
		err := errors.Join(h.setEnum(d, 0, typePointwise, int32(s.Op)), h.setEnum(d, 1, typeDataType, int32(s.Compute)))
		if s.Op == PwIndex {
			err = errors.Join(err, h.setInt(d, 9, s.Axis))
		}
		if s.Clip {
			err = errors.Join(err, h.setDouble(d, 3, s.Lower), h.setDouble(d, 4, s.Upper))
		}
		if s.Slope != 0 {
			err = errors.Join(err, h.setDouble(d, 5, s.Slope))
		}
		if s.Swish != 0 {
			err = errors.Join(err, h.setDouble(d, 8, s.Swish))
		}
		return err
	})
	g.op(fmt.Sprintf("pointwise %d", s.Op), kindPointwiseOp, func(d descriptor) error {
		h := g.h
		err := h.setDescriptor(d, 750, p)
		slots := []int{751, 752, 758} // x, b, predicate
		out := 753
		if s.Op.backward() {
			slots, out = []int{757, 751}, 756 // dy, x; dx
		}
		if len(inputs) == 0 || len(inputs) > len(slots) {
			return fmt.Errorf("%d inputs, want 1 to %d", len(inputs), len(slots))
		}
		for i, t := range inputs {
			err = errors.Join(err, h.setDescriptor(d, slots[i], t.d))
		}
		return errors.Join(err, h.setDescriptor(d, out, y.d))
	})
}

// Reduction is a reducing operation, by the number of cudnnReduceTensorOp_t.
type Reduction int32

// Reductions.
const (
	ReduceAdd  Reduction = 0
	ReduceMul  Reduction = 1
	ReduceMin  Reduction = 2
	ReduceMax  Reduction = 3
	ReduceMean Reduction = 5
)

// Reduce adds the reduction y of x along the dimensions in which y has size 1.
func (g *DNNGraph) Reduce(op Reduction, compute DNNType, x, y Tensor) {
	r := g.make("reduction", kindReduction, func(d descriptor) error {
		return errors.Join(g.h.setEnum(d, 1600, typeReduction, int32(op)), g.h.setEnum(d, 1601, typeDataType, int32(compute)))
	})
	g.op(fmt.Sprintf("reduction %d", op), kindReductionOp, func(d descriptor) error {
		return errors.Join(g.h.setDescriptor(d, 1610, x.d), g.h.setDescriptor(d, 1611, y.d), g.h.setDescriptor(d, 1612, r))
	})
}

// Matmul adds c = a b over the last two dimensions.
func (g *DNNGraph) Matmul(compute DNNType, a, b, c Tensor) {
	m := g.make("matmul", kindMatmul, func(d descriptor) error {
		return g.h.setEnum(d, 1500, typeDataType, int32(compute))
	})
	g.op("matmul", kindMatmulOp, func(d descriptor) error {
		return errors.Join(g.h.setDescriptor(d, 1520, a.d), g.h.setDescriptor(d, 1521, b.d), g.h.setDescriptor(d, 1522, c.d), g.h.setDescriptor(d, 1523, m))
	})
}

// operations finalises the graph of all operations.
func (g *DNNGraph) operations() (descriptor, error) {
	d := g.make("graph", kindGraph, func(d descriptor) error {
		if len(g.ops) == 0 {
			return errors.New("it has no operation")
		}
		return errors.Join(g.h.set(d, 800, typeHandle, 1, unsafe.Pointer(&g.h.h)),
			g.h.set(d, 801, typeDescriptor, len(g.ops), unsafe.Pointer(&g.ops[0])))
	})
	return d, g.err
}
