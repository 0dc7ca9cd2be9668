// Package autodiff is a decorator that gives any backend gradients. Its streams implement core.Gradients: they remember the
// nodes that tracked tensors went through, for as long as a result can still be asked about, and compute gradients with
// nodes of the contract on the stream below. So it works over built-in backends and plugins alike, and wrapping twice
// gives second derivatives.
//
// The tape is reverse-mode differentiation by operator overloading (Griewank and Walther, Evaluating Derivatives, 2008):
// entries are linked from results to operands, and memory follows reachability: an entry is gone as soon as neither the
// host nor a later entry holds one of its results. A forward pass without a backward pass leaves nothing behind.
package autodiff

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Option sets how a wrapped backend records.
type Option func(*config)

type config struct{ checkpoint Checkpointing }

// WithCheckpointing chooses what is kept for the backward pass and what is computed again. The default is KeepAll.
func WithCheckpointing(c Checkpointing) Option { return func(o *config) { o.checkpoint = c } }

// Wrap gives the streams of b core.Gradients. Closing the result closes b.
func Wrap(b core.Backend, options ...Option) core.Backend {
	w := &backend{Backend: b, depth: 1}
	for _, o := range options {
		o(&w.config)
	}
	if below, ok := core.As[*backend](b); ok {
		w.depth = below.depth + 1
	}
	return w
}

// Device is d behind Wrap.
func Device(d *core.Device, options ...Option) *core.Device {
	return d.With(func(b core.Backend) core.Backend { return Wrap(b, options...) })
}

type backend struct {
	core.Backend
	config
	depth int // number of autodiff levels up to this one
}

// Info names the decorator: "autodiff<cpu>".
func (b *backend) Info() core.Info {
	i := b.Backend.Info()
	i.Name = "autodiff<" + i.Name + ">"
	return i
}

// Unwrap gives the backend below.
func (b *backend) Unwrap() any { return b.Backend }

// Supports answers for the backend below, and also for what that lacks but has a gradient rule of its own, which is better
// than the gradient of its parts: the stream decomposes it.
func (b *backend) Supports(n *op.Node, in []op.Desc) error {
	err := b.Backend.Supports(n, in)
	if err == nil || !errors.Is(err, core.ErrUnsupported) {
		return err
	}
	if _, ok := rules[n.Op]; !ok {
		return err
	}
	var last op.TensorID
	next := func() op.TensorID { last++; return op.NewTensorID(0, 1<<46|uint64(last)) }
	if _, _, lerr := core.Lower(b.Backend, n, in, next); lerr != nil {
		return err
	}
	return nil
}

// OpenStream opens a stream of the backend below and records on it.
func (b *backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	inner, err := b.Backend.OpenStream(ctx, device)
	if err != nil {
		return nil, err
	}
	t := &tape{below: b.Backend, inner: inner, checkpoint: b.checkpoint, values: map[op.TensorID]*value{}, first: core.OwnIDs | uint64(b.depth)<<43}
	return newStream(t), nil
}
