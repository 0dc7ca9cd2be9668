package conv

import (
	"slices"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// All phases of a dilated input read the same elements. So the input is padded once, as far as any phase reads. The padded rows are treated
// as one long row, and each phase is a product over it: column j is the position j elements after the first. Columns between the rows are
// discarded. For some outputs, a thread computes some columns of all phases, and interleaves the columns into the output while they are in
// its cache.

// jointLayout is the geometry that the phases of a plan share. For each phase, newJointLayout also sets: base, the start of its first patch
// in the padded input; offsets, the offsets of the patch's elements (outer: tap, inner: channel); reach, the greatest offset; end, the
// number of columns up to its last output.
type jointLayout struct {
	axes       []axis
	size       int  // elements of a padded channel
	unpadded   bool // the input needs no padding
	end        int  // of the longest phase
	maxOutputs int  // of a phase
	rows       int  // greatest number of outputs that are computed together
}

const (
	// jointRows is the approximate number of outputs that are computed together.
	jointRows = 64
	// jointElements bounds the sums that a task computes before it copies them to the output.
	jointElements = 32 << 10
	// minJointFilled is the least percentage of columns that must be outputs. The
	// columns are rounded up to a multiple of jointTile.
	minJointFilled, jointTile = 80, 32
)

// prefersJoint reports whether computing the phases together is expected to be faster. It reports false if too many columns would be
// discarded, or if the transposed product is faster.
func (p *Plan) prefersJoint() bool {
	if p.joint == nil {
		return false
	}
	columns := (p.joint.end + jointTile - 1) / jointTile * jointTile
	return !transposedFills(p.joint.maxOutputs, p.outputs/p.groups) && p.joint.maxOutputs*100 >= columns*minJointFilled
}

// newJointLayout returns nil for plans whose phases are not computed as matrix products.
func newJointLayout(p *Plan) *jointLayout {
	f := &jointLayout{axes: make([]axis, len(p.axes)), size: 1, unpadded: true}
	for d := range f.axes {
		first, end := 0, p.axes[d].in
		for _, ph := range p.phases {
			if ph.kernel[d] > 0 {
				first, end = min(first, -ph.lo[d]), max(end, ph.out[d]+ph.kernel[d]-1-ph.lo[d])
			}
		}
		f.axes[d] = axis{in: p.axes[d].in, lo: -first, padded: end - first, stride: 1, dilation: 1}
		f.unpadded = f.unpadded && end-first == p.axes[d].in
	}
	for d := len(f.axes) - 1; d >= 0; d-- {
		f.axes[d].step = f.size
		if f.axes[d].padded > maxLength/f.size {
			return nil
		}
		f.size *= f.axes[d].padded
	}
	perGroup, outputs := p.channels/p.groups, p.outputs/p.groups
	if perGroup*f.size > maxLength || outputs <= maxFewOutputs || perGroup == 1 {
		return nil
	}
	for i := range p.phases {
		ph := &p.phases[i]
		size := 1
		ph.base, ph.reach, ph.end = 0, 0, 1
		taps := []int{0}
		for d := range f.axes {
			a := &f.axes[d]
			ph.base += (a.lo - ph.lo[d]) * a.step
			ph.end += (ph.out[d] - 1) * a.step
			size *= ph.out[d]
			var next []int
			for _, o := range taps {
				for k := range ph.kernel[d] {
					next = append(next, o+k*a.step)
				}
			}
			taps = next
		}
		if len(taps) == 0 {
			ph.base = 0
		}
		ph.offsets = make([]int, 0, len(taps)*perGroup)
		for _, o := range taps {
			for c := range perGroup {
				ph.offsets = append(ph.offsets, c*f.size+o)
			}
			ph.reach = (perGroup-1)*f.size + o
		}
		f.end, f.maxOutputs = max(f.end, ph.end), max(f.maxOutputs, size)
	}
	f.rows = (outputs + (outputs+jointRows-1)/jointRows - 1) / ((outputs + jointRows - 1) / jointRows)
	return f
}

// jointPhases computes the phases of a dilated input together. It does not support AddPlan.
type jointPhases[T micro.Number] struct{}

func (jointPhases[T]) fits(p *Plan) bool { return p.joint != nil && gemm.IndirectCols[T]() > 0 }

func (jointPhases[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if use == fallback || !finite(w) {
		return nil
	}
	if ready := packJoint(pool, p, w, 0, p.weightStrides()); ready != nil {
		return ready
	}
	return nil
}

// jointWeights are packed by phase, group and block of outputs.
type jointWeights[T micro.Number] struct {
	partial
	packedGroups[T]
}

// blocks returns the number of blocks of outputs of a group.
func (p *Plan) blocks() int { return (p.outputs/p.groups + p.joint.rows - 1) / p.joint.rows }

// block returns the range of outputs of block b of a group.
func (p *Plan) block(b int) (lo, hi int) {
	return b * p.joint.rows, min((b+1)*p.joint.rows, p.outputs/p.groups)
}

// PackView is like PackWeights for a strided view. strides are in elements, in the order of the weight shape; offset is the index of the
// first element. It returns nil if the weights must be made contiguous first. The result cannot be used with AddPacked.
func PackView[T micro.Number](pool *par.Pool, p *Plan, w []T, offset int, strides []int) *Weights[T] {
	if !(jointPhases[T]{}).fits(p) {
		return nil
	}
	least, most := offset, offset
	shape := []int{p.outputs, p.channels / p.groups}
	for _, a := range p.axes {
		shape = append(shape, a.kernel)
	}
	for d, n := range shape {
		least, most = least+min(0, (n-1)*strides[d]), most+max(0, (n-1)*strides[d])
	}
	if most-least+1 != p.outputs*p.depth() || !finite(w[least:most+1]) {
		return nil
	}
	ready := packJoint(pool, p, w, offset, strides)
	if ready == nil {
		return nil
	}
	return &Weights[T]{plan: p, choices: []prepared[T]{ready}}
}

// packJoint packs a strided view of weights (see PackView). It returns nil where
// the taps of a channel are not contiguous.
func packJoint[T micro.Number](pool *par.Pool, p *Plan, w []T, offset int, strides []int) *jointWeights[T] {
	starts := []int{0} // offsets of the elements of a kernel
	for d, a := range p.axes {
		var next []int
		for _, o := range starts {
			for k := range a.kernel {
				next = append(next, o+k*strides[2+d])
			}
		}
		starts = next
	}
	least, most := slices.Min(starts), slices.Max(starts)
	if most-least+1 != p.taps || strides[0] < 0 || strides[1] < 0 {
		return nil
	}
	kernel := make([]int, len(p.axes))
	for i, a := range p.axes {
		kernel[i] = a.kernel
	}
	channels := p.channels / p.groups
	within, phaseStarts := make([][]int, len(p.phases)), make([]int, len(p.phases)+1)
	for i := range p.phases {
		within[i] = p.phases[i].within(kernel, nil, 0, 0)
		phaseStarts[i+1] = phaseStarts[i] + p.outputs*len(within[i])*channels
	}
	s := takeJoint[T]()
	defer giveJoint(s)
	s.sums = resize(s.sums, phaseStarts[len(p.phases)])
	parts := s.sums
	transpose := micro.Active[T]().Transpose
	pool.For(p.outputs, packGrain/p.depth()+1, func(lo, hi int) {
		own := takeJoint[T]()
		defer giveJoint(own)
		own.sums = resize(own.sums, p.depth())
		transposed := own.sums
		for o := lo; o < hi; o++ {
			from := w[offset+o*strides[0]+least:]
			if transpose != nil {
				transpose(transposed, from, channels, strides[1], p.taps, channels)
			} else {
				for i := range transposed {
					transposed[i] = from[i%channels*strides[1]+i/channels]
				}
			}
			for i, taps := range within {
				to := parts[phaseStarts[i]+o*len(taps)*channels:]
				for k, tap := range taps {
					copy(to[k*channels:][:channels], transposed[(starts[tap]-least)*channels:])
				}
			}
		}
	})
	all := make(packedGroups[T], len(p.phases)*p.groups*p.blocks())
	pool.For(len(all), packGrain*len(all)/(p.outputs*p.depth())+1, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			i, b := n/(p.groups*p.blocks()), n%p.blocks()
			depth := len(within[i]) * channels
			o0, o1 := p.block(b)
			first := n/p.blocks()%p.groups*(p.outputs/p.groups) + o0
			all[n] = gemm.PackA(onOne, o1-o0, depth, gemm.Row(parts[phaseStarts[i]+first*depth:], depth))
		}
	})
	return &jointWeights[T]{packedGroups: all}
}

// weightStrides returns the strides of weights in row-major order.
func (p *Plan) weightStrides() []int {
	strides := make([]int, 2+len(p.axes))
	n := 1
	for d := len(p.axes) - 1; d >= 0; d-- {
		strides[2+d] = n
		n *= p.axes[d].kernel
	}
	strides[0], strides[1] = p.depth(), p.taps
	return strides
}

// packGrain is the least number of weights that a thread packs at a time.
const packGrain = 4 << 10
