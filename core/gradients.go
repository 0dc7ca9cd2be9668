package core

import "github.com/goburn/burn/core/op"

// Gradients is an extension of a Device that remembers how tensors were computed and differentiates them; decorators/autodiff adds it to
// any backend. Without it there are no gradients. A device may be wrapped more than once, to differentiate gradients: a command of an outer
// level also reaches the levels below.
//
// All methods are safe for concurrent use, except that one goroutine at a time may use a given stream.
type Gradients interface {
	// Track marks tensors of a float type as leaves of gradients, on this level and the levels below: computations that depend on
	// them are recorded until no gradient can need them any more. Tracking twice is not an error.
	Track(ids []op.TensorID) error
	// Tracked reports whether this level, or one below, has recorded id as tracked or as computed from tracked tensors.
	Tracked(id op.TensorID) bool
	// Backward computes, on s, the gradient of the sum of root·seed over all roots, with respect to each tensor of wrt. If wrt is nil, it
	// uses every tracked tensor that a root depends on and that was not itself computed from others. seeds have the types of their roots;
	// the caller still owns them. The results are new tensors, which this level does not track and the caller frees. For a tensor of wrt
	// that no root depends on, the result has a zero Desc. If this level has recorded none of the roots, the call is passed to the level
	// below, which differentiates the gradients that it recorded.
	Backward(s Stream, roots, seeds []op.Desc, wrt []op.TensorID) ([]Gradient, error)
	// Custom records, on this level and those below, that outputs were computed from inputs by commands on an Untracked stream, and how
	// their gradient is computed. The saved tensors are kept for that.
	Custom(s Stream, c CustomGradient) error
	// Untracked returns a view of the same stream that does not record, on this level and those below. Tensors and the order of commands
	// are shared. Results that are computed on it count as constants.
	Untracked(s Stream) Stream
}

// Gradient is the gradient of one tensor.
type Gradient struct {
	Of   op.TensorID
	Desc op.Desc // the gradient; its ID is zero if there is none
}

// CustomGradient is a computation with a custom gradient.
type CustomGradient struct {
	Name    string
	Inputs  []op.Desc
	Outputs []op.Desc
	Saved   []op.Desc
	// Backward computes the gradients of Inputs, on the device below the recorder, from the saved tensors and the gradients of Outputs. A
	// zero Desc in grads means that an output has no gradient; a zero Desc in the result means the same for an input. The results are new
	// tensors, which the recorder then owns. Backward must not use the stream that the computation was recorded on.
	Backward func(b Below, saved, grads []op.Desc) ([]op.Desc, error)
}

// Below contains the device and the stream below a recorder, on which a custom gradient computes.
type Below struct {
	Device Device
	Stream Stream
}
