package conv

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

// stored returns the length of the padded axis as stored.
func (a *axis) stored() int {
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

// maxPhases is the greatest stride for which an axis is stored in phases.
const maxPhases = 8

// choosePhases decides whether an axis is stored in phases. A kernel of one
// element reads a single phase. Otherwise only the last axis has phases, all of
// them.
func (a *axis) choosePhases(last bool) {
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
