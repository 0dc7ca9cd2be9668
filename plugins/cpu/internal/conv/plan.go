package conv

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/depthwise"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

// MaxRank is the greatest number of spatial dimensions.
const MaxRank = 6

// Params are the attributes of a convolution, one element for each spatial dimension. A nil slice means ones, or zeros for the paddings;
// Groups of zero means one. The input is first dilated (InputDilation-1 zeros between neighbours), then padded by PadLo before and PadHi
// after; a negative padding removes elements instead.
type Params struct {
	Stride, PadLo, PadHi          []int
	KernelDilation, InputDilation []int
	Groups                        int
}

// Plan is the geometry of a convolution of given shapes. It is immutable and safe for concurrent use. Keep it for further convolutions of
// the same shapes.
type Plan struct {
	batch, channels, outputs int
	groups                   int
	axes                     []axis
	inSize, outSize          int // elements of a channel
	paddedSize               int
	taps                     int   // elements of a kernel
	offsets                  []int // offset of each element of a patch in the padded input of a group
	reach                    int   // the greatest offset
	unpadded                 bool  // the input needs no padding
	view                     patchView

	winograd  *winograd.Plan  // nil unless Winograd's algorithm is faster
	depthwise *depthwise.Plan // nil unless there is one input and one output for each group
	phases    []phase         // if the input is dilated
	joint     *jointLayout    // nil unless computing all phases together is faster

	phasePlans    sync.Once // see planPhases
	phasePlansErr error

	inputs sync.Pool // *input[T]
	spare  sync.Pool // *[]T, a phase of the output or a padded input
	runs   sync.Pool // *run[T]
}

// patchView says how the matrix of patches is read from the padded input.
type patchView int

const (
	gatheredPatches    patchView = iota // by the plan's offsets
	channelPatches                      // its rows are the channels
	overlappingPatches                  // its columns are overlapping parts of one channel
)

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
	if err := p.setAxes(xShape[2:], wShape[2:], params); err != nil {
		return nil, err
	}
	p.setPatches()
	p.setPhases()
	p.winograd, p.depthwise = p.winogradPlan(), p.depthwisePlan()
	return p, nil
}

var errTooLarge = errors.New("conv: padded input is too large")

func (p *Plan) setAxes(in, kernel []int, params Params) error {
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
		a.choosePhases(i == rank-1)
		if a.padded > maxLength || p.paddedSize > 0 && a.padded+a.stride > maxLength/p.paddedSize {
			return errTooLarge
		}
		p.inSize *= a.in
		p.outSize *= a.out
		p.paddedSize *= a.stored()
		p.taps *= a.kernel
	}
	step := 1
	for i := rank - 1; i >= 0; i-- {
		a := &p.axes[i]
		a.step, a.advance = step, step
		if a.phases == 0 {
			a.advance = a.stride * step
		}
		step *= a.stored()
	}
	return nil
}

// maxLength bounds the elements of a padded channel.
const maxLength = 1<<31 - 1

// setPatches computes the offsets of patches in the padded input.
func (p *Plan) setPatches() {
	pointwise, sampled := true, p.taps == 1
	p.unpadded = true
	for _, a := range p.axes {
		if a.lo != 0 || a.hi != 0 || a.dilation != 1 && a.in > 1 || a.phases > 0 {
			p.unpadded = false
		}
		pointwise = pointwise && a.kernel == 1 && a.stride == 1
		sampled = sampled && a.out == a.stored()
	}
	pointwise = pointwise && p.unpadded
	perGroup, last := p.channels/p.groups, p.lastAxis()
	switch {
	case pointwise || sampled:
		p.view = channelPatches
	case p.unpadded && perGroup == 1 && p.outSize == last.out && p.taps == last.kernel && last.kernelDilation == 1:
		p.view = overlappingPatches
	}
	if pointwise && !p.hasSingleInputs() && !p.hasFewOutputs() || p.outSize == 0 {
		return
	}
	p.offsets = make([]int, 0, perGroup*p.taps)
	for c := range perGroup {
		p.offsets = appendTaps(p.offsets, p.axes, c*p.paddedSize)
	}
	for _, o := range p.offsets {
		p.reach = max(p.reach, o)
	}
}

// lastAxis returns the axis whose elements are neighbours in memory.
func (p *Plan) lastAxis() *axis { return &p.axes[len(p.axes)-1] }

// depth returns the number of products that are added for one output element.
func (p *Plan) depth() int { return p.channels / p.groups * p.taps }

// appendTaps appends the offsets of the taps of one channel, whose first element is at base.
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
