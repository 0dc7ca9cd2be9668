package core

import "github.com/goburn/burn/core/op"

// Gradients is an extension of a Device that remembers how tensors were computed and differentiates them;
// decorators/autodiff adds it to any backend. Without it there are no gradients. Devices may be wrapped more than once: a
// command of an outer level also reaches the levels below, so that gradients have gradients.
//
// All methods are safe for concurrent use, with the rule of Stream for the streams they are given.
type Gradients interface {
	// Track marks tensors of a float type as leaves of gradients, on this level and the levels below: computations that depend on
	// them are recorded until no gradient can need them any more. Tracking twice is not an error.
	Track(ids []op.TensorID) error
	// Tracked reports whether this level, or one below, has id recorded as tracked or as computed from tracked tensors.
	Tracked(id op.TensorID) bool
	// Backward computes, on s, the gradient of the sum of root·seed over all roots, with respect to each tensor of wrt,
	// or, when wrt is nil, to every tracked tensor that a root depends on and that was not itself computed from others.
	// seeds have the types of their roots and stay the caller's. The results are new tensors that this level does not
	// track; they become the caller's to free. A tensor of wrt that no root depends on has a zero Desc. Where this level has
	// recorded none of the roots, the level below answers: so gradients that it recorded are differentiated.
	Backward(s Stream, roots, seeds []op.Desc, wrt []op.TensorID) ([]Gradient, error)
	// Custom records, on this level and those below, that outputs were computed from inputs, by commands that Untracked took,
	// with a gradient of the caller's own. saved tensors are kept for it.
	Custom(s Stream, c CustomGradient) error
	// Untracked returns the same stream without recording, on this level and those below: the same tensors, the same order
	// of commands. What is computed there counts as constant.
	Untracked(s Stream) Stream
}

// Gradient is the gradient of one tensor.
type Gradient struct {
	Of   op.TensorID
	Desc op.Desc // the gradient; its ID is zero where there is none
}

// CustomGradient is a computation with a gradient of its own.
type CustomGradient struct {
	Name    string
	Inputs  []op.Desc
	Outputs []op.Desc
	Saved   []op.Desc
	// Backward computes the gradients of Inputs, below the recorder, from the saved tensors and the gradients of Outputs;
	// an output without a gradient has a zero Desc, and so may an input. The results are new tensors, which become the
	// recorder's. It must not call the stream that the gradient was recorded on.
	Backward func(b Below, saved, grads []op.Desc) ([]op.Desc, error)
}

// Below is the device and stream below a recorder, with which a custom gradient computes.
type Below struct {
	Device Device
	Stream Stream
}
