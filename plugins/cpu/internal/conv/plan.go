// Package conv computes convolutions of any number of spatial dimensions up
// to six, with groups, strides, asymmetric and negative padding, kernel and
// input dilation, for all element types, by implicit matrix product: patches
// of the input are packed directly into the panels of gemm. The matrix of all
// patches is never in memory.
//
// Tensors are contiguous: input [batch, channels, spatial...], weights
// [outputs, channels/groups, kernel...], output [batch, outputs, spatial...].
// As everywhere in machine learning the kernel is not flipped.
//
// Padding and the holes of a dilated input are zeros that take part in the
// sum: an infinite or NaN weight over them results in NaN. Results are equal
// to the bit for every thread count.
package conv

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/depthwise"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

// MaxRank is the most spatial dimensions.
const MaxRank = 6

// Params are the attributes of a convolution, one element for each spatial
// dimension. A nil slice means ones, for the paddings zeros; Groups of zero
// means one. The input is first dilated (InputDilation-1 zeros between
// neighbours), then padded by PadLo before and PadHi after; a negative
// padding removes elements instead.
type Params struct {
	Stride, PadLo, PadHi          []int
	KernelDilation, InputDilation []int
	Groups                        int
}

// axis is one spatial dimension.
type axis struct {
	in, kernel, out          int
	stride, lo, hi           int
	kernelDilation, dilation int
	padded                   int // length of the dilated and padded input
	step                     int // elements between neighbours in the padded input

	// An axis may be stored in phases: elements that are a multiple of the
	// stride apart are contiguous, so that neighbouring outputs read
	// neighbouring elements. phases is the number of stored phases, of length
	// elements each. It is zero where the axis is stored in order.
	phases, length int

	advance int // elements between the patches of neighbouring outputs
}

// row returns the length of the padded axis as stored.
func (a *axis) row() int {
	if a.phases > 0 {
		return a.phases * a.length
	}
	return a.padded
}

// at returns the stored position of element i of the padded axis.
func (a *axis) at(i int) int {
	if a.phases > 0 {
		return i%a.stride*a.length + i/a.stride
	}
	return i
}

// maxPhases is the largest stride for which an axis is stored in phases.
const maxPhases = 8

// part decides whether an axis is stored in phases. A kernel of one element
// reads a single phase. Otherwise only the last axis has phases, all of them.
func (a *axis) part(last bool) {
	switch {
	case a.stride == 1 || a.out < 2:
		return
	case a.kernel == 1:
		a.phases = 1
	case last && a.stride <= maxPhases:
		a.phases = a.stride
	default:
		return
	}
	a.length = (a.padded + a.stride - 1) / a.stride
}

// Plan is a convolution of given shapes, ready to run. It is immutable and
// safe for concurrent use; keep it where the same shapes come again.
type Plan struct {
	batch, channels, outputs int
	groups                   int
	axes                     []axis
	inSize, outSize          int // elements of a channel
	paddedSize               int
	taps                     int   // elements of a kernel
	offsets                  []int // of the patch elements of a group in its padded input
	plain                    bool  // the padded input is the input
	pointwise                bool  // the patches are the input
	direct                   bool  // one input channel for each group, few outputs
	thin                     bool  // so few outputs for each group that patches are not worth packing
	sampled                  bool  // the patches are the padded input
	turned                   bool  // the product is transposed: output positions are its rows, not its columns
	placed                   bool  // kernels may read rows of the padded input directly, without packing
	reach                    int   // the greatest offset
	dots                     bool  // long, and one image
	long                     bool  // few output positions, a large kernel
	framed                   bool  // the input is the matrix of patches, whose neighbouring columns overlap in memory

	tiled *winograd.Plan // nil where tiles do not win

	phases     []phase // of a dilated input
	flat       *layout // how they are computed together
	planPhases sync.Once
	planError  error
	depthwise  *depthwise.Plan
	noBias     []float32 // zeros for planes
	idle       sync.Pool // *frame[T]
	spare      sync.Pool // *[]T, a phase of the output
	runs       sync.Pool // *run[T]
}

// New checks shapes and parameters and lays out the convolution.
func New(xShape, wShape []int, params Params) (*Plan, error) {
	rank := len(xShape) - 2
	if rank < 1 || rank > MaxRank {
		return nil, fmt.Errorf("conv: input rank, got %d, want 3 to %d", len(xShape), MaxRank+2)
	}
	if len(wShape) != len(xShape) {
		return nil, fmt.Errorf("conv: weight rank, got %d, want %d", len(wShape), len(xShape))
	}
	for _, d := range append(append([]int(nil), xShape...), wShape...) {
		if d < 0 {
			return nil, fmt.Errorf("conv: shapes, got %v and %v, want no negative size", xShape, wShape)
		}
	}
	groups := params.Groups
	if groups == 0 {
		groups = 1
	}
	p := &Plan{batch: xShape[0], channels: xShape[1], outputs: wShape[0], groups: groups,
		inSize: 1, outSize: 1, paddedSize: 1, taps: 1}
	if groups < 0 || p.channels%groups != 0 || p.outputs%groups != 0 {
		return nil, fmt.Errorf("conv: groups, got %d, want a divisor of %d channels and %d outputs", groups, p.channels, p.outputs)
	}
	if wShape[1] != p.channels/groups {
		return nil, fmt.Errorf("conv: weight channels, got %d, want %d (%d channels in %d groups)", wShape[1], p.channels/groups, p.channels, groups)
	}
	if err := p.layAxes(xShape[2:], wShape[2:], params); err != nil {
		return nil, err
	}
	p.choose()
	p.cut()
	return p, nil
}

var errTooLarge = errors.New("conv: padded input is too large")

func (p *Plan) layAxes(in, kernel []int, params Params) error {
	rank := len(in)
	p.axes = make([]axis, rank)
	for i := range p.axes {
		a := &p.axes[i]
		a.in, a.kernel = in[i], kernel[i]
		for _, f := range []struct {
			name       string
			to         *int
			from       []int
			def, least int
		}{
			{"stride", &a.stride, params.Stride, 1, 1},
			{"kernel dilation", &a.kernelDilation, params.KernelDilation, 1, 1},
			{"input dilation", &a.dilation, params.InputDilation, 1, 1},
			{"low padding", &a.lo, params.PadLo, 0, -maxLength},
			{"high padding", &a.hi, params.PadHi, 0, -maxLength},
		} {
			*f.to = f.def
			if f.from == nil {
				continue
			}
			if len(f.from) != rank {
				return fmt.Errorf("conv: %s, got %d values, want %d", f.name, len(f.from), rank)
			}
			if v := f.from[i]; v < f.least || v > maxLength {
				return fmt.Errorf("conv: %s of axis %d, got %d, want %d to %d", f.name, i, v, f.least, maxLength)
			}
			*f.to = f.from[i]
		}
		a.measure()
		a.part(i == rank-1)
		if a.padded > maxLength || p.paddedSize > 0 && a.padded+a.stride > maxLength/p.paddedSize {
			return errTooLarge
		}
		p.inSize *= a.in
		p.outSize *= a.out
		p.paddedSize *= a.row()
		p.taps *= a.kernel
	}
	step := 1
	for i := rank - 1; i >= 0; i-- {
		a := &p.axes[i]
		a.step, a.advance = step, step
		if a.phases == 0 {
			a.advance = a.stride * step
		}
		step *= a.row()
	}
	return nil
}

// maxLength bounds the elements of a padded channel.
const maxLength = 1<<31 - 1

// measure computes the padded length and the output length.
func (a *axis) measure() {
	length := 0
	if a.in > 0 {
		length = (a.in-1)*a.dilation + 1
	}
	a.padded = max(0, length+a.lo+a.hi)
	reach := 0
	if a.kernel > 0 {
		reach = (a.kernel-1)*a.kernelDilation + 1
	}
	if length+a.lo+a.hi >= reach {
		a.out = (length+a.lo+a.hi-reach)/a.stride + 1
	}
}

// choose selects the algorithm.
func (p *Plan) choose() {
	p.plain, p.pointwise, p.sampled = true, true, p.taps == 1
	for _, a := range p.axes {
		if a.lo != 0 || a.hi != 0 || a.dilation != 1 && a.in > 1 || a.phases > 0 {
			p.plain = false
		}
		if a.kernel != 1 || a.stride != 1 {
			p.pointwise = false
		}
		if a.out != a.row() {
			p.sampled = false
		}
	}
	p.pointwise = p.pointwise && p.plain
	perGroup := p.channels / p.groups
	p.thin = p.outputs/p.groups <= maxThin && p.taps > 0 && perGroup > 0
	last := &p.axes[len(p.axes)-1]
	p.framed = p.plain && perGroup == 1 && p.outSize == last.out && p.taps == last.kernel && last.kernelDilation == 1 && !p.pointwise
	p.turned, p.long, p.dots = p.isTurned(), p.chooseLong(), p.chooseDots()
	p.tiled = p.layTiles()
	p.direct = perGroup == 1 && p.outputs/p.groups <= maxDirect && p.taps > 0
	if p.depthwise = p.layPlanes(); p.depthwise != nil {
		p.noBias = make([]float32, p.outputs)
	}
	if p.pointwise && !p.direct && !p.thin || p.outSize == 0 {
		return
	}
	p.offsets = make([]int, 0, perGroup*p.taps)
	for c := range perGroup {
		p.offsets = appendTaps(p.offsets, p.axes, c*p.paddedSize)
	}
	for _, o := range p.offsets {
		p.reach = max(p.reach, o)
	}
	p.placed = len(p.axes) <= 2 && last.advance == 1 && len(p.offsets) > 0 && p.taps > 1 && !p.framed
}

// inPlaces reports whether kernels read rows of the padded input directly.
// unit is the number of columns of a kernel. Where rows are no multiple of
// unit, the kernels also compute the elements between rows, which are
// discarded. That costs less than packing where there are few outputs.
func (p *Plan) inPlaces(unit int) bool {
	if !p.placed || unit == 0 {
		return false
	}
	cols, step := p.axes[len(p.axes)-1].out, p.axes[0].advance
	few := p.outputs/p.groups <= maxFew
	return cols%unit == 0 || len(p.axes) == 1 || cols*100 >= step*leastFull || few && cols*4 >= step*3
}

// leastFull is the least percentage of outputs among the elements of a row for
// which the others are computed and discarded. For up to maxFew outputs it is 75.
const (
	leastFull = 90
	maxFew    = 32
)

// isTurned reports whether the transposed product is computed: the output
// positions are few and fill vectors badly, and the outputs are many.
func (p *Plan) isTurned() bool {
	const lanes, most, least = 16, 128, 64
	outputs := p.outputs / p.groups
	waste := func(n, unit int) int { return (n + unit - 1) / unit * unit * 64 / n } // in parts of 64
	return p.outSize > 0 && p.outSize <= most && outputs >= least && !p.framed && waste(p.outSize, lanes) > waste(outputs, 2*lanes)+4
}

// maxThin is the most outputs per group for which patches are not packed, where
// there are loops in assembly for that.
const maxThin = 2

// maxDirect is the most outputs of a one-channel group that are computed
// without a matrix product.
const maxDirect = 4

func appendTaps(offsets []int, axes []axis, base int) []int {
	if len(axes) == 0 {
		return append(offsets, base)
	}
	a := axes[0]
	for k := range a.kernel {
		offsets = appendTaps(offsets, axes[1:], base+a.at(k*a.kernelDilation)*a.step)
	}
	return offsets
}

// OutShape returns [batch, outputs, spatial...].
func (p *Plan) OutShape() []int {
	shape := []int{p.batch, p.outputs}
	for _, a := range p.axes {
		shape = append(shape, a.out)
	}
	return shape
}

// OutShape returns the shape of the output, or an error for invalid shapes and parameters.
func OutShape(xShape, wShape []int, params Params) ([]int, error) {
	p, err := New(xShape, wShape, params)
	if err != nil {
		return nil, err
	}
	return p.OutShape(), nil
}
